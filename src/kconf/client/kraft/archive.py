"""Writes the changes of a followed cluster to files, in the archive's format.

DIR/<cluster id>/log-<first offset>-<end offset>.jsonl       what was committed from the first offset to before the end
DIR/<cluster id>/log-gap-<first offset>-<end offset>.jsonl   a part of the log that was gone before it was read: the
                                                             difference between the states before and after it
DIR/<cluster id>/.follow.json                                the checkpoint to continue from

A line is identified by the cluster, the epoch of the log and the offset, so several followers of one cluster write the
same lines. The ranges of the files are contiguous, so a missing file is detected. A file is published before the
checkpoint is replaced; after a crash in between, what is read again is not written again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from kconf.client.kraft.checkpoint import Checkpoint
from kconf.client.kraft.follower import LogChanges, LogEvent, LogGap, LogReset
from kconf.client.kraft.revisions import gap_revision
from kconf.errors import StoreMismatch, StoreUnavailable
from kconf.model.journal import Revision
from kconf.model.lines.journal import change_lines, to_json
from kconf.util.atomic_files import FileLock, PartialFile, cluster_directory, private_directory

_CHECKPOINT: Final = ".follow.json"
_LOCK: Final = ".follow"
_HIDDEN: Final = ".log"
IDLE_CHECKPOINT: Final = 300.0
"""Seconds after which a follower writes its position even if nothing has changed."""
_NAME: Final = re.compile(r"log-(gap-)?(\d{20})-(\d{20})\.jsonl")


class LogSegment(NamedTuple):
    """A file and the offsets that it covers, from its name."""

    path: Path
    begin: int
    end: int
    is_gap: bool


def log_segment(path: Path) -> LogSegment | None:
    """Parse a file name. None if it is not a file of a follower."""
    match = _NAME.fullmatch(path.name)
    return None if match is None else LogSegment(path, int(match[2]), int(match[3]), match[1] is not None)


def log_segments(directory: Path) -> list[LogSegment]:
    """The files of a followed cluster, in order."""
    found = [segment for path in directory.iterdir() if (segment := log_segment(path)) is not None]
    return sorted(found, key=lambda each: (each.begin, each.end))


def followed_until(directory: Path) -> int | None:
    """When the follower of a cluster last wrote its position, in milliseconds. None if the cluster is not followed."""
    try:
        return (directory / _CHECKPOINT).stat().st_mtime_ns // 1_000_000
    except OSError:
        return None


def missing_ranges(segments: Sequence[LogSegment]) -> Iterator[tuple[int, int]]:
    """The offsets between files that no file covers."""
    end: int | None = None
    for each in segments:
        if end is not None and each.begin > end:
            yield end, each.begin
        end = max(end or 0, each.end)


class LogArchive:
    """The directory of one cluster, locked by one process. `archived` is the offset after the last archived one."""

    def __init__(self, directory: Path, cluster: str) -> None:
        self.directory = cluster_directory(directory, cluster)
        self.archived = 0
        self.written = 0
        self._cluster = cluster
        self._lock: FileLock | None = None
        self._pending: list[tuple[int, Revision]] = []  # revisions with the epoch of the log
        self._begin = 0

    @property
    def waiting(self) -> int:
        """Revisions that are not written yet."""
        return len(self._pending)

    def open(self) -> Checkpoint:
        """Lock the directory. Returns where to continue: offset 0 and an empty image if nothing was followed yet."""
        try:
            private_directory(self.directory)
            self._lock = FileLock(self.directory / _LOCK)
            for part in self.directory.glob(f"{_HIDDEN}-*.part"):
                part.unlink()
            self.archived = max((each.end for each in log_segments(self.directory)), default=0)
            checkpoint = self._checkpoint()
        except OSError as error:
            self.close()
            raise StoreUnavailable(f"cannot use the archive in {self.directory}: {error.strerror}") from None
        except BaseException:
            self.close()
            raise
        self._begin = max(self.archived, checkpoint.offset)
        return checkpoint

    def _checkpoint(self) -> Checkpoint:
        path = self.directory / _CHECKPOINT
        try:
            facts = json.loads(path.read_bytes())
        except FileNotFoundError:
            return Checkpoint.empty(self._cluster)
        except ValueError:
            raise StoreMismatch(f"{path} is damaged; delete it to restart from the beginning of the log") from None
        checkpoint = Checkpoint.from_json(facts, path)
        if checkpoint.cluster != self._cluster:
            raise StoreMismatch(f"{path} belongs to cluster {checkpoint.cluster}, not {self._cluster}")
        return checkpoint

    def add(self, events: Iterable[LogEvent]) -> None:
        """Add events of a follower. A gap is written immediately, and so are waiting changes when a new log begins."""
        for event in events:
            if isinstance(event, LogChanges):
                wanted = [each for each in event.revisions if each.number >= self._begin]
                self._pending += [(event.epoch, each) for each in wanted]
            elif isinstance(event, LogGap):
                self._write_gap(event)
            elif isinstance(event, LogReset):
                raise StoreMismatch(
                    f"cluster {self._cluster} was reformatted: its log does not match the archive in "
                    f"{self.directory}; use another archive directory"
                )

    def flush(self, checkpoint: Checkpoint) -> None:
        """Write the waiting revisions, then the checkpoint. `checkpoint` must include everything that was added."""
        end = checkpoint.offset
        if self._pending and end > self._begin:
            inside = [each for each in self._pending if each[1].number < end]
            self._write(f"log-{self._begin:020d}-{end:020d}.jsonl", inside)
            self._pending = [each for each in self._pending if each[1].number >= end]
            self._begin = self.archived = end
        try:
            with PartialFile(self.directory, _HIDDEN) as file:
                file.write(to_json(checkpoint.to_json()).encode())
                file.publish(_CHECKPOINT)
        except OSError as error:
            raise StoreUnavailable(f"cannot write {self.directory}: {error.strerror}") from None

    def _write_gap(self, gap: LogGap) -> None:
        if gap.begin > self._begin:  # what was read before the gap has its own range
            self._write(f"log-{self._begin:020d}-{gap.begin:020d}.jsonl", self._pending)
            self._pending, self._begin = [], gap.begin
        begin = max(self._begin, gap.begin)
        if gap.end > begin:
            self._write(f"log-gap-{begin:020d}-{gap.end:020d}.jsonl", [(gap.epoch, gap_revision(gap))])
            self._begin = self.archived = gap.end

    def _write(self, name: str, revisions: Sequence[tuple[int, Revision]]) -> None:
        try:
            with PartialFile(self.directory, _HIDDEN) as file:
                for epoch, revision in revisions:
                    for line in encoded_lines(self._cluster, epoch, revision):
                        file.write(line)
                file.publish(name)
        except OSError as error:
            raise StoreUnavailable(f"cannot write {self.directory}: {error.strerror}") from None
        self.written += 1

    def close(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def encoded_lines(cluster: str, epoch: int, revision: Revision) -> Iterator[bytes]:
    """A revision of the log as lines. Numbers are offsets, so they are not consecutive."""
    for line in change_lines(cluster, epoch, replace(revision, sequence=revision.number)):
        yield to_json(line).encode() + b"\n"
