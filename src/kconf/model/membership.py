"""Who is there: the servers that share a store, and the real brokers beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class ClusterMember(NamedTuple):
    """A server or a broker: where each of its listeners can be reached.

    `plain` is where nobody has to log in; `epoch` is another one after each start.
    """

    id: int
    endpoints: Mapping[str, tuple[str, int]]
    rack: str | None = None
    plain: tuple[str, int] | None = None
    epoch: int = 0


class ClusterMembers(NamedTuple):
    """kconf's own servers, and Kafka's brokers; where there are any of those, kconf speaks for them."""

    servers: Mapping[int, ClusterMember]
    brokers: Mapping[int, ClusterMember]

    @property
    def ids(self) -> tuple[int, ...]:
        """The broker ids of the cluster, as clients are told."""
        return tuple(sorted(self.brokers or self.servers))


NO_MEMBERS: Final = ClusterMembers({}, {})
