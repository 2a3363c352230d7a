"""Connections of a gateway as its users: one pool per user and broker, a new token if a broker refuses the old one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest

from kconf.client.auth.sasl import Scram
from kconf.client.settings import Address, Bootstrap, ClientSettings, SecuritySettings
from kconf.client.transport.raw_connection import RawConnection
from kconf.errors import AuthenticationFailed, ConnectionFailed, UpstreamUnavailable
from kconf.model.membership import ClusterMember
from kconf.protocol.codec.serde import encode
from kconf.protocol.messages.metadata import MetadataResponse
from kconf.server.upstream import user_pools as module
from kconf.server.upstream.pool import PoolLimits, RawRequest
from kconf.server.upstream.user_pools import UserPools
from kconf.store.upstream.identities import Identities

ONE, TWO = (ClusterMember(number, {}, plaintext=("kafka", 9090 + number)) for number in (1, 2))
REQUEST = RawRequest("client", b"\0\0\0\0\0\0\0\1")


class Cluster:
    """Brokers that accept some tokens, and the tokens of users. `logins` are the tokens of all attempts."""

    def __init__(self, *accepted: str) -> None:
        self.accepted, self.logins = accepted, list[str]()
        self.responses = asyncio.Event()
        self.responses.set()

    def settings(self, principal: str, *, failed: ClientSettings | None = None) -> ClientSettings:
        """Like `Identities`: the first token of a user, and the next one if that failed."""
        number = 1 if failed is None else 2
        sasl = Scram(f"{principal} {number}", "secret", "SCRAM-SHA-512", token_auth=True)
        return ClientSettings(Bootstrap((Address("kafka", 1),)), security=SecuritySettings(sasl=sasl))

    async def connect(self, _connector: Any, settings: ClientSettings, _address: Address) -> RawConnection:
        if len(self.logins) == 3:
            raise ConnectionFailed("too many logins")
        token = cast(Scram, settings.security.sasl).username
        self.logins.append(token)
        if token not in self.accepted:
            raise AuthenticationFailed("unknown token")
        return cast(RawConnection, Connection(self))

    def pools(self) -> UserPools:
        return UserPools(cast(Identities, self), PoolLimits(), "C")


class Connection:
    """Responds to Metadata, which the gateway sends first, and to everything else once `responses` is set."""

    is_usable = True

    def __init__(self, cluster: Cluster) -> None:
        self._cluster, self._is_new = cluster, True

    async def exchange(self, frame: bytes) -> bytes:
        if self._is_new:
            self._is_new = False
            return frame[4:8] + encode(MetadataResponse(cluster_id="C"), 4, False)
        await self._cluster.responses.wait()
        return b"response"

    def abort(self) -> None:
        self.is_usable = False


def play(
    monkeypatch: pytest.MonkeyPatch, scene: Callable[[Cluster], Coroutine[Any, Any, None]], *accepted: str
) -> None:
    async def run() -> None:
        cluster = Cluster(*accepted)
        monkeypatch.setattr(RawConnection, "connect", cluster.connect)
        await scene(cluster)

    monkeypatch.setattr(module, "_RETRY", 0.0)
    asyncio.run(run())


def test_a_user_whose_token_a_broker_refuses_logs_in_with_a_new_token(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(cluster: Cluster) -> None:
        assert await cluster.pools().pool("User:alice", ONE).send(REQUEST) == b"response"
        assert cluster.logins == ["User:alice 1", "User:alice 2"]

    play(monkeypatch, scene, "User:alice 2")


def test_each_user_has_its_own_connections_to_each_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(cluster: Cluster) -> None:
        pools = cluster.pools()
        for principal, broker in (("User:alice", ONE), ("User:bob", ONE), ("User:alice", TWO), ("User:alice", ONE)):
            assert await pools.pool(principal, broker).send(REQUEST) == b"response"
        assert cluster.logins == ["User:alice 1", "User:bob 1", "User:alice 1"]

    play(monkeypatch, scene, "User:alice 1", "User:bob 1")


def test_beyond_the_limit_the_least_recently_used_pool_without_requests_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_POOLS", 3)

    async def scene(cluster: Cluster) -> None:
        pools = cluster.pools()
        cluster.responses.clear()
        busy, used, idle = (pools.pool(name, ONE) for name in ("User:busy", "User:used", "User:idle"))
        request = asyncio.create_task(busy.send(REQUEST))
        await asyncio.sleep(0)
        assert pools.pool("User:used", ONE) is used
        pools.pool("User:new", ONE)

        assert pools.pool("User:used", ONE) is used
        assert pools.pool("User:busy", ONE) is busy
        with pytest.raises(UpstreamUnavailable, match=r"broker 1 .* is no longer a member"):
            await idle.send(REQUEST)
        cluster.responses.set()
        assert await request == b"response"

    play(monkeypatch, scene, "User:busy 1")
