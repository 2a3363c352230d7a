"""The visible state of this process. It changes only here, and subscribers are notified of each change."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kconf.model.journal import Revision
from kconf.model.snapshot import Snapshot
from kconf.service.state import State, StateFactory

Subscriber = Callable[[Sequence[Revision]], None]


class CurrentState:
    def __init__(self, states: StateFactory) -> None:
        self.state = State(Snapshot.EMPTY, states.own_configs)
        self.states = states
        self._subscribers: list[Subscriber] = []

    def subscribe(self, subscriber: Subscriber, *, first: bool) -> None:
        self._subscribers.insert(0 if first else len(self._subscribers), subscriber)

    def show(self, snapshot: Snapshot) -> None:
        """Make a snapshot visible without notifying subscribers."""
        self.state = self.states.after(self.state, snapshot)

    def apply(self, revisions: Sequence[Revision], planned: State | None = None) -> None:
        """Make revisions visible and notify subscribers.

        `planned` is the resulting state, if the revisions are exactly what was planned.
        """
        snapshot = self.state.snapshot
        if (
            planned is not None
            and revisions[-1].number == planned.snapshot.revision
            and len(revisions) == planned.snapshot.revision - snapshot.revision
        ):
            self.state = planned
        else:
            for revision in revisions:
                snapshot = snapshot.apply(revision.changes, revision.number)
            self.show(snapshot)
        for subscriber in self._subscribers:
            subscriber(revisions)
