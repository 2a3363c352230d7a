"""The log of a Delta table: its last commit, and the notes of its commits.

Delta numbers the commits of a table, so the next one is found by its name. The log is listed only if the last known
commit is not there anymore, because the table was created anew or the log was shortened: it has a file for every
commit of the last days, and a follower commits every second.
"""

from __future__ import annotations

import json
import os
import re
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from kconf.lake.storage.object_store import open_store, plain_errors

FOLDER: Final = "_delta_log"
DAY: Final = 86_400.0
_COMMIT: Final = re.compile(r"(\d{20})\.json")
_CHECKPOINT: Final = re.compile(r"(\d{20})\.checkpoint\.parquet")
_OBSOLETE: Final = re.compile(r"\.?(\d{20})\.(?:json|crc|checkpoint(?:\.\d{10}\.\d{10})?\.parquet)(?:\.crc)?")
_WRITES: Final = ("WRITE", "MERGE", "CREATE TABLE AS SELECT", "REPLACE TABLE AS SELECT")
_LONGEST: Final = 7 * DAY
_MOST: Final = 1000


class Commit(NamedTuple):
    """A commit file: the version of the table, and what identifies the file."""

    version: int
    stamp: tuple[Any, ...]


class LogFiles(Protocol):
    """The commit files of one table."""

    def last(self, since: Commit | None) -> Commit | None:
        """The last commit. With `since`, only later ones are looked for; None if `since` is not there anymore."""
        ...

    def text(self, version: int) -> str | None:
        """The contents of a commit file; None if there is none."""
        ...


class LocalLogFiles:
    """The commit files of a table in a directory."""

    def __init__(self, table: str | Path) -> None:
        self._folder = os.path.join(table, FOLDER)

    def last(self, since: Commit | None) -> Commit | None:
        if since is None:
            version = max(commits_of(names(self._folder)), default=None)
            since = self._commit(version) if version is not None else None
        elif self._commit(since.version) != since:
            return None
        while since is not None and (following := self._commit(since.version + 1)) is not None:
            since = following
        return since

    def text(self, version: int) -> str | None:
        try:
            return Path(self._path(version)).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def _commit(self, version: int) -> Commit | None:
        try:
            status = os.stat(self._path(version))
        except FileNotFoundError:
            return None
        return Commit(version, (status.st_ino, status.st_mtime_ns, status.st_size))

    def _path(self, version: int) -> str:
        return os.path.join(self._folder, commit_name(version))


class StoredLogFiles:
    """The commit files of a table on an object store."""

    def __init__(self, table: str) -> None:
        self._store: Any = open_store(table)

    def last(self, since: Commit | None) -> Commit | None:
        with plain_errors("cannot read the lake"):
            before = None if since is None else f"{FOLDER}/{since.version:020d}."
            pages = self._store.list(FOLDER, offset=before)
            found = [each for page in pages for each in page if commits_of([each["path"].rpartition("/")[2]])]
        commits = sorted(map(_stored, found))
        return commits[-1] if commits and since in (None, commits[0]) else None

    def text(self, version: int) -> str | None:
        with plain_errors("cannot read the lake"):
            try:
                return bytes(self._store.get(f"{FOLDER}/{commit_name(version)}").bytes()).decode()
            except FileNotFoundError:
                return None


def _stored(found: Any) -> Commit:
    (version,) = commits_of([found["path"].rpartition("/")[2]])
    return Commit(version, (found["e_tag"], found["last_modified"], found["size"]))


class DeltaLog:
    """The log of one table, for one session. It may be used by several threads."""

    def __init__(self, files: LogFiles) -> None:
        self._files = files
        self._known: Commit | None = None
        self._notes: dict[bool, tuple[int, str | None]] = {}

    def last(self) -> Commit | None:
        """The last commit; None if the table does not exist."""
        known = self._known
        found = self._files.last(known) if known is not None else None
        if found is None:
            self._notes = {}
            found = self._files.last(None)
        self._known = found
        return found

    def note(self, *, of_rows: bool = False) -> dict[str, Any]:
        """The note of the last commit that has one.

        `of_rows`: the note with which the current rows were written; empty if they were written without one.
        """
        last = self.last()
        if last is None:
            return {}
        notes = self._notes
        version, text = notes.get(of_rows, (-1, None))
        if version < last.version:
            text = note_at(self._files, last.version, of_rows=of_rows, known=(version, text))
            notes[of_rows] = last.version, text
        return dict(json.loads(text or "{}"))


def note_at(
    files: LogFiles,
    version: int,
    *,
    of_rows: bool = False,
    known: tuple[int, str | None] = (-1, None),
    most: int | None = None,
) -> str | None:
    """The note of the last commit up to a version that has one. `known`: a version, and the note up to it.

    At most `most` commits are read.
    """
    oldest = known[0] if most is None else max(known[0], version - most)
    for number in range(version, oldest, -1):
        info = _info(files.text(number))
        if info is None or (of_rows and "userMetadata" not in info and info.get("operation") in _WRITES):
            return None
        if "userMetadata" in info:
            return str(info["userMetadata"])
    return known[1] if oldest == known[0] else None


def _info(commit: str | None) -> dict[str, Any] | None:
    """What a commit file says about the commit itself; None if there is no such file."""
    if commit is None:
        return None
    for line in commit.split("\n"):  # a statistic may contain U+2028
        if line.startswith('{"commitInfo"'):
            found: dict[str, Any] = json.loads(line)["commitInfo"]
            return found
    return {}


def commit_name(version: int) -> str:
    return f"{version:020d}.json"


def commits_of(found: Iterable[str]) -> list[int]:
    """The versions of the commit files among these names."""
    return [int(each[1]) for each in map(_COMMIT.fullmatch, found) if each is not None]


def names(folder: str) -> list[str]:
    """The names in a directory; none if it does not exist."""
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def shorten(table: Path, now: Callable[[], float] = time.time) -> int:
    """Delete commits that nobody needs anymore; returns the number of deleted files. No other process may write.

    The versions that were current in the last day can still be read, and those of the last week among the last 1,000;
    also all from the last commit with a note.
    """
    folder = table / FOLDER
    found = names(str(folder))
    versions = sorted(commits_of(found))
    if not versions:
        return 0
    first = min(_first_readable(folder, versions, now()), _last_noted(LocalLogFiles(table), versions[-1]))
    checkpoints = [int(each[1]) for each in map(_CHECKPOINT.fullmatch, found) if each is not None]
    begin = max((each for each in checkpoints if each <= first), default=0)
    obsolete = [each[0] for each in map(_OBSOLETE.fullmatch, found) if each is not None and int(each[1]) < begin]
    for name in sorted(obsolete):  # oldest first: what is left has no gaps if the process is killed
        (folder / name).unlink(missing_ok=True)
    return len(obsolete)


def _first_readable(folder: Path, versions: Sequence[int], now: float) -> int:
    def since(age: float) -> int:
        """The place of the first commit that is younger."""
        return bisect_left(versions, now - age, key=lambda each: (folder / commit_name(each)).stat().st_mtime)

    place = max(since(_LONGEST), min(since(DAY), len(versions) - _MOST))
    return versions[max(0, place - 1)]  # it was current until the commit at this place


def _last_noted(files: LogFiles, version: int) -> int:
    """The last of the recent commits that has a note, or else the last commit, because not all tables have notes."""
    for number in range(version, max(-1, version - _MOST), -1):
        info = _info(files.text(number))
        if info is None:
            break
        if "userMetadata" in info:
            return number
    return version
