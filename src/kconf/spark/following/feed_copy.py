"""Copies the journal of a kconf server to files in the archive's format, from its change feed.

DIR/<cluster id>/<epoch>-<first>-<last>.jsonl            changes, named as in the server's own archive
DIR/<cluster id>/attempts-<epoch>-<first>-<last>.jsonl   requests that changed nothing
DIR/<cluster id>/.feed.json                              the position to continue from

A file is published before the position is replaced. After a crash in between, lines are copied twice; the lake
recognizes them by cluster, epoch, revision and line. Files that a finished run has read are deleted.

Several servers of one cluster have the same journal. The first one is copied; the others are on standby, and one of
them is copied as soon as the first one is unreachable. Gateways are refused: each has a journal of its own, with the
same epoch, and its revisions are not counted without gaps.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from logging import getLogger
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, Final, Self

from kconf.errors import JournalTrimmed, KconfError, StoreLocked
from kconf.lake.storage.location import LakeError
from kconf.model.lines.journal import attempt_line, change_lines, to_json
from kconf.spark.following.source_health import SourceHealth
from kconf.util.atomic_files import FileLock, PartialFile, cluster_directory, private_directory

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.client.calls.changes import ChangePage

log = getLogger(__name__)

_POSITION: Final = ".feed.json"
_HIDDEN: Final = ".feed"
_WAIT: Final = 2.0  # seconds of a long poll
_CHANGES: Final = 10_000  # per page: the server's own limit
_ATTEMPTS: Final = 1000  # per page
_LONGEST_RETRY: Final = 30.0  # seconds
_STANDBY: Final = 5.0  # seconds between attempts of a server on standby to take over


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
        """The stored position. None, so that everything is copied, if nothing was copied yet or the file is damaged."""
        try:
            return Position(**json.loads((self.directory / _POSITION).read_bytes()))
        except (FileNotFoundError, ValueError, TypeError):
            return None

    def save(self, position: Position) -> None:
        with PartialFile(self.directory, _HIDDEN) as file:
            file.write(to_json(asdict(position)).encode())
            file.publish(_POSITION)

    @staticmethod
    def forget_positions(parent: Path) -> None:
        """Delete the positions of all clusters, so that everything is copied again."""
        for position in parent.glob(f"*/{_POSITION}"):
            position.unlink()

    def write(self, name: str, lines: Iterable[Mapping[str, Any]]) -> None:
        with PartialFile(self.directory, _HIDDEN) as file:
            for line in lines:
                file.write(to_json(dict(line)).encode() + b"\n")
            file.publish(name)


class FeedCopy:
    """Copies one server's journal in its own thread. What fails is retried after increasing pauses.

    `current_at` is the time of the last request after which nothing was left to copy; None if there was none. `cluster`
    is None until the server has been reached once.
    """

    def __init__(
        self,
        name: str,
        connect: Callable[[], SyncAdminClient],
        directory: Path,
        interval: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.health = SourceHealth(name)
        self.changes = 0
        self.gaps = 0
        self.failures = 0
        self.cluster: str | None = None
        self.current_at: float | None = None
        self._connect, self._directory, self._interval, self._clock = connect, directory, interval, clock
        self._is_behind = False

    @property
    def name(self) -> str:
        return self.health.name

    @property
    def alarm(self) -> str | None:
        return self.health.alarm

    def run(self, stopped: Event) -> None:
        """Copy until `stopped` is set."""
        retry = self._interval
        while not stopped.is_set():
            try:
                with self._connect() as admin, self._open(admin) as files:
                    position = self._position(admin, files)
                    while not stopped.is_set():
                        began = self._clock()
                        position = self._copy(admin, files, position)
                        self._works()
                        retry = self._interval
                        if not self._is_behind:
                            self.current_at = began
                            stopped.wait(self._interval)
            except StoreLocked:  # another server of the cluster is copied
                self._works()
                stopped.wait(_STANDBY)
            except Exception as error:  # also a bug must not end the thread
                self._failed(error)
                stopped.wait(retry)
                retry = min(2 * retry, _LONGEST_RETRY)

    def _open(self, admin: SyncAdminClient) -> CopiedFiles:
        cluster = admin.describe_cluster().cluster_id
        if not cluster:
            raise LakeError(f"{self.name} does not report its cluster ID; pass its archive with --archive")
        self.cluster = cluster
        return CopiedFiles(self._directory, cluster)

    def _position(self, admin: SyncAdminClient, files: CopiedFiles) -> Position:
        newest = admin.list_changes(-1, limit=1)
        epoch = newest.epoch
        self._refuse_gateway(newest)
        if not epoch:
            raise LakeError(f"{self.name} does not report the epoch of its journal; pass its archive with --archive")
        found = files.position()
        return found if found is not None and found.epoch == epoch else Position(epoch)

    def _refuse_gateway(self, page: ChangePage) -> None:
        if page.is_gateway:
            raise LakeError(
                f"{self.name} is a gateway, and the journal of a gateway cannot be copied. If the gateway has"
                " --controllers, pass its archive or that of `kconf follow` with --archive, or the directory of a"
                " controller with --metadata-log; otherwise pass the cluster with --snapshot"
            )

    def _copy(self, admin: SyncAdminClient, files: CopiedFiles, position: Position) -> Position:
        """Copy new lines; returns the position after them."""
        self._is_behind = True
        try:
            page = admin.list_changes(position.after, wait=_WAIT, limit=_CHANGES)
        except JournalTrimmed as gone:
            self.gaps += 1
            log.warning("%s deleted a part of its journal before it was copied after=%d", self.name, position.after)
            return replace(position, after=gone.oldest - 1)
        self._refuse_gateway(page)
        if page.epoch != position.epoch:
            return Position(page.epoch)
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
        self._is_behind = page.next_after < page.current or len(attempts) == _ATTEMPTS
        return now

    def _works(self) -> None:
        if self.alarm is not None:
            log.info("the journal of %s can be copied again", self.name)
        self.health.works(self._clock())

    def _failed(self, error: Exception) -> None:
        """Log an alarm, unless it is the same as before."""
        self.failures += 1
        is_bug = False
        match error:
            case KconfError():
                alarm = str(error)
            case OSError():
                alarm = f"cannot write {self._directory}: {error.strerror}"
            case _:
                alarm, is_bug = f"an unexpected {type(error).__name__}", True
        if alarm != self.alarm:
            log.error("the journal of %s cannot be copied: %s", self.name, alarm, exc_info=error if is_bug else None)
        self.health.alarm = alarm


def copied_until(feeds: Sequence[FeedCopy], started: float) -> float | None:
    """The time until which the copies have all changes; None without feeds.

    Of several servers of one cluster, one is copied. A server that was never reached may belong to another cluster.
    """
    clusters: dict[str, float] = {}
    for each in feeds:
        cluster = f"server {each.name}" if each.cluster is None else f"cluster {each.cluster}"
        until = started if each.current_at is None else each.current_at
        clusters[cluster] = max(clusters.get(cluster, until), until)
    return min(clusters.values(), default=None)
