"""Changes as they happen: from the feed of a kconf server, from a metadata log, or by polling any other cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kconf.model.journal import Change, RequestContext
from kconf.model.resource import Resource
from kconf.operations.history.entries import HistoryEntry, entries_of, is_covered
from kconf.operations.history.point_in_time import change_of
from kconf.operations.selection.scopes import types_of
from kconf.operations.state import ConfigName, read_state, set_values

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.engine.declarative.model import Scope
    from kconf.model.cluster_state import ClusterState
    from kconf.operations.target import Target


class PollCost(NamedTuple):
    """The cost of one poll: approximate requests, resources, values, and seconds."""

    requests: int
    resources: int
    values: int
    seconds: float


def watch_feed(admin: SyncAdminClient, scopes: Sequence[Scope], started: Callable[[], None]) -> Iterator[HistoryEntry]:
    """The changes of a kconf server. `started` is called once the feed is open."""
    with admin.watch_changes(about=types_of(scopes)) as watch:
        started()
        for revision in watch:
            yield from (each for each in entries_of(revision) if is_covered(each, scopes))


def watch_log(
    target: Target, cluster: str | None, scopes: Sequence[Scope], started: Callable[[], None]
) -> Iterator[HistoryEntry]:
    """The changes in the metadata log of a KRaft cluster. `started` is called once the position is known."""
    with target.open_controllers() as controllers, controllers.follow(cluster=cluster) as log:
        started()
        for revision in log:
            yield from (each for each in entries_of(revision) if is_covered(each, scopes))


def poll_changes(
    target: Target,
    scopes: Sequence[Scope],
    keys: Sequence[str],
    interval: float,
    started: Callable[[PollCost], None],
) -> Iterator[HistoryEntry]:
    """The differences between successive polls. A change that is reverted between two polls is not seen.

    `started` is called after the first poll, with its cost.
    """
    wanted = _SameKeys(keys) if keys else None
    began = time.monotonic()
    state = read_state(target, scopes, keys=wanted)
    started(_cost(state, time.monotonic() - began))
    before = _changes(state)
    while True:
        time.sleep(interval)
        state = read_state(target, scopes, keys=wanted)
        now = _changes(state)
        for name in sorted({*before, *now}):
            if before.get(name) != now.get(name):
                change = _transition(before.get(name), now.get(name))
                yield HistoryEntry(state.taken, 0, 0, change, RequestContext(""), "outside")
        before = now


def _changes(state: ClusterState) -> dict[ConfigName, Change]:
    return {name: change_of(*name, value) for name, value in set_values(state).items()}


def _transition(before: Change | None, now: Change | None) -> Change:
    """The change from one state to the next; at least one of the two is given."""
    last = now or before
    assert last is not None
    op = "delete" if now is None else "set"
    return last._replace(before=before and before.after, after=now and now.after, op=op)


def _cost(state: ClusterState, seconds: float) -> PollCost:
    resources = len(state.configs)
    values = sum(len(view.entries) for view in state.configs.values())
    return PollCost(2 + -(-resources // 250), resources, values, seconds)


class _SameKeys(dict[Resource, Sequence[str]]):
    """The same keys for every resource."""

    def __init__(self, keys: Sequence[str]) -> None:
        super().__init__()
        self._keys = keys

    def __contains__(self, _: object) -> bool:
        return True

    def __bool__(self) -> bool:
        return True

    def __missing__(self, _: Resource) -> Sequence[str]:
        return self._keys
