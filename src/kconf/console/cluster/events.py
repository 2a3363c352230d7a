"""Events of a monitor, and their subscribers: pages in the event loop of the web server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Final

from kconf.console.cluster.snapshot import ClusterSnapshot

if TYPE_CHECKING:
    from kconf.operations.history.entries import HistoryEntry

MOST_WAITING: Final = 1000
"""The maximum number of events that wait for a slow subscriber. Older ones are dropped, and the next one has `lost`."""


@dataclass(frozen=True)
class ClusterEvent:
    """A new snapshot, and the changes that caused it. `lost`: events before it were dropped."""

    entries: tuple[HistoryEntry, ...]
    snapshot: ClusterSnapshot
    lost: bool = False


class Subscription:
    """The events since the subscription was opened, in one event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[ClusterEvent | None] = asyncio.Queue()
        self._lost = False

    def offer(self, event: ClusterEvent | None) -> None:
        """Called by the monitor, in its own thread. None: there will be no more."""
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._put, event)

    def _put(self, event: ClusterEvent | None) -> None:
        if self._queue.qsize() >= MOST_WAITING:
            self._queue.get_nowait()
            self._lost = True
        self._queue.put_nowait(event)

    async def next(self) -> ClusterEvent | None:
        """The next event; None if the console stops."""
        event = await self._queue.get()
        if event is None or not self._lost:
            return event
        self._lost = False
        return ClusterEvent(event.entries, event.snapshot, lost=True)


class Subscribers:
    """The open subscriptions of one monitor."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._open: set[Subscription] = set()

    @contextmanager
    def subscribe(self) -> Iterator[Subscription]:
        """Must be called in the event loop of the subscriber."""
        subscription = Subscription()
        with self._lock:
            self._open.add(subscription)
        try:
            yield subscription
        finally:
            with self._lock:
                self._open.discard(subscription)

    def publish(self, event: ClusterEvent | None) -> None:
        """None ends all subscriptions."""
        with self._lock:
            listening = list(self._open)
        for each in listening:
            each.offer(event)
