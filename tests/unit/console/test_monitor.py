"""A monitor continues after any error, and its subscribers are notified of every snapshot."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from kconf.client.contexts.context import Context
from kconf.console.cluster import monitor as module
from kconf.console.cluster.events import MOST_WAITING, ClusterEvent, Subscribers
from kconf.console.cluster.feed import Arrivals
from kconf.console.cluster.monitor import ClusterMonitor
from kconf.console.cluster.record import ClusterRecord
from kconf.console.cluster.snapshot import ClusterSnapshot, Feed, Status
from kconf.errors import ConnectionFailed
from kconf.model.resource import Resource
from kconf.operations.target import Target
from tests.unit.console.world import snapshot, topics


@pytest.mark.parametrize(
    ("error", "shown"),
    [(ConnectionFailed("cannot connect"), "cannot connect"), (ValueError("secret"), "see the log of the console")],
)
def test_after_an_error_the_last_state_is_kept_and_reading_is_retried(
    monkeypatch: pytest.MonkeyPatch, error: Exception, shown: str
) -> None:
    tries = []

    async def failing(*_: Any) -> None:
        tries.append(1)
        raise error

    async def scenario() -> ClusterSnapshot:
        watched = ClusterMonitor(Target(Context("home", "127.0.0.1:1")), 30.0)
        watched.snapshot = snapshot(topics({"orders": {}}))
        task = asyncio.create_task(watched.run())
        while len(tries) < 3:
            await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        return watched.snapshot

    monkeypatch.setattr(ClusterMonitor, "_serve", failing)
    monkeypatch.setattr(module, "_FIRST_BACKOFF", 0.0)
    monkeypatch.setattr(module, "_LAST_BACKOFF", 0.0)
    found = asyncio.run(scenario())
    assert (found.status, list(found.state.topics)) == (Status.UNREACHABLE, ["orders"])
    assert shown in found.error
    assert "secret" not in found.error
    assert found.is_stale()


def test_a_slow_subscriber_loses_the_oldest_events_and_is_notified() -> None:
    async def scenario() -> list[bool]:
        subscribers = Subscribers()
        with subscribers.subscribe() as subscription:
            for _ in range(MOST_WAITING + 1):
                subscribers.publish(ClusterEvent((), ClusterSnapshot()))
            await asyncio.sleep(0)
            events = [await subscription.next() for _ in range(2)]
            return [each.lost for each in events if each is not None]

    assert asyncio.run(scenario()) == [True, False]


@pytest.mark.parametrize("feed", [Feed.POLLED, Feed.LOG, Feed.LIVE])
def test_a_change_is_read_again_before_the_next_page(monkeypatch: pytest.MonkeyPatch, feed: Feed) -> None:
    asked: list[Resource] = []

    async def read(_: object, before: ClusterSnapshot, resources: Collection[Resource]) -> ClusterSnapshot:
        asked.extend(resources)
        return replace(before, state=topics({"orders": {"a": "2"}}))

    async def nothing(_: object, before: ClusterSnapshot) -> ClusterSnapshot:
        return before

    monkeypatch.setattr(module, "read_resources", read)
    monkeypatch.setattr(ClusterRecord, "with_new_changes", nothing)

    async def scenario() -> ClusterSnapshot:
        watched = ClusterMonitor(Target(Context("home", "127.0.0.1:1")), 30.0)
        watched.snapshot = snapshot(topics({"orders": {"a": "1"}}), feed=feed, is_kconf=False, taken=7)
        watched._loop, watched._arrivals = asyncio.get_running_loop(), Arrivals()
        task = asyncio.create_task(watched._keep(None, watched._arrivals))  # type: ignore[arg-type]
        await asyncio.to_thread(watched.touch, [Resource.topic("orders")])
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        return watched.snapshot

    found = asyncio.run(scenario())
    assert asked == [Resource.topic("orders")]
    assert found.state.configs[Resource.topic("orders")]["a"].value == "2"
    assert found.taken == 7  # everything else is as old as before


def test_a_subscription_ends_when_the_console_stops() -> None:
    async def scenario() -> ClusterEvent | None:
        subscribers = Subscribers()
        with subscribers.subscribe() as subscription:
            subscribers.publish(None)
            return await subscription.next()

    assert asyncio.run(scenario()) is None
