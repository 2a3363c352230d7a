"""A monitor continues after any error, and its subscribers are notified of every snapshot."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from kconf.client.contexts.context import Context
from kconf.console.cluster import monitor as module
from kconf.console.cluster.events import MOST_WAITING, ClusterEvent, Subscribers
from kconf.console.cluster.monitor import ClusterMonitor
from kconf.console.cluster.snapshot import ClusterSnapshot, Status
from kconf.errors import ConnectionFailed
from kconf.operations.target import Target
from tests.unit.console.world import snapshot, topics


@pytest.mark.parametrize(
    ("error", "shown"),
    [(ConnectionFailed("cannot connect"), "cannot connect"), (ValueError("secret"), "see the log of the console")],
)
def test_an_error_is_shown_the_last_state_stays_and_it_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, error: Exception, shown: str
) -> None:
    tries = []

    async def failing(*_: Any) -> None:
        tries.append(1)
        raise error

    async def story() -> ClusterSnapshot:
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
    found = asyncio.run(story())
    assert (found.status, list(found.state.topics)) == (Status.UNREACHABLE, ["orders"])
    assert shown in found.error
    assert "secret" not in found.error
    assert found.is_stale()


def test_a_subscriber_that_is_slow_loses_the_oldest_events_and_is_told() -> None:
    async def story() -> list[bool]:
        subscribers = Subscribers()
        with subscribers.subscribe() as subscription:
            for _ in range(MOST_WAITING + 1):
                subscribers.publish(ClusterEvent((), ClusterSnapshot()))
            await asyncio.sleep(0)
            return [(await subscription.next()).lost for _ in range(2)]

    assert asyncio.run(story()) == [True, False]
