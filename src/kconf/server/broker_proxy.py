"""The real brokers beside us, for whom kconf speaks.

What is dynamic of them stands in the store. What their own server.properties say, and the levels of their loggers, only
they know: they are asked over their plain listener. A broker that cannot be asked is described without its static
layer, and its loggers cannot be had.
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
from kconf.model.entry import Source, View
from kconf.model.membership import NO_MEMBERS, ClusterMember, ClusterMembers
from kconf.model.resource import Overrides, Resource

if TYPE_CHECKING:
    from kconf.client.admin import AdminClient
    from kconf.service import Service, State

log = getLogger(__name__)

_PATIENCE: Final = 5.0  # seconds for an answer of a broker


class BrokerProxy:
    """Without a service, and where there are no brokers, it speaks for nobody."""

    def __init__(self, service: Service | None = None) -> None:
        self._service = service
        self._static: dict[int, tuple[ClusterMember, Overrides]] = {}
        self._ladders: dict[int, ConfigResolver] = {}

    @property
    def members(self) -> ClusterMembers:
        return NO_MEMBERS if self._service is None else self._service.store.members

    def known(self, name: str) -> int | None:
        """The broker of that name, if it is one that we speak for."""
        number = java_int(name)
        return number if number in self.members.brokers else None

    def ladders(self, state: State) -> Mapping[int, ConfigResolver]:
        """The levels of each, as far as they are known."""
        brokers = self.members.brokers
        if not brokers:
            return {}
        return {number: self._ladder(state, number) for number in brokers}

    def _ladder(self, state: State, number: int) -> ConfigResolver:
        _, static = self._static.get(number, (None, {}))
        base, snapshot = state.ladder, state.snapshot
        here = snapshot.overrides(Resource.broker(number))
        kept = self._ladders.get(number)
        if (
            kept is None
            or kept.static is not static
            or kept.catalog is not base.catalog
            or kept.everywhere is not base.everywhere
            or kept.here is not here
        ):
            kept = self._ladders[number] = ConfigResolver(base.catalog, static, base.everywhere, here)
        return kept

    async def learn(self, numbers: Iterable[int]) -> None:
        """Ask brokers for their static layers, unless they have been asked since they started."""
        brokers = self.members.brokers
        unknown = [
            brokers[each] for each in numbers if each in brokers and self._static.get(each, (None,))[0] != brokers[each]
        ]
        await asyncio.gather(*map(self._learn, unknown))

    async def _learn(self, broker: ClusterMember) -> None:
        try:
            async with self._client(broker) as client:
                found = await client.describe_configs([Resource.broker(broker.id)], synonyms=True)
                view = found[Resource.broker(broker.id)]
        except KconfError as error:
            log.warning("broker %d does not tell its static configuration: %s", broker.id, error)
            return
        self._static[broker.id] = (broker, _static_layer(view))

    async def describe_loggers(self, number: int) -> View:
        async with self._client(self.members.brokers[number]) as client:
            return (await client.describe_configs([Resource.logger(number)]))[Resource.logger(number)]

    async def alter_loggers(self, number: int, alterations: Sequence[AlterConfigOp], *, validate_only: bool) -> None:
        """All or none, as the broker says; raises what it answers."""
        resource = Resource.logger(number)
        async with self._client(self.members.brokers[number]) as client:
            answer = await client.incremental_alter_configs({resource: alterations}, validate_only=validate_only)
            answer[resource]

    def _client(self, broker: ClusterMember) -> AdminClient:
        from kconf.client.admin import AdminClient

        if broker.plaintext is None:
            raise BrokerNotAvailable(f"broker {broker.id} has no listener without a login")
        host, port = broker.plaintext
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        return AdminClient(address, timeout=_PATIENCE, connect_attempts=1)


def _static_layer(view: View) -> Overrides:
    """What a broker's own file says; a password's value is not told, but that it is set is."""
    return {
        synonym.name: synonym.value or ""
        for entry in view.entries
        for synonym in entry.synonyms
        if synonym.source == Source.STATIC and synonym.name == entry.name
    }
