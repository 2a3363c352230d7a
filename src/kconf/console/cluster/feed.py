"""Receives the changes of a cluster from its change feed or its metadata log, and puts them into a queue.

After an interruption, the metadata log is followed from the last position, so that the console misses no change.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING

from kconf.console.cluster.snapshot import Feed
from kconf.errors import JournalTrimmed, KconfError
from kconf.model.journal import Revision

if TYPE_CHECKING:
    from kconf.client.admin import AdminClient
    from kconf.model.resource import Resource
    from kconf.operations.target import Target


@dataclass(frozen=True)
class Touch:
    """Resources that the console itself has changed and that must be read again. `done` is set afterwards."""

    resources: Collection[Resource]
    done: Event = field(default_factory=Event, compare=False)


Arrivals = asyncio.Queue[Revision | KconfError | Touch]


class LogPosition:
    """The position up to which the metadata log was followed. `begun` counts the starts: the first, and one per gap."""

    def __init__(self) -> None:
        self.after: int | None = None
        self.begun = 0

    def begin(self, after: int | None) -> None:
        self.after = after
        self.begun += 1


@asynccontextmanager
async def pumped(
    feed: Feed, admin: AdminClient, target: Target, position: LogPosition, arrivals: Arrivals, patience: float
) -> AsyncIterator[None]:
    """Puts all changes from now on into a queue, and an error if the feed ends. Does nothing for a polled cluster."""
    if feed is Feed.POLLED:
        yield
        return
    begun = asyncio.Event()
    work = _from_feed(admin, arrivals, begun) if feed is Feed.LIVE else _from_log(target, position, arrivals, begun)
    task = asyncio.create_task(_guarded(work, arrivals))
    waiting = asyncio.create_task(begun.wait())
    try:
        await asyncio.wait({task, waiting}, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        yield
    finally:
        for each in (task, waiting):
            each.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _guarded(work: Coroutine[None, None, None], arrivals: Arrivals) -> None:
    try:
        await work
    except KconfError as error:
        arrivals.put_nowait(error)


async def _from_feed(admin: AdminClient, arrivals: Arrivals, begun: asyncio.Event) -> None:
    async with admin.watch_changes() as watch:
        begun.set()
        async for revision in watch:
            arrivals.put_nowait(revision)


async def _from_log(target: Target, position: LogPosition, arrivals: Arrivals, begun: asyncio.Event) -> None:
    try:
        await _followed(target, position, arrivals, begun)
    except JournalTrimmed:
        position.after = None
        await _followed(target, position, arrivals, begun)


async def _followed(target: Target, position: LogPosition, arrivals: Arrivals, begun: asyncio.Event) -> None:
    async with target.open_controllers_async() as controllers, controllers.follow(position.after) as log:
        if position.after is None:
            position.begin(log.after)
        begun.set()
        async for revision in log:
            position.after = revision.number
            arrivals.put_nowait(revision)
