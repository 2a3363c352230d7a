"""Reads what is recorded of a cluster: its journal, the journal directory and the lake of the context.

The state and the record of a snapshot belong together. With a record older than the state, a change would appear as
unrecorded, or be attributed to the author of the previous change. So the record is always read after the state, and
both are published together.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Final

from kconf.console.cluster.findings import read_findings
from kconf.console.cluster.history import HistoryIndex, read_index
from kconf.console.cluster.lake import read_lake
from kconf.console.cluster.snapshot import ClusterSnapshot, Feed
from kconf.errors import ConfigurationError, KconfError
from kconf.operations.history.entries import LOG_ORIGIN, RecordedHistory
from kconf.operations.history.wording import time_text
from kconf.util.atomic_files import cluster_directory
from kconf.util.threads.worker_thread import in_daemon_thread

if TYPE_CHECKING:
    from kconf.console.cluster.feed import LogPosition
    from kconf.operations.target import Target

ONLY_SINCE: Final = (
    "Only changes since {} UTC are known, when the console began to follow the metadata log. Add a `journal:` "
    "directory or a `lake:` to the context for a longer record."
)


class ClusterRecord:
    """The record of one context. Its methods return the given snapshot with newly read data."""

    def __init__(self, target: Target, position: LogPosition) -> None:
        self._target, self._position = target, position
        self._begun = 0
        self._stamp: object = None

    async def with_everything(self, snapshot: ClusterSnapshot) -> ClusterSnapshot:
        """Add the recorded changes, the results of the last pipeline run, and the findings of `kconf check`."""
        snapshot = await self._with_history(snapshot)
        lake = await in_daemon_thread(lambda: read_lake(self._target, snapshot.state.cluster))
        findings = await in_daemon_thread(lambda: read_findings(self._target, snapshot))
        return replace(snapshot, lake=lake, findings=findings)

    async def with_new_changes(self, snapshot: ClusterSnapshot) -> ClusterSnapshot:
        """Add the recorded changes if there may be new ones, except on a kconf server: its feed delivers them."""
        if snapshot.is_kconf:
            return await self._with_history(snapshot) if snapshot.feed_error else snapshot
        stamp = await in_daemon_thread(lambda: self._journal_stamp(snapshot.state.cluster))
        return snapshot if stamp == self._stamp else await self._with_history(snapshot)

    async def _with_history(self, snapshot: ClusterSnapshot) -> ClusterSnapshot:
        history, error = snapshot.history, ""
        try:
            self._stamp = await in_daemon_thread(lambda: self._journal_stamp(snapshot.state.cluster))
            history = await in_daemon_thread(lambda: read_index(self._target))
        except ConfigurationError as failure:
            history = self._own_record(snapshot)
            error = "" if history is not None else str(failure)
        except (KconfError, OSError) as failure:
            error = str(failure)
        if history is not None and self._target.credential is not None:
            history = history.shown_by(snapshot.state)
        return replace(snapshot, history=history, history_error=error)

    def _own_record(self, snapshot: ClusterSnapshot) -> HistoryIndex | None:
        """The changes that the console itself has seen in the metadata log; None if it does not follow one."""
        if snapshot.feed is not Feed.LOG and (snapshot.history is None or snapshot.history.source != LOG_ORIGIN):
            return None
        if snapshot.history is not None and self._begun == self._position.begun:
            return snapshot.history
        self._begun = self._position.begun
        now = int(time() * 1000)
        recorded = RecordedHistory(LOG_ORIGIN, snapshot.state.cluster, [], [ONLY_SINCE.format(time_text(now))])
        return HistoryIndex.of(recorded, since=now)

    def _journal_stamp(self, cluster: str) -> object:
        """Changes with the files of the journal directory."""
        if self._target.context.journal is None:
            return None
        found = []
        for each in sorted(cluster_directory(Path(self._target.context.journal), cluster).glob("**/*")):
            try:
                status = each.stat()
            except OSError:
                continue  # it was deleted in between
            found.append((each.name, status.st_size, status.st_mtime_ns))
        return found
