"""The authorizer of the cluster changes while a gateway runs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from kconf.errors import ConfigurationError, NotAuthorized
from kconf.server.upstream import rights_watch
from kconf.server.upstream.authorizer_check import AuthorizerCheck
from kconf.server.upstream.rights_watch import RightsWatch

STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
OTHER = "com.example.OtherAuthorizer"
SETTINGS = {
    "authorizer.class.name": STANDARD,
    "super.users": "User:root",
    "allow.everyone.if.no.acl.found": "false",
}


def stopped(monkeypatch: pytest.MonkeyPatch, static: Mapping[str, str], later: str | None) -> str | None:
    """Why a gateway stops when the cluster has another authorizer, or None if it does not."""
    monkeypatch.setattr(rights_watch, "_INTERVAL", 0.0)
    store: Any = SimpleNamespace(brokers_authorizer=None, brokers_static={}, polling=None)

    async def run() -> str | None:
        failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        watch = asyncio.create_task(RightsWatch(static, store, None, failure).follow())
        await _turns()
        assert not failure.done()
        store.brokers_authorizer = later
        await _turns()
        watch.cancel()
        if not failure.done():
            return None
        with pytest.raises(ConfigurationError) as raised:
            failure.result()
        return str(raised.value)

    return asyncio.run(run())


async def _turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_a_gateway_stops_if_it_has_no_settings_for_a_new_authorizer(monkeypatch: pytest.MonkeyPatch) -> None:
    reason = stopped(monkeypatch, {}, STANDARD)
    assert reason is not None
    assert reason.startswith("the authorizer or the principals of the cluster have changed; the gateway stops: ")
    assert "super.users" in reason


def test_a_gateway_with_settings_for_the_authorizer_continues(monkeypatch: pytest.MonkeyPatch) -> None:
    assert stopped(monkeypatch, SETTINGS, STANDARD) is None


def test_an_authorizer_that_kconf_does_not_support_stops_the_gateway(monkeypatch: pytest.MonkeyPatch) -> None:
    assert OTHER in (stopped(monkeypatch, SETTINGS, OTHER) or "")


def test_an_authorizer_that_a_new_connection_finds_stops_the_gateway_at_once() -> None:
    async def run() -> None:
        failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        check = AuthorizerCheck()
        store: Any = SimpleNamespace(brokers_authorizer=None, brokers_static={}, polling=None)
        rights = RightsWatch({}, store, check, failure)
        rights.check()
        rights.enforce()
        await asyncio.to_thread(_find, check)
        with pytest.raises(ConfigurationError, match=r"have changed; the gateway stops: .*super\.users"):
            await failure

    asyncio.run(run())


def test_an_authorizer_that_only_a_controller_has_prevents_the_start() -> None:
    async def run() -> None:
        check = AuthorizerCheck()
        _find(check)
        store: Any = SimpleNamespace(brokers_authorizer=None, brokers_static={}, polling=None)
        failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        rights = RightsWatch({}, store, check, failure)
        for refused in (rights.check, rights.enforce):
            with pytest.raises(ConfigurationError, match="would have the gateway's rights"):
                refused()

    asyncio.run(run())


def _find(check: AuthorizerCheck) -> None:
    """Connect to a node that does not support DescribeAcls, so that it may have an authorizer."""
    with suppress(NotAuthorized, StopIteration):
        next(check.requests("kconf", {}))
