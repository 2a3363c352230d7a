"""A connection whose session expires is replaced, and closed when its last response has arrived."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from kconf import AdminClient, Resource
from kconf.client.transport import asyncio_connection
from kconf.client.transport.asyncio_connection import AsyncNodeConnection
from kconf.protocol.messages.describe_configs import DescribeConfigsResponse
from tests.unit.client.fake import FakeBroker, described

ORDERS, OTHERS = Resource.topic("orders"), Resource.topic("others")


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.001)


def only_connection(admin: AdminClient) -> AsyncNodeConnection:
    (found,) = admin._pool._connections.values()
    return found


def test_an_idle_connection_is_closed_as_soon_as_it_is_replaced() -> None:
    async def run() -> None:
        async with AdminClient(broker.address) as admin:
            await admin.describe_configs([ORDERS])
            old = only_connection(admin)
            old._expires_at = 0.0
            await admin.describe_configs([ORDERS])
            assert old.closed
            assert not only_connection(admin).closed

    with FakeBroker() as broker:
        asyncio.run(run())
        assert broker.connections == 2


def test_a_request_in_flight_is_answered_before_its_connection_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asyncio_connection, "_RETIRE_POLL", 0.001)
    gate = threading.Event()

    def waits(asked: Any, version: int) -> DescribeConfigsResponse:
        if asked.resources[0].resource_name == OTHERS.name:
            gate.wait(60)
        return described(asked, version)

    async def run() -> None:
        async with AdminClient(broker.address) as admin:
            await admin.describe_configs([ORDERS])
            old = only_connection(admin)
            late = asyncio.create_task(admin.describe_configs([OTHERS]))
            await until(lambda: len(broker.asked) == 2)
            old._expires_at = 0.0
            assert not (await admin.describe_configs([ORDERS])).failures
            assert not old.closed
            gate.set()
            assert not (await late).failures
            await until(lambda: old.closed)

    with FakeBroker() as broker:
        broker.handlers["DescribeConfigs"] = waits
        asyncio.run(run())
        assert broker.connections == 2
