"""The brokers behind a gateway, one by one: connections to pass requests on, and the versions that each of them serves.

`pool_for` is the one place that decides with which identity a caller's requests reach a broker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from logging import getLogger
from typing import Final

from kconf.client.settings import Address, ClientSettings
from kconf.client.transport.connector import Connector
from kconf.client.transport.raw_connection import RawConnection
from kconf.errors import ErrorCode, ProtocolError, UpstreamAway
from kconf.model.membership import ClusterMember, ClusterMembers
from kconf.protocol.apis import API_VERSIONS, APIS
from kconf.protocol.headers import read_response, request
from kconf.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kconf.server.upstream.pool import BrokerPool, PoolLimits, RawRequest
from kconf.server.upstream.user_pools import UserPools
from kconf.version import __version__

log = getLogger(__name__)

Versions = Mapping[int, tuple[int, int]]
"""The first and the last version of each API key."""

_FOLLOW: Final = 1.0  # seconds between two looks at the members
_PROBE: Final = 10.0  # seconds after which a broker is asked again for its versions
_PROBE_TIMEOUT: Final = 5.0  # seconds
_PROBE_VERSIONS: Final = (4, 3, 0)  # the first that it serves
_ITSELF: Final = object()  # the gateway, among the clients of a pool


class _Broker:
    """One broker at its address."""

    def __init__(self, member: ClusterMember, pool: BrokerPool) -> None:
        self.address, self.pool = member.plaintext, pool
        self.described: ApiVersionsResponse | None = None
        self.versions: Versions | None = None
        self.asked_at = float("-inf")

    async def probe(self) -> None:
        """Ask for its versions and features; what is known stays while it is away."""
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
            async with asyncio.timeout(_PROBE_TIMEOUT):
                for version in _PROBE_VERSIONS:
                    frame = request(api, version, 0, "kconf", message)[4:]
                    response = await self.pool.send(RawRequest(_ITSELF, frame))
                    if int.from_bytes(response[4:6], "big") != ErrorCode.UNSUPPORTED_VERSION:
                        _, found = read_response(api, version, response)
                        return found if found.error_code == ErrorCode.NONE else None
        except (ProtocolError, TimeoutError) as error:
            log.debug("a broker did not report its versions: %s", error)
        return None


class UpstreamBrokers:
    """Used from the event loop. `members` are those of the store."""

    def __init__(
        self,
        settings: ClientSettings,
        members: Callable[[], ClusterMembers],
        limits: PoolLimits,
        users: UserPools | None = None,
    ) -> None:
        self._settings, self._members, self._limits, self._users = settings, members, limits, users
        self._connector = Connector(settings)
        self._brokers: dict[int, _Broker] = {}
        self._common: tuple[tuple[Versions | None, ...], Versions | None] = ((), None)

    def pool_for(self, principal: str, node: int) -> BrokerPool:
        """The connections on which the requests of a caller reach a broker. Raises UpstreamAway.

        All callers share the gateway's account, unless the gateway acts as its users.
        """
        member = self._members().brokers.get(node)
        if member is None:
            raise UpstreamAway(f"there is no broker {node} now")
        return self._broker(member).pool if self._users is None else self._users.pool(principal, member)

    @property
    def acts_as_users(self) -> bool:
        """Whether the brokers see the caller of each request, and decide about its rights."""
        return self._users is not None

    def is_away(self, node: int) -> bool:
        """Whether a broker could not be reached just now."""
        broker = self._brokers.get(node)
        return broker is not None and broker.pool.is_away

    def versions(self, node: int | None) -> Versions | None:
        """The versions that a broker serves, or those that all serve; None: not known yet."""
        if node is not None:
            broker = self._brokers.get(node)
            if broker is not None and broker.versions is not None:
                return broker.versions
        known = tuple(each.versions for each in self._brokers.values())
        if known != self._common[0]:
            self._common = known, _common([each for each in known if each is not None])
        return self._common[1]

    def described(self) -> ApiVersionsResponse | None:
        """What a broker says of itself: the features of the cluster are in it."""
        return next((each.described for each in self._brokers.values() if each.described is not None), None)

    async def refresh(self) -> None:
        """Follow the members, and ask those brokers for their versions that were not asked lately."""
        members = self._members().brokers
        for gone in self._brokers.keys() - members.keys():
            self._brokers.pop(gone).pool.close()
        now = asyncio.get_running_loop().time()
        brokers = [self._broker(each) for each in members.values()]
        await asyncio.gather(*(each.probe() for each in brokers if each.asked_at + _PROBE < now))

    async def follow(self) -> None:
        """Until cancelled."""
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
            return await RawConnection.connect(self._connector, self._settings, address)

        pool = BrokerPool(f"broker {member.id} ({address})", connect, self._limits)
        made = self._brokers[member.id] = _Broker(member, pool)
        return made


def _common(found: list[Versions]) -> Versions | None:
    if not found:
        return None
    shared = set(found[0]).intersection(*found[1:])
    both = {key: (max(each[key][0] for each in found), min(each[key][1] for each in found)) for key in shared}
    return {key: (low, high) for key, (low, high) in both.items() if low <= high}
