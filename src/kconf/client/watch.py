"""Watches a kconf cluster with the AdminClient: every change after a revision."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Self

from kconf.client.calls.changes import ChangePage, FeedPosition, ListChanges
from kconf.client.retries import random_jitter
from kconf.errors import BrokerNotAvailable, ConnectionFailed, RequestTimedOut

if TYPE_CHECKING:
    from kconf.model.journal import Revision


class Watch:
    """`async for revision in watch`. Reconnects if the connection is lost. No revision is skipped or repeated.

    Raises JournalTrimmed if the journal no longer contains the position, and errors that a retry cannot resolve.
    Entering `async with` sets the start position if it is "from now on"; leaving it closes the connection.
    """

    def __init__(
        self,
        position: FeedPosition,
        send: Callable[[ListChanges], Awaitable[ChangePage]],
        close: Callable[[], Awaitable[None]],
    ) -> None:
        self._position, self._send, self._close = position, send, close

    @property
    def after(self) -> int | None:
        """The revision from which to continue later, or None before the first response."""
        return self._position.after

    async def __aenter__(self) -> Self:
        if self._position.after is None:
            await self._fetch(wait=False)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Revision:
        while not self._position.ready:
            await self._fetch(wait=True)
        return self._position.pop()

    async def _fetch(self, *, wait: bool) -> None:
        while True:
            try:
                self._position.receive(await self._send(self._position.next_call(wait=wait)))
                return
            except (ConnectionFailed, RequestTimedOut, BrokerNotAvailable):
                await asyncio.sleep(self._position.backoff(random_jitter()))
