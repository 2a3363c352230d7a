"""What pages know of a cluster: one immutable value, replaced as a whole whenever something was read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from time import time
from typing import TYPE_CHECKING, Final

from kconf.model.cluster_state import ClusterState
from kconf.model.resource import Resource, ResourceType

if TYPE_CHECKING:
    from kconf.console.cluster.history import HistoryIndex
    from kconf.model.cluster import GroupListing, Node

DAY: Final = 86_400_000  # milliseconds
_STALE_AFTER: Final = 3  # intervals without a successful reading


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
    """What the last pipeline run knows of a cluster. `drifted` and `violations` are None if the run had no such input.

    `owners` is by topic; `drifted` and `violations` count by resource.
    """

    finished: int | None = None  # milliseconds
    owners: Mapping[str, str] = field(default_factory=dict)
    drifted: Mapping[Resource, int] | None = None
    violations: Mapping[Resource, int] | None = None
    error: str = ""


@dataclass(frozen=True)
class ClusterSnapshot:
    """`taken` is when the cluster was last read, `failed_since` when that first failed afterwards (milliseconds).

    `history` is None as long as it was not read; `history_error` says why there is none.
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
    failed_since: int | None = None
    interval: float = 30.0  # seconds

    @property
    def is_read(self) -> bool:
        """Whether there is a state to show, however old."""
        return self.taken is not None

    def age(self, now: Callable[[], float] = time) -> float | None:
        """Seconds since the cluster was last read."""
        return None if self.taken is None else max(0.0, now() - self.taken / 1000)

    def is_stale(self, now: Callable[[], float] = time) -> bool:
        age = self.age(now)
        return age is not None and (self.failed_since is not None or age > _STALE_AFTER * self.interval)

    @cached_property
    def columns(self) -> dict[tuple[ResourceType, str], dict[str, str]]:
        """Effective values by resource type and key, each by name; filled by `column`."""
        return {}

    def column(self, kind: ResourceType, key: str) -> Mapping[str, str]:
        """The effective value of a key of all resources of a type, by name; without those that have none."""
        known = self.columns.get((kind, key))
        if known is None:
            values = ((each.name, _value(each, self.state, key)) for each in self.state.configs if each.type is kind)
            known = self.columns[kind, key] = {name: value for name, value in values if value is not None}
        return known


def _value(resource: Resource, state: ClusterState, key: str) -> str | None:
    entry = state.configs[resource].get(key)
    return None if entry is None or entry.sensitive else entry.value
