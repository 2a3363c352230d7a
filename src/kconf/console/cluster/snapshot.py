"""The state of a cluster for pages: one immutable value, replaced whenever the cluster was read."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from time import time
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kconf.model.cluster_state import ClusterState
from kconf.model.resource import Resource, ResourceType

if TYPE_CHECKING:
    from kconf.console.cluster.history import HistoryIndex
    from kconf.model.cluster import GroupListing, Node
    from kconf.model.entry import View

T = TypeVar("T")

DAY: Final = 86_400_000  # milliseconds
_STALE_AFTER: Final = 3  # intervals without a successful read


class Feed(StrEnum):
    """How the console learns of changes."""

    LIVE = "live"  # from the change feed of a kconf server
    LOG = "log"  # from the metadata log
    POLLED = "polled"  # by reading everything again


class Status(StrEnum):
    CONNECTING = "connecting"
    REACHABLE = "reachable"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True)
class LakeFacts:
    """Results of the last pipeline run. `drifted` and `violations` are None if the run had no such input.

    `owners` is by topic; `drifted` and `violations` count by resource.
    """

    finished: int | None = None  # milliseconds
    owners: Mapping[str, str] = field(default_factory=dict)
    drifted: Mapping[Resource, int] | None = None
    violations: Mapping[Resource, int] | None = None
    used: Mapping[tuple[str, str, str], float] = field(default_factory=dict)  # by user, client ID and quota
    error: str = ""


@dataclass(frozen=True)
class ClusterSnapshot:
    """`taken` is when the cluster was last read, `failed_since` when a read first failed after that (milliseconds).

    `history` is None until it has been read; `history_error` is the reason if it cannot be read. `changes` is the
    number of changes that the monitor has seen since it was started.
    """

    status: Status = Status.CONNECTING
    state: ClusterState = field(default_factory=ClusterState)
    nodes: Mapping[int, Node] = field(default_factory=dict)
    groups: Sequence[GroupListing] = ()
    groups_error: str = ""
    release: str = ""
    is_kconf: bool = False
    feed: Feed = Feed.POLLED
    feed_error: str = ""
    history: HistoryIndex | None = None
    history_error: str = ""
    lake: LakeFacts | None = None
    findings: Mapping[tuple[Resource, str], str] = field(default_factory=dict)  # of `kconf check`: ghost configs, …
    taken: int | None = None
    error: str = ""
    is_refused: bool = False  # the cluster did not accept the login
    failed_since: int | None = None
    interval: float = 30.0  # seconds
    changes: int = 0

    @property
    def is_read(self) -> bool:
        """Whether there is a state to show, of any age."""
        return self.taken is not None

    def age(self, now: Callable[[], float] = time) -> float | None:
        """Seconds since the cluster was last read."""
        return None if self.taken is None else max(0.0, now() - self.taken / 1000)

    def is_stale(self, now: Callable[[], float] = time) -> bool:
        age = self.age(now)
        return age is not None and (self.failed_since is not None or age > _STALE_AFTER * self.interval)

    @cached_property
    def _derived(self) -> dict[Hashable, Any]:
        return {}

    def derived(self, name: Hashable, make: Callable[[ClusterSnapshot], T]) -> T:
        """A value derived from the snapshot, computed once. Two threads may compute it at the same time."""
        if name not in self._derived:
            self._derived[name] = make(self)
        found: T = self._derived[name]
        return found

    def forget(self, name: Hashable) -> None:
        """Discard a derived value, so that it is computed again."""
        self._derived.pop(name, None)

    def column(self, kind: ResourceType, key: str) -> Mapping[str, str]:
        """The effective values of a key for all resources of a type, by name, without resources that have none."""
        return self.derived(("column", kind, key), lambda each: _column(each.state, kind, key))

    @cached_property
    def brokers(self) -> Sequence[View]:
        """The configs of each broker."""
        found = self.state.configs.items()
        return [view for each, view in found if each.type is ResourceType.BROKER and each.name]


def _column(state: ClusterState, kind: ResourceType, key: str) -> dict[str, str]:
    found = {}
    for resource, view in state.configs.items():
        if resource.type is kind:
            entry = view.get(key)
            if entry is not None and entry.value is not None and not entry.sensitive:
                found[resource.name] = entry.value
    return found
