"""Connections to brokers that are authenticated as a user, with a delegation token of the user."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Final

from kconf.client.settings import Address, ClientSettings
from kconf.client.transport.connector import Connector
from kconf.client.transport.raw_connection import RawConnection
from kconf.errors import AuthenticationFailed
from kconf.model.membership import ClusterMember
from kconf.server.upstream.connect import connect_to_cluster
from kconf.server.upstream.pool import BrokerPool, PoolLimits
from kconf.util.threads.worker_thread import in_daemon_thread

if TYPE_CHECKING:
    from kconf.store.upstream.identities import Identities

MAX_POOLS: Final = 200
"""The maximum number of pools (one per user and broker), unless more are in use."""
_CONNECTIONS: Final = 4  # connections per user and broker
_RETRY: Final = 0.2  # seconds to wait until a broker knows a new token


class UserPools:
    """Used from the event loop."""

    def __init__(self, identities: Identities, limits: PoolLimits, cluster_id: str) -> None:
        self._identities, self._limits = identities, limits._replace(connections=_CONNECTIONS)
        self._cluster_id = cluster_id
        self._pools: OrderedDict[tuple[str, int, Address], BrokerPool] = OrderedDict()

    def pool(self, principal: str, member: ClusterMember) -> BrokerPool:
        """The connections of a user to a broker."""
        assert member.plaintext is not None
        address = Address(*member.plaintext)
        name = principal, member.id, address
        found = self._pools.get(name)
        if found is None:
            found = self._pools[name] = self._new(principal, f"broker {member.id} ({address})", address)
            self._make_room()
        self._pools.move_to_end(name)
        return found

    def close(self) -> None:
        for each in self._pools.values():
            each.close()

    def _make_room(self) -> None:
        """Close pools beyond the limit, except the last one, which is new."""
        for name in list(self._pools)[:-1]:
            if len(self._pools) <= MAX_POOLS:
                return
            if not self._pools[name].is_busy:
                self._pools.pop(name).close()

    def _new(self, principal: str, name: str, address: Address) -> BrokerPool:
        async def connect() -> RawConnection:
            failed: ClientSettings | None = None
            while True:  # the pool limits the time
                settings = await in_daemon_thread(partial(self._identities.settings, principal, failed=failed))
                try:
                    return await connect_to_cluster(Connector(settings), settings, address, self._cluster_id)
                except AuthenticationFailed:
                    failed = settings
                    await asyncio.sleep(_RETRY)

        return BrokerPool(name, connect, self._limits)
