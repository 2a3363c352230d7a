"""Decides which requests a gateway governs, forwards or refuses, and forwards them.

Requests about groups, offsets, log directories and transactions are forwarded unchanged, from an allow list, in any
version that the broker supports. This requires a cluster without an authorizer, since every caller would have the
rights of the gateway's principal. With an authorizer, a request is forwarded only if kconf can decode it and performs
Kafka's authorization checks for the caller (relay_checks/). Responses that contain addresses are always decoded
(FindCoordinator, DescribeQuorum).

Never forwarded: Produce, Fetch and other requests of producers and consumers; requests between brokers; delegation
tokens, features, voters, the removal of brokers, reassignments; DeleteRecords, since no policy could prevent the data
loss.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Final

from kconf.protocol.apis import API_VERSIONS, APIS
from kconf.protocol.headers import HEAD, LENGTH
from kconf.protocol.messages.api_versions import ApiVersion
from kconf.server.api import api_versions, relay_checks
from kconf.server.api.throttling import client_id_of
from kconf.server.api.upstream_requests import any_node, node_of, pass_on, upstream_of
from kconf.server.connection_context import ConnectionContext
from kconf.server.context import ServerContext
from kconf.server.request_handler import Response

OF_ONE_BROKER: Final = frozenset(
    [
        2,  # ListOffsets: to the leader
        8,  # OffsetCommit and the following: to the coordinator of the group
        9,  # OffsetFetch
        13,  # LeaveGroup: an administrator may remove members
        15,  # DescribeGroups
        16,  # ListGroups
        35,  # DescribeLogDirs
        42,  # DeleteGroups
        47,  # OffsetDelete
        61,  # DescribeProducers: to the leader
        65,  # DescribeTransactions
        66,  # ListTransactions
        69,  # ConsumerGroupDescribe
        77,  # ShareGroupDescribe
        89,  # StreamsGroupDescribe
        90,  # DescribeShareGroupOffsets
        91,  # AlterShareGroupOffsets
        92,  # DeleteShareGroupOffsets
    ]
)
OF_ANY_BROKER: Final = frozenset([43, 46])  # ElectLeaders, ListPartitionReassignments
RELAYED: Final = OF_ONE_BROKER | OF_ANY_BROKER
_OWN: Final = frozenset([17, API_VERSIONS, 36])  # between client and gateway, independent of the brokers
_REFUSED: Final = frozenset([57])  # UpdateFeatures: a gateway never changes features
_NOT_ADVERTISED: Final = frozenset([21, 41, 45])  # DeleteRecords, DescribeDelegationToken, AlterPartitionReassignments
"""Always refused. Clients that send them anyway get an error for each element.

Produce and Fetch are refused too, but advertised: Java clients before 2.4 do not connect without Produce, and the
Python clients and librdkafka derive the release of the broker, or its features, from the versions of both.
"""
_EXTENSIONS: Final = 1000  # API keys from here on are kconf's extensions
_AUTHORIZER: Final = "authorizer.class.name"


def is_open(context: ServerContext) -> bool:
    """Whether the gateway does not need to authorize requests.

    This is so if the brokers authorize the caller themselves and the gateway has no ACLs of its own, or if neither the
    cluster nor the gateway has an authorizer.
    """
    if upstream_of(context).brokers.acts_as_users:
        return not context.has_own_acls
    static = context.service.store.brokers_static
    if context.authorizer is not None or static is None or static.get(_AUTHORIZER, "").strip():
        return False
    return upstream_of(context).brokers.have_no_authorizer


def passes(context: ServerContext, connection: ConnectionContext | None, key: int) -> bool:
    """Whether requests are forwarded undecoded. If the client addresses no broker, they are decoded and refused."""
    if key not in RELAYED or not is_open(context):
        return False
    return key in OF_ANY_BROKER or node_of(context, connection) is not None


def versions_of(context: ServerContext, connection: ConnectionContext | None, key: int) -> tuple[int, int] | None:
    """The versions of an API on a connection, or None if it is not supported."""
    ours = _decoded().get(key)
    if key in _OWN or key >= _EXTENSIONS:
        return ours
    theirs = upstream_of(context).brokers.versions(node_of(context, connection))
    if theirs is None:  # no broker has answered yet
        return ours
    if key not in theirs or passes(context, connection, key):
        return theirs.get(key)
    if ours is None:
        return None
    low, high = max(ours[0], theirs[key][0]), min(ours[1], theirs[key][1])
    return (low, high) if low <= high else None


def served(context: ServerContext, connection: ConnectionContext | None) -> list[ApiVersion]:
    """The APIs and versions for an ApiVersions response."""
    advertised = (_decoded().keys() | RELAYED) - _NOT_ADVERTISED
    found = {key: versions_of(context, connection, key) for key in sorted(advertised)}
    return [ApiVersion(key, *versions) for key, versions in found.items() if versions is not None]


_ours: dict[int, tuple[int, int]] = {}


def _decoded() -> dict[int, tuple[int, int]]:
    """The APIs for which a gateway has a handler. router.py fills `SERVED` when it is imported."""
    if not _ours:
        served = (each for each in api_versions.SERVED if each.api_key not in _REFUSED)
        _ours.update({each.api_key: (each.min_version, each.max_version) for each in served})
        _ours.update({key: (APIS[key].min, APIS[key].max) for key in relay_checks.HANDLERS})
    return _ours


class Relay:
    """Forwards requests undecoded."""

    def __init__(self, context: ServerContext) -> None:
        self._context = context

    @staticmethod
    def may_serve(key: int, version: int) -> bool:
        """Whether requests with this API key and version may be answered on some connection."""
        return key in RELAYED or (key in _decoded() and APIS[key].serves(version))

    def serves(self, connection: ConnectionContext, key: int, version: int) -> bool:
        versions = versions_of(self._context, connection, key)
        return versions is not None and versions[0] <= version <= versions[1]

    def handle(self, connection: ConnectionContext, frame: bytes) -> Coroutine[Any, Any, Response] | None:
        """Forward a request. None if it cannot be forwarded undecoded in this version. Raises UpstreamUnavailable."""
        key, version, _ = HEAD.unpack_from(frame, 0)
        if not passes(self._context, connection, key) or not self.serves(connection, key, version):
            return None
        self._context.counters.count_request(frame)
        self._context.quotas.record_client(connection.principal, client_id_of(frame))
        return self._answer(connection, any_node(self._context, connection), frame)

    async def _answer(self, connection: ConnectionContext, node: int, frame: bytes) -> Response:
        response = await pass_on(self._context, connection, node, frame)
        return len(response), (LENGTH.pack(len(response)), response)
