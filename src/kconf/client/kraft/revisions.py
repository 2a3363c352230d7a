"""Collects the events of a follower as revisions."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

from kconf.client.kraft.checkpoint import Checkpoint
from kconf.client.kraft.follower import LogChanges, LogEvent, LogGap, LogReady
from kconf.model.journal import RequestContext, Revision

SNAPSHOT_ORIGIN: Final = "snapshot"

STEP_TIMEOUT: Final = 5.0
"""Seconds after which a leader that does not respond counts as lost."""


class RevisionQueue:
    """`after` is the offset of the last revision that was taken, or None if the position is not known yet."""

    def __init__(self, after: int | Checkpoint | None) -> None:
        self.after = after.offset - 1 if isinstance(after, Checkpoint) else after
        self._ready: deque[Revision] = deque()

    def __len__(self) -> int:
        return len(self._ready)

    def add(self, events: Iterable[LogEvent]) -> None:
        for event in events:
            if isinstance(event, LogChanges):
                self._ready.extend(event.revisions)
            elif isinstance(event, LogGap):
                self._ready.append(gap_revision(event))
            elif isinstance(event, LogReady) and self.after is None:
                self.after = event.offset - 1

    def pop(self) -> Revision:
        revision = self._ready.popleft()
        self.after = revision.number
        return revision


def gap_revision(gap: LogGap) -> Revision:
    """The changes of a gap as one revision, at the last offset of the gap."""
    return Revision(gap.end - 1, gap.time, RequestContext(""), tuple(gap.changes), SNAPSHOT_ORIGIN)
