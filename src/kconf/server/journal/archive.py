"""The archive's files: the journal in immutable segments.

A crash at any point loses nothing, because the journal is the buffer: a segment is read from the journal, written to a
hidden file and then renamed. Its name contains its last revision, from which the next archiver continues.
docs/reference/formats.md describes names and lines. Used from one thread.
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
from kconf.model.lines.journal import attempt_line, change_lines, to_json
from kconf.store.base import JournalReader
from kconf.util.atomic_files import FileLock, PartialFile, cluster_directory, private_directory, sync_directory

log = getLogger(__name__)

MAX_SEGMENT = 64 << 20  # bytes after which a segment is closed
PAGE = 200  # revisions read at once
LAST = 2**63 - 1
ATTEMPTS = "attempts-"
REQUEST = ".flush"
_HIDDEN = ".segment"
_NAME = re.compile(r"(attempts-)?(\d{20})-(\d{20})-(\d{20})\.jsonl")


class Segment(NamedTuple):
    """A segment, parsed from its file name."""

    path: Path
    kind: str
    epoch: int
    first: int
    last: int


def segments(directory: Path) -> Iterator[Segment]:
    """The completed segments of a cluster, unordered."""
    for path in directory.iterdir():
        found = _NAME.fullmatch(path.name)
        if found is not None:
            yield Segment(path, found[1] or "", int(found[2]), int(found[3]), int(found[4]))


class Archive:
    """The archive directory of one cluster, locked by one process. `archived` is the last durably archived revision.

    `of_gateway`: revisions are offsets in the cluster's metadata log. The lines contain this, because several programs
    may archive the same changes.
    """

    def __init__(
        self, directory: Path, cluster: str, epoch: int, reader: JournalReader, *, of_gateway: bool = False
    ) -> None:
        self.directory = cluster_directory(directory, cluster)
        self.archived = 0
        self.written = 0
        self._cluster, self._epoch, self._reader, self._of_gateway = cluster, epoch, reader, of_gateway
        self._last_attempt = 0  # archived durably
        self._lock: FileLock | None = None

    def open(self, current: int) -> None:
        """Lock the directory and find its last revision. `current` is the store's last revision."""
        if self._lock is not None:
            return
        private_directory(self.directory)
        lock = FileLock(self.directory / ".archiver")
        try:
            sync_directory(self.directory)  # a killed process may have renamed a file without fsync
            for part in self.directory.glob(f"{_HIDDEN}-*.part"):
                part.unlink()
            self._resume(current)
        except BaseException:
            lock.release()
            raise
        self._lock = lock

    def _resume(self, current: int) -> None:
        latest = {kind: self._latest(kind) for kind in ("", ATTEMPTS)}
        attempts, done = latest[ATTEMPTS], latest[""]
        self._last_attempt = attempts.last if attempts else 0
        if done is None:
            self.archived = self._begin() if self._of_gateway else 0
            return
        line = last_line(done.path)
        revision, time = line["revision"], line["time"]
        if revision > current:
            raise StoreError(
                f"{self.directory} contains revisions up to {revision}, but the store only up to {current}: a "
                "restored store needs a new archive directory"
            )
        stored = self._page(revision - 1, LAST)[:1]
        if stored and stored[0].number == revision and stored[0].time != time:
            raise StoreError(
                f"{done.path} does not match the store: revision {revision} has a different time; use a new archive "
                "directory"
            )
        self.archived = revision

    def _begin(self) -> int:
        """The revision before the first one in the journal."""
        try:
            self._reader.changes(0, 1)
        except JournalTrimmed as begins:
            return begins.oldest - 1
        return 0

    def _latest(self, kind: str) -> Segment | None:
        own = (each for each in segments(self.directory) if each.kind == kind and each.epoch == self._epoch)
        return max(own, key=lambda each: each.last, default=None)

    def catch_up(self, up_to: int = LAST) -> None:
        """Archive what is missing, up to this revision."""
        while self._write_changes(up_to):
            pass
        while self._write_attempts():
            pass

    def _write_changes(self, up_to: int) -> bool:
        """Write one segment. Returns False if there is nothing to write."""
        page = self._page(self.archived, up_to)
        if not page:
            return False
        first = last = page[0]
        with PartialFile(self.directory, _HIDDEN) as file:
            while page:
                for last in page:
                    file.write(b"".join(map(_encoded, self._lines(last))))
                    if file.size >= MAX_SEGMENT:
                        break
                page = self._page(last.number, up_to) if file.size < MAX_SEGMENT else []
            file.publish(self._name("", first.sequence or first.number, last.sequence or last.number))
        self.archived = last.number
        self.written += 1
        return True

    def _lines(self, revision: Revision) -> Iterator[dict[str, Any]]:
        lines = change_lines(self._cluster, self._epoch, revision)
        if not self._of_gateway or revision.origin != "kconf":
            return lines
        place = {"log_begin": revision.number, "log_end": revision.number + 1}
        return ({**line, **place} for line in lines)

    def _write_attempts(self) -> bool:
        page = self._reader.attempts(self._last_attempt, PAGE)
        if not page:
            return False
        first = last = page[0]
        with PartialFile(self.directory, _HIDDEN) as file:
            while page:
                for last in page:
                    file.write(_encoded(attempt_line(self._cluster, self._epoch, last)))
                page = self._reader.attempts(last.number, PAGE) if file.size < MAX_SEGMENT else []
            file.publish(self._name(ATTEMPTS, first.number, last.number))
        self._last_attempt = last.number
        self.written += 1
        return True

    def _page(self, after: int, up_to: int) -> list[Revision]:
        try:
            return [each for each in self._reader.changes(after, PAGE) if each.number <= up_to]
        except JournalTrimmed as error:
            gap = after, error.oldest
            log.error("revisions were trimmed from the journal before they were archived after=%d oldest=%d", *gap)
            return self._page(error.oldest - 1, up_to)

    def _name(self, kind: str, first: int, last: int) -> str:
        return f"{kind}{self._epoch:020d}-{first:020d}-{last:020d}.jsonl"

    def requests(self) -> Sequence[Path]:
        """The request files of `kconf archive flush`, which waits for their removal."""
        return list(self.directory.glob(f"{REQUEST}-*")) if self.directory.is_dir() else []

    def remove_requests(self, requests: Sequence[Path]) -> None:
        for each in requests:
            with suppress(OSError):
                each.unlink()

    def release(self) -> None:
        """Unlock the directory for another server."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def close(self) -> None:
        self._reader.close()
        self.release()


def _encoded(line: dict[str, Any]) -> bytes:
    return to_json(line).encode() + b"\n"


def last_line(path: Path) -> dict[str, Any]:
    """The last line of a segment. Raises StoreError if it is not complete."""
    with path.open("rb") as file:
        text = _tail(file.fileno(), file.seek(0, os.SEEK_END), lambda data: data.count(b"\n") > 1)
    try:
        line = json.loads(text.rstrip(b"\n").rpartition(b"\n")[2])
        if text.endswith(b"\n") and isinstance(line["revision"], int) and isinstance(line["time"], int):
            return dict(line)
    except (ValueError, KeyError, TypeError):
        pass
    raise StoreError(f"{path} is damaged: its last line is incomplete")


def _tail(descriptor: int, size: int, is_enough: Callable[[bytes], bool]) -> bytes:
    """The end of a file, read backward until `is_enough`."""
    length = 1 << 16
    while True:
        data = os.pread(descriptor, length, max(size - length, 0))
        if length >= size or is_enough(data):
            return data
        length *= 8
