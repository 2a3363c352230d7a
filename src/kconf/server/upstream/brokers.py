"""The brokers behind a gateway: connections to forward requests, and the API versions of each broker.

Only `pool_for` decides which identity is used to forward the requests of a caller.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kconf.client.settings import Address, ClientSettings
from kconf.client.transport.connector import Connector
from kconf.client.transport.raw_connection import RawConnection
from kconf.errors import ErrorCode, ProtocolError, UpstreamUnavailable
from kconf.model.membership import ClusterMember, ClusterMembers
from kconf.protocol.apis import API_VERSIONS, APIS
from kconf.protocol.headers import read_response, request
from kconf.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kconf.server.upstream.connect import connect_to_cluster
from kconf.server.upstream.pool import GATEWAY, BrokerPool, PoolLimits, RawRequest
from kconf.server.upstream.user_pools import UserPools
from kconf.util.rate_limited_log import RateLimitedLogger
from kconf.version import __version__

if TYPE_CHECKING:
    from kconf.server.upstream.authorizer_check import AuthorizerCheck

log = logging.getLogger(__name__)
_unexpected: Final = RateLimitedLogger(log, logging.ERROR, per_second=0.1, burst=3)

Versions = Mapping[int, tuple[int, int]]
"""The lowest and highest version of each API key."""

_FOLLOW: Final = 1.0  # seconds between two checks of the cluster's members
_PROBE: Final = 10.0  # seconds between two ApiVersions requests to a broker
_PROBE_TIMEOUT: Final = 5.0  # seconds
_PROBE_VERSIONS: Final = (4, 3, 0)  # the lowest version that is supported


class _Broker:
    """One broker at its address."""

    def __init__(self, member: ClusterMember, pool: BrokerPool) -> None:
        self.address, self.pool = member.plaintext, pool
        self.described: ApiVersionsResponse | None = None
        self.versions: Versions | None = None
        self.asked_at = float("-inf")

    async def probe(self) -> None:
        """Read the broker's API versions and features. If it is unavailable, the previous ones are kept."""
        self.asked_at = asyncio.get_running_loop().time()
        self.pool.close_idle()
        found = await self._described()
        if found is None:
            return
        self.described = found
        versions = {each.api_key: (each.min_version, each.max_version) for each in found.api_keys}
        if versions != self.versions:
            self.versions = versions

    async def _described(self) -> ApiVersionsResponse | None:
        api, message = APIS[API_VERSIONS], ApiVersionsRequest("kconf", __version__)
        try:
            for version in _PROBE_VERSIONS:
                frame = request(api, version, 0, "kconf", message)[4:]
                response = await self.pool.send(RawRequest(GATEWAY, frame, timeout=_PROBE_TIMEOUT))
                if int.from_bytes(response[4:6], "big") != ErrorCode.UNSUPPORTED_VERSION:
                    _, found = read_response(api, version, response)
                    return found if found.error_code == ErrorCode.NONE else None
        except ProtocolError as error:
            log.debug("a broker did not report its versions: %s", error)
        return None


class BrokerPools:
    """Used from the event loop. `members` returns the members of the cluster.

    `check` asks each broker on each new connection for an authorizer, if the gateway has no settings for one.
    """

    def __init__(
        self,
        settings: ClientSettings,
        cluster_id: str,
        members: Callable[[], ClusterMembers],
        limits: PoolLimits,
        users: UserPools | None = None,
        check: AuthorizerCheck | None = None,
    ) -> None:
        self._settings, self._cluster_id = settings, cluster_id
        self._members, self._limits, self._users, self._check = members, limits, users, check
        self._connector = Connector(settings)
        self._brokers: dict[int, _Broker] = {}
        self._common: tuple[tuple[Versions | None, ...], Versions | None] = ((), None)

    def pool_for(self, principal: str, node: int) -> BrokerPool:
        """The connections to a broker for the requests of a caller. Raises UpstreamUnavailable.

        All callers share the gateway's principal, unless the gateway acts as its users.
        """
        if self._users is None:
            return self.own_pool(node)
        return self._users.pool(principal, self._member(node))

    def own_pool(self, node: int) -> BrokerPool:
        """The connections to a broker for requests of the gateway itself. Raises UpstreamUnavailable."""
        return self._broker(self._member(node)).pool

    def _member(self, node: int) -> ClusterMember:
        member = self._members().brokers.get(node)
        if member is None:
            raise UpstreamUnavailable(f"broker {node} is not a member of the cluster")
        return member

    @property
    def nodes(self) -> Sequence[int]:
        """The brokers, those that cannot be reached last."""
        return sorted(self._members().brokers, key=lambda each: (self.is_unreachable(each), each))

    @property
    def acts_as_users(self) -> bool:
        """Whether the brokers get the principal of each caller and authorize its requests."""
        return self._users is not None

    @property
    def have_no_authorizer(self) -> bool:
        """Whether at least one broker has responded, and all that did have no authorizer."""
        return self._check is not None and not self._check.has_found and self.described() is not None

    def is_unreachable(self, node: int) -> bool:
        """Whether a broker did not respond when it was last asked."""
        broker = self._brokers.get(node)
        return broker is not None and broker.pool.is_unreachable

    def versions(self, node: int | None) -> Versions | None:
        """The API versions of one broker, or those that all brokers have in common. None: unknown."""
        if node is not None:
            broker = self._brokers.get(node)
            if broker is not None and broker.versions is not None:
                return broker.versions
        known = tuple(each.versions for each in self._brokers.values())
        if known != self._common[0]:
            self._common = known, _common([each for each in known if each is not None])
        return self._common[1]

    def described(self) -> ApiVersionsResponse | None:
        """The ApiVersions response of a broker, which contains the cluster's features."""
        return next((each.described for each in self._brokers.values() if each.described is not None), None)

    async def refresh(self) -> None:
        """Update the list of brokers, and read the API versions of those that are due."""
        members = self._members().brokers
        for removed in self._brokers.keys() - members.keys():
            self._brokers.pop(removed).pool.close()
        now = asyncio.get_running_loop().time()
        brokers = [self._broker(each) for each in members.values()]
        await asyncio.gather(*(_probe(each) for each in brokers if each.asked_at + _PROBE < now))

    async def follow(self) -> None:
        """Refresh at an interval until cancelled."""
        while True:
            await asyncio.sleep(_FOLLOW)
            await self.refresh()

    def close(self) -> None:
        for each in self._brokers.values():
            each.pool.close()
        if self._users is not None:
            self._users.close()

    def _broker(self, member: ClusterMember) -> _Broker:
        known = self._brokers.get(member.id)
        if known is not None and known.address == member.plaintext:
            return known
        if known is not None:
            known.pool.close()
        assert member.plaintext is not None
        address = Address(*member.plaintext)

        async def connect() -> RawConnection:
            return await connect_to_cluster(self._connector, self._settings, address, self._cluster_id)

        pool = BrokerPool(f"broker {member.id} ({address})", connect, self._limits)
        made = self._brokers[member.id] = _Broker(member, pool)
        return made


async def _probe(broker: _Broker) -> None:
    """Probe a broker. A failure does not concern the others, and the broker is probed again."""
    try:
        await broker.probe()
    except Exception:
        _unexpected.exception("cannot read the API versions of the broker at %s:%d", *(broker.address or ("?", 0)))


def _common(found: list[Versions]) -> Versions | None:
    if not found:
        return None
    shared = set(found[0]).intersection(*found[1:])
    both = {key: (max(each[key][0] for each in found), min(each[key][1] for each in found)) for key in shared}
    return {key: (low, high) for key, (low, high) in both.items() if low <= high}
