"""Copies the journal of a kconf server to files in the archive's format, from its change feed.

DIR/<cluster id>/<epoch>-<first>-<last>.jsonl            changes, named as in the server's own archive
DIR/<cluster id>/attempts-<epoch>-<first>-<last>.jsonl   requests that changed nothing
DIR/<cluster id>/.feed.json                              the position to continue from

A file is published before the position is replaced. After a crash in between, lines are copied twice; the lake
recognizes them by cluster, epoch, revision and line. Files that a finished run has read are deleted.

Several servers of one cluster have the same journal. The first one is copied; the others are on standby, and one of
them is copied as soon as the first one is unreachable.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from logging import getLogger
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Final, Self

from kconf.errors import JournalTrimmed, KconfError, StoreLocked
from kconf.lake.storage.location import LakeError
from kconf.model.lines.journal import attempt_line, change_lines, to_json
from kconf.util.atomic_files import FileLock, PartialFile, cluster_directory, private_directory

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient

log = getLogger(__name__)

_POSITION: Final = ".feed.json"
_HIDDEN: Final = ".feed"
_WAIT: Final = 2.0  # seconds of a long poll
_CHANGES: Final = 10_000  # per page: the server's own limit
_ATTEMPTS: Final = 1000  # per page
_LONGEST_RETRY: Final = 30.0  # seconds
_STANDBY: Final = 5.0  # seconds until a server on standby tries to be the one that is copied


@dataclass(frozen=True)
class Position:
    """The epoch of the store, and the last revision and attempt that were copied."""

    epoch: int
    after: int = 0
    attempts: int = 0


class CopiedFiles:
    """The directory of one cluster, locked while it is open. Raises StoreLocked if another copy has it open."""

    def __init__(self, parent: Path, cluster: str) -> None:
        self.directory = cluster_directory(parent, cluster)
        private_directory(self.directory)
        self._lock = FileLock(self.directory / _HIDDEN)
        for part in self.directory.glob(f"{_HIDDEN}-*.part"):
            part.unlink()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def position(self) -> Position | None:
        """The stored position; None if nothing was copied or the file is damaged: then everything is copied."""
        try:
            return Position(**json.loads((self.directory / _POSITION).read_bytes()))
        except (FileNotFoundError, ValueError, TypeError):
            return None

    def save(self, position: Position) -> None:
        with PartialFile(self.directory, _HIDDEN) as file:
            file.write(to_json(asdict(position)).encode())
            file.publish(_POSITION)

    def write(self, name: str, lines: Iterable[Mapping[str, Any]]) -> None:
        with PartialFile(self.directory, _HIDDEN) as file:
            for line in lines:
                file.write(to_json(dict(line)).encode() + b"\n")
            file.publish(name)


class FeedCopy:
    """Copies one server's journal in its own thread. If the server is unreachable, it tries again."""

    def __init__(self, name: str, connect: Callable[[], SyncAdminClient], directory: Path, interval: float) -> None:
        self.name = name
        self.changes = 0
        self.gaps = 0
        self.failures = 0
        self.alarm: str | None = None
        self._connect, self._directory, self._interval = connect, directory, interval
        self._is_behind = False

    def run(self, stopped: Event) -> None:
        """Copy until `stopped` is set."""
        retry = self._interval
        while not stopped.is_set():
            try:
                with self._connect() as admin, self._open(admin) as files:
                    position = self._position(admin, files)
                    while not stopped.is_set():
                        position = self._copy(admin, files, position)
                        self._works()
                        retry = self._interval
                        if not self._is_behind:
                            stopped.wait(self._interval)
            except StoreLocked:  # another server of the cluster is copied
                self._works()
                stopped.wait(_STANDBY)
            except (KconfError, OSError) as error:
                self._failed(error)
                stopped.wait(retry)
                retry = min(2 * retry, _LONGEST_RETRY)

    def _open(self, admin: SyncAdminClient) -> CopiedFiles:
        cluster = admin.describe_cluster().cluster_id
        if not cluster:
            raise LakeError(f"{self.name} does not report its cluster ID; pass its archive instead")
        return CopiedFiles(self._directory, cluster)

    def _position(self, admin: SyncAdminClient, files: CopiedFiles) -> Position:
        epoch = admin.list_changes(-1, limit=1).epoch
        if not epoch:
            raise LakeError(f"{self.name} does not report the epoch of its journal; pass its archive instead")
        found = files.position()
        return found if found is not None and found.epoch == epoch else Position(epoch)

    def _copy(self, admin: SyncAdminClient, files: CopiedFiles, position: Position) -> Position:
        """Copy new lines; returns the position after them."""
        try:
            page = admin.list_changes(position.after, wait=_WAIT, limit=_CHANGES)
        except JournalTrimmed as gone:
            self.gaps += 1
            log.warning("%s deleted a part of its journal before it was read after=%d", self.name, position.after)
            return replace(position, after=gone.oldest - 1)
        if page.epoch != position.epoch:
            return Position(page.epoch)
        self._is_behind = page.next_after < page.current
        cluster, epoch = files.directory.name, position.epoch
        if page.revisions:
            first, last = page.revisions[0].number, page.revisions[-1].number
            lines = (line for each in page.revisions for line in change_lines(cluster, epoch, each))
            files.write(f"{epoch:020d}-{first:020d}-{last:020d}.jsonl", lines)
            self.changes += sum(len(each.changes) for each in page.revisions)
        attempts = admin.list_attempts(position.attempts, limit=_ATTEMPTS)
        if attempts:
            name = f"attempts-{epoch:020d}-{attempts[0].number:020d}-{attempts[-1].number:020d}.jsonl"
            files.write(name, (attempt_line(cluster, epoch, each) for each in attempts))
        now = Position(epoch, page.next_after, attempts[-1].number if attempts else position.attempts)
        if now != position:
            files.save(now)
        return now

    def _works(self) -> None:
        if self.alarm is not None:
            log.info("the journal of %s can be copied again", self.name)
        self.alarm = None

    def _failed(self, error: KconfError | OSError) -> None:
        """Log an alarm, unless it is the same as before."""
        self.failures += 1
        alarm = str(error) if isinstance(error, KconfError) else f"cannot write {self._directory}: {error.strerror}"
        if alarm != self.alarm:
            log.error("the journal of %s cannot be copied: %s", self.name, alarm)
        self.alarm = alarm
