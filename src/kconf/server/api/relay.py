"""APIs of a gateway: those that it governs, those that it passes on, and those that it refuses.

Passed on as they are, in any version that the broker has, are requests about groups, offsets, log directories and
transactions, from an allow list. That needs a cluster without an authorizer: under the gateway's own account anybody
would have its rights. If there is one, such a request passes only if kconf decodes it and makes Kafka's own checks for
the caller (relay_checks/). Responses with addresses are always decoded (FindCoordinator, DescribeQuorum).

Never passed on: Produce, Fetch and what producers and consumers send; what brokers send each other; delegation tokens,
features, voters, the removal of brokers, reassignments; DeleteRecords, since no policy could prevent the loss.
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
        2,  # ListOffsets: of the leader
        8,  # OffsetCommit, and so on: of the coordinator of the group
        9,  # OffsetFetch
        13,  # LeaveGroup: an administrator may remove members
        15,  # DescribeGroups
        16,  # ListGroups
        35,  # DescribeLogDirs
        42,  # DeleteGroups
        47,  # OffsetDelete
        61,  # DescribeProducers: of the leader
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
_OWN: Final = frozenset([17, API_VERSIONS, 36])  # between the client and the gateway, whatever the brokers have
_REFUSED: Final = frozenset([57])  # UpdateFeatures: a kconf server answers it, a gateway never changes features
_EXTENSIONS: Final = 1000  # keys from here on are kconf's
_AUTHORIZER: Final = "authorizer.class.name"


def is_open(context: ServerContext) -> bool:
    """Whether a request needs no check here: the brokers see the caller and check it, or nobody has fewer rights than
    the gateway, since neither the cluster nor the gateway has an authorizer."""
    if upstream_of(context).brokers.acts_as_users:
        return True
    static = context.service.store.brokers_static
    return context.authorizer is None and static is not None and not static.get(_AUTHORIZER, "").strip()


def passes(context: ServerContext, connection: ConnectionContext | None, key: int) -> bool:
    """Whether requests are passed on undecoded. If no broker is named, they are decoded: to be refused."""
    if key not in RELAYED or not is_open(context):
        return False
    return key in OF_ANY_BROKER or node_of(context, connection) is not None


def versions_of(context: ServerContext, connection: ConnectionContext | None, key: int) -> tuple[int, int] | None:
    """The versions of an API that are served on a connection; None: not served."""
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
    """For the response to ApiVersions."""
    found = {key: versions_of(context, connection, key) for key in sorted(_decoded().keys() | RELAYED)}
    return [ApiVersion(key, *versions) for key, versions in found.items() if versions is not None]


def may_serve(key: int, version: int) -> bool:
    """Whether a frame that begins like this may be answered on some connection."""
    return key in RELAYED or (key in _decoded() and APIS[key].serves(version))


_ours: dict[int, tuple[int, int]] = {}


def _decoded() -> dict[int, tuple[int, int]]:
    """Everything that a gateway has a handler for; router.py fills `SERVED` when it is imported."""
    if not _ours:
        served = (each for each in api_versions.SERVED if each.api_key not in _REFUSED)
        _ours.update({each.api_key: (each.min_version, each.max_version) for each in served})
        _ours.update({key: (APIS[key].min, APIS[key].max) for key in relay_checks.HANDLERS})
    return _ours


class Relay:
    """Passes requests on, undecoded."""

    def __init__(self, context: ServerContext) -> None:
        self._context = context

    def serves(self, connection: ConnectionContext, key: int, version: int) -> bool:
        versions = versions_of(self._context, connection, key)
        return versions is not None and versions[0] <= version <= versions[1]

    def handle(self, connection: ConnectionContext, frame: bytes) -> Coroutine[Any, Any, Response] | None:
        """None: the request is not one to pass on undecoded, or not in this version. Raises UpstreamAway."""
        key, version, _ = HEAD.unpack_from(frame, 0)
        if not passes(self._context, connection, key) or not self.serves(connection, key, version):
            return None
        self._context.counters.count_request(frame)
        self._context.quotas.record_client(connection.principal, client_id_of(frame))
        return self._answer(connection, any_node(self._context, connection), frame)

    async def _answer(self, connection: ConnectionContext, node: int, frame: bytes) -> Response:
        response = await pass_on(self._context, connection, node, frame)
        return len(response), (LENGTH.pack(len(response)), response)
