"""The archive's files: what the journal says, as segments that are never touched again.

The journal itself is the buffer, so a crash at any point loses nothing: a segment is read from the journal, written
under a hidden name and published whole, and its name says up to where the archive reaches. Whoever comes next goes on
from there. docs/reference/formats.md shows names and lines. Used from one thread.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from logging import getLogger
from pathlib import Path
from typing import Any, NamedTuple

from kconf.errors import JournalTrimmed, StoreError
from kconf.model.journal import Revision
from kconf.model.journal_json import attempt_line, change_lines, to_json
from kconf.store.base import JournalReader
from kconf.util.atomic_files import FileLock, PartialFile, cluster_directory, private_directory, sync_directory

log = getLogger(__name__)

LARGEST = 64 << 20  # bytes, after which a segment is closed
PAGE = 200  # revisions that are read at once
LAST = 2**63 - 1
ATTEMPTS = "attempts-"
REQUEST = ".flush"
_HIDDEN = ".segment"
_NAME = re.compile(r"(attempts-)?(\d{20})-(\d{20})-(\d{20})\.jsonl")


class Segment(NamedTuple):
    """What a file's name says of it."""

    path: Path
    kind: str
    epoch: int
    first: int
    last: int


def segments(directory: Path) -> Iterator[Segment]:
    """The visible segments of a cluster, in no order."""
    for path in directory.iterdir():
        found = _NAME.fullmatch(path.name)
        if found is not None:
            yield Segment(path, found[1] or "", int(found[2]), int(found[3]), int(found[4]))


class Archive:
    """One cluster's directory, held by one process. `archived` is the last revision that is there for good."""

    def __init__(self, directory: Path, cluster: str, epoch: int, reader: JournalReader) -> None:
        self.directory = cluster_directory(directory, cluster)
        self.archived = 0
        self.written = 0
        self._cluster, self._epoch, self._reader = cluster, epoch, reader
        self._tried = 0  # the last attempt that is there for good
        self._lock: FileLock | None = None

    def open(self, current: int) -> None:
        """Take the directory and find out up to where it reaches; `current` is the store's last revision."""
        if self._lock is not None:
            return
        private_directory(self.directory)
        lock = FileLock(self.directory / ".archiver")
        try:
            sync_directory(self.directory)  # a name that a killed process left may not last yet
            for part in self.directory.glob(f"{_HIDDEN}-*.part"):
                part.unlink()
            self._resume(current)
        except BaseException:
            lock.release()
            raise
        self._lock = lock

    def _resume(self, current: int) -> None:
        latest = {kind: self._latest(kind) for kind in ("", ATTEMPTS)}
        tried, done = latest[ATTEMPTS], latest[""]
        self._tried = tried.last if tried else 0
        if done is None:
            return
        line = last_line(done.path)
        revision, time = line["revision"], line["time"]
        if revision > current:
            raise StoreError(
                f"{self.directory} reaches to revision {revision}, the store to {current} only:"
                " a store put back from a copy needs a new directory"
            )
        kept = self._page(revision - 1, LAST)[:1]
        if kept and kept[0].number == revision and kept[0].time != time:
            raise StoreError(f"{done.path} tells of another past than the store: its revision {revision} is another")
        self.archived = revision

    def _latest(self, kind: str) -> Segment | None:
        own = (each for each in segments(self.directory) if each.kind == kind and each.epoch == self._epoch)
        return max(own, key=lambda each: each.last, default=None)

    def catch_up(self, up_to: int = LAST) -> None:
        """Write what is not there yet, up to this revision, so that a file does not end wherever the disk was fast."""
        while self._write_changes(up_to):
            pass
        while self._write_attempts():
            pass

    def _write_changes(self, up_to: int) -> bool:
        """One segment; False where there is nothing to write."""
        page = self._page(self.archived, up_to)
        if not page:
            return False
        first = last = page[0]
        with PartialFile(self.directory, _HIDDEN) as file:
            while page:
                for last in page:
                    lines = change_lines(self._cluster, self._epoch, last)
                    file.write(b"".join(_encoded(line) for line in lines))
                    if file.size >= LARGEST:
                        break
                page = self._page(last.number, up_to) if file.size < LARGEST else []
            file.publish(self._name("", first.sequence or first.number, last.sequence or last.number))
        self.archived = last.number
        self.written += 1
        return True

    def _write_attempts(self) -> bool:
        page = self._reader.attempts(self._tried, PAGE)
        if not page:
            return False
        first = last = page[0]
        with PartialFile(self.directory, _HIDDEN) as file:
            while page:
                for last in page:
                    file.write(_encoded(attempt_line(self._cluster, self._epoch, last)))
                page = self._reader.attempts(last.number, PAGE) if file.size < LARGEST else []
            file.publish(self._name(ATTEMPTS, first.number, last.number))
        self._tried = last.number
        self.written += 1
        return True

    def _page(self, after: int, up_to: int) -> list[Revision]:
        try:
            return [each for each in self._reader.changes(after, PAGE) if each.number <= up_to]
        except JournalTrimmed as gone:
            log.error("the journal was trimmed before it was archived after=%d oldest=%d", after, gone.oldest)
            return self._page(gone.oldest - 1, up_to)

    def _name(self, kind: str, first: int, last: int) -> str:
        return f"{kind}{self._epoch:020d}-{first:020d}-{last:020d}.jsonl"

    def requests(self) -> Sequence[Path]:
        """Files by which `kconf archive flush` asks, and waits for them to go."""
        return list(self.directory.glob(f"{REQUEST}-*")) if self.directory.is_dir() else []

    def forget(self, requests: Sequence[Path]) -> None:
        for each in requests:
            with suppress(OSError):
                each.unlink()

    def let_go(self) -> None:
        """Leave the directory to another server."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def close(self) -> None:
        self._reader.close()
        self.let_go()


def _encoded(line: dict[str, Any]) -> bytes:
    return to_json(line).encode() + b"\n"


def last_line(path: Path) -> dict[str, Any]:
    """The last line of a file, whole; StoreError where it is none of ours."""
    with path.open("rb") as file:
        text = _tail(file.fileno(), file.seek(0, os.SEEK_END), lambda data: data.count(b"\n") > 1)
    try:
        line = json.loads(text.rstrip(b"\n").rpartition(b"\n")[2])
        if text.endswith(b"\n") and isinstance(line["revision"], int) and isinstance(line["time"], int):
            return dict(line)
    except (ValueError, KeyError, TypeError):
        pass
    raise StoreError(f"{path} is damaged: its last line is not whole")


def _tail(descriptor: int, size: int, is_enough: Callable[[bytes], bool]) -> bytes:
    """The end of a file, as much of it as is needed."""
    length = 1 << 16
    while True:
        data = os.pread(descriptor, length, max(size - length, 0))
        if length >= size or is_enough(data):
            return data
        length *= 8
