"""The real brokers that this server answers for: those on the same ZooKeeper, or those behind a gateway.

Their dynamic configs are in the store. Their static configs and logger levels are not: the server reads them from the
brokers' plaintext listeners. If a broker is unavailable, it is described without its static configs, and requests about
its loggers fail.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from logging import getLogger
from typing import TYPE_CHECKING, Final

from kconf.engine.configs.alter import java_int
from kconf.engine.configs.resolver import ConfigResolver
from kconf.errors import BrokerNotAvailable, KconfError
from kconf.model.alteration import AlterConfigOp
from kconf.model.entry import View, static_overrides
from kconf.model.membership import NO_MEMBERS, ClusterMember, ClusterMembers
from kconf.model.resource import Overrides, Resource

if TYPE_CHECKING:
    from kconf.client.admin import AdminClient
    from kconf.server.upstream.client import UpstreamClient
    from kconf.service import Service, State

log = getLogger(__name__)

_TIMEOUT: Final = 5.0  # seconds for a broker to respond


class BrokerProxy:
    """Empty if there is no service or there are no brokers."""

    def __init__(self, service: Service | None = None, upstream: UpstreamClient | None = None) -> None:
        self._service, self._upstream = service, upstream
        self._static: dict[int, tuple[ClusterMember, Overrides]] = {}
        self._resolvers: dict[int, ConfigResolver] = {}

    @property
    def members(self) -> ClusterMembers:
        return NO_MEMBERS if self._service is None else self._service.store.members

    def find(self, name: str) -> int | None:
        """The id of a broker that this server answers for, by the name of its resource."""
        number = java_int(name)
        return number if number in self.members.brokers else None

    def resolvers(self, state: State) -> Mapping[int, ConfigResolver]:
        """The resolver of each broker, with its static configs if they are known."""
        brokers = self.members.brokers
        if not brokers:
            return {}
        return {number: self._resolver(state, number) for number in brokers}

    def _resolver(self, state: State, number: int) -> ConfigResolver:
        _, static = self._static.get(number, (None, {}))
        base, snapshot = state.resolver, state.snapshot
        here = snapshot.overrides(Resource.broker(number))
        known = self._resolvers.get(number)
        if (
            known is None
            or known.static is not static
            or known.catalog is not base.catalog
            or known.everywhere is not base.everywhere
            or known.here is not here
        ):
            known = self._resolvers[number] = ConfigResolver(base.catalog, static, base.everywhere, here)
        return known

    async def load_static(self, numbers: Iterable[int]) -> None:
        """Read the static configs of brokers, unless they were read since the broker started."""
        brokers = self.members.brokers
        unknown = [
            brokers[each] for each in numbers if each in brokers and self._static.get(each, (None,))[0] != brokers[each]
        ]
        await asyncio.gather(*map(self._load_static, unknown))

    async def _load_static(self, broker: ClusterMember) -> None:
        try:
            async with self._client(broker) as client:
                found = await client.describe_configs([Resource.broker(broker.id)], synonyms=True)
                view = found[Resource.broker(broker.id)]
        except KconfError as error:
            log.warning("cannot read the static configuration of broker %d: %s", broker.id, error)
            return
        self._static[broker.id] = (broker, static_overrides(view))

    async def describe_loggers(self, number: int) -> View:
        async with self._client(self.members.brokers[number]) as client:
            return (await client.describe_configs([Resource.logger(number)]))[Resource.logger(number)]

    async def alter_loggers(
        self, principal: str, number: int, alterations: Sequence[AlterConfigOp], *, validate_only: bool
    ) -> None:
        """Alter the loggers of a broker, all or none. Raises the broker's error."""
        resource = Resource.logger(number)
        upstream = self._upstream
        if upstream is not None and await upstream.alter_as(
            principal, resource, alterations, validate_only=validate_only
        ):
            return
        async with self._client(self.members.brokers[number]) as client:
            answer = await client.incremental_alter_configs({resource: alterations}, validate_only=validate_only)
            answer[resource]

    def _client(self, broker: ClusterMember) -> AdminClient:
        from kconf.client.admin import AdminClient

        if self._upstream is not None:
            return self._upstream.for_broker(broker)
        if broker.plaintext is None:
            raise BrokerNotAvailable(f"broker {broker.id} has no listener without authentication")
        host, port = broker.plaintext
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        return AdminClient(address, timeout=_TIMEOUT, connect_attempts=1)
