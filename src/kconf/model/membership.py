"""The members of a cluster: the kconf servers that share a store, and Kafka's brokers on the same ZooKeeper."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple


class ClusterMember(NamedTuple):
    """A kconf server or a broker, and the address of each of its listeners.

    `plaintext` is the address of a PLAINTEXT listener. `epoch` changes with each start.
    """

    id: int
    endpoints: Mapping[str, tuple[str, int]]
    rack: str | None = None
    plaintext: tuple[str, int] | None = None
    epoch: int = 0


class ClusterMembers(NamedTuple):
    """kconf servers and Kafka brokers. If there are brokers, clients see only these.

    `fenced` brokers are registered in a KRaft cluster, and do not run or have not caught up.
    """

    servers: Mapping[int, ClusterMember]
    brokers: Mapping[int, ClusterMember]
    fenced: Mapping[int, ClusterMember] = MappingProxyType({})

    @property
    def ids(self) -> tuple[int, ...]:
        """The broker ids that clients see."""
        return tuple(sorted(self.brokers or self.servers))


NO_MEMBERS: Final = ClusterMembers({}, {})
