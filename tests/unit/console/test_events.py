"""A page is notified of changes that it does not show, also of those before it was connected."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest

from kconf.client.contexts.context import Context
from kconf.console.cluster.monitor import ClusterMonitor
from kconf.console.pages.events import _stream
from kconf.operations.target import Target
from tests.unit.console.world import BASE, client, snapshot, topics

CHANGE: Any = object()


@pytest.mark.parametrize(("seen", "is_announced"), [("0", True), ("1", False), ("", False)])
def test_a_change_between_the_page_and_its_connection_is_announced(seen: str, is_announced: bool) -> None:
    async def scene() -> list[str]:
        monitor = ClusterMonitor(Target(Context("home", "127.0.0.1:1")), 30.0)
        monitor._publish(snapshot(topics({"orders": {}})), [CHANGE])
        cluster: Any = SimpleNamespace(monitor=monitor)
        stream = _stream(cluster, seen)
        first = await anext(stream)
        following = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        monitor._publish(monitor.snapshot, [CHANGE, CHANGE])
        return [first, await following]

    retry, event = asyncio.run(scene())
    assert retry.startswith("retry: ")
    name, data = event.strip().split("\ndata: ")
    assert name == "event: changed"
    assert json.loads(data)["changes"] == (0 if is_announced else 2)
    assert json.loads(data)["lost"] == is_announced


def test_a_page_names_the_number_of_changes_that_it_shows() -> None:
    text = client({"home": snapshot(topics({"orders": {}}))}).get(f"{BASE}/home/topics").text
    assert 'sse-connect="/home/-/events?seen=0"' in text
