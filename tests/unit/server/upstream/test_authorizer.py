"""The authorizer of the cluster changes while a gateway runs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from kconf.errors import ConfigurationError
from kconf.server import server as servers
from kconf.server.server import Server, ServerOptions

STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
OTHER = "com.example.OtherAuthorizer"
SETTINGS = {
    "authorizer.class.name": STANDARD,
    "super.users": "User:root",
    "allow.everyone.if.no.acl.found": "false",
}


def stopped(
    monkeypatch: pytest.MonkeyPatch, static: Mapping[str, str], later: str | None, *, on_one_broker: bool = False
) -> str | None:
    """Why a gateway stops when the cluster has another authorizer, or None if it does not."""
    monkeypatch.setattr(servers, "_WATCH_AUTHORIZER", 0.0)
    store: Any = SimpleNamespace(brokers_authorizer=None, brokers_static={}, polling=None)
    brokers: Any = SimpleNamespace(has_authorizer=False)

    async def run() -> str | None:
        server = Server(ServerOptions("memory:", static=static))
        server.failure = asyncio.get_running_loop().create_future()
        watch = asyncio.create_task(server._watch_authorizer(store, brokers))
        await _turns()
        assert not server.failure.done()
        store.brokers_authorizer, brokers.has_authorizer = later, on_one_broker
        await _turns()
        watch.cancel()
        if not server.failure.done():
            return None
        with pytest.raises(ConfigurationError) as raised:
            server.failure.result()
        return str(raised.value)

    return asyncio.run(run())


async def _turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_a_gateway_without_the_settings_of_the_authorizer_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    reason = stopped(monkeypatch, {}, STANDARD)
    assert reason is not None
    assert reason.startswith("the authorizer or the principals of the cluster have changed; the gateway stops: ")
    assert "super.users" in reason


def test_an_authorizer_on_one_broker_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    assert stopped(monkeypatch, {}, None, on_one_broker=True) is not None


def test_a_gateway_with_the_settings_continues(monkeypatch: pytest.MonkeyPatch) -> None:
    assert stopped(monkeypatch, SETTINGS, STANDARD) is None


def test_a_gateway_cannot_evaluate_another_authorizer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert OTHER in (stopped(monkeypatch, SETTINGS, OTHER) or "")
