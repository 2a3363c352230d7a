"""Follows the metadata log of a KRaft cluster with the AdminClient: every committed change."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from kconf.client.kraft.follower import LogEvent, LogFollower
from kconf.client.kraft.revisions import STEP_TIMEOUT, RevisionQueue
from kconf.client.transport.asyncio_pool import AsyncConnectionPool
from kconf.client.transport.requests import Backoff

if TYPE_CHECKING:
    from kconf.client.kraft.checkpoint import Checkpoint
    from kconf.client.settings import ClientSettings
    from kconf.model.journal import Revision


class Follow:
    """`async for revision in follow`. Finds a new leader if the leader is lost. No revision is skipped or repeated.

    The number of a revision is its offset in the log. Entering `async with` sets the start position if it is "from now
    on"; leaving it closes the connections.
    """

    def __init__(self, settings: ClientSettings, after: int | Checkpoint | None, cluster: str | None) -> None:
        self.follower = LogFollower(
            settings.bootstrap.addresses, after=after, cluster=cluster, attempts=settings.retries.connect_attempts
        )
        self._pool = AsyncConnectionPool(settings)
        self._queue = RevisionQueue(after)

    @property
    def after(self) -> int | None:
        """The offset from which to continue later, or None if the position is not known yet."""
        return self._queue.after

    async def __aenter__(self) -> Self:
        while self._queue.after is None:
            await self.step()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._pool.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Revision:
        while not self._queue:
            await self.step()
        return self._queue.pop()

    async def step(self) -> list[LogEvent]:
        """Send the next request and process its response, or wait before the next one."""
        step = self.follower.next_step()
        if isinstance(step, Backoff):
            await asyncio.sleep(step.seconds)
            return []
        (reply,) = await self._pool.send_batch([step], asyncio.get_running_loop().time() + STEP_TIMEOUT)
        events = self.follower.receive(reply)
        self._queue.add(events)
        return events
