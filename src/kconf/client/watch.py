"""A watch for the AdminClient: every change from a revision on, over a line of its own, as long as one likes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from kconf.client.base import jitter
from kconf.client.calls.changes import FeedPosition
from kconf.errors import BrokerNotAvailable, ConnectionFailed, RequestTimedOut

if TYPE_CHECKING:
    from kconf.client.admin import AdminClient
    from kconf.model.journal import Revision


class Watch:
    """`async for revision in watch`. A line that breaks is opened again; nothing is lost by that, nothing repeated.

    Raises JournalTrimmed where the journal no longer reaches back, and what no new try could mend. `async with` fixes
    where "from now on" begins, and closes the line at the end.
    """

    def __init__(self, client: AdminClient, progress: FeedPosition) -> None:
        self._client, self._progress = client, progress

    @property
    def after(self) -> int | None:
        """The revision to go on from, another time; None: nothing was asked yet."""
        return self._progress.after

    async def __aenter__(self) -> Self:
        if self._progress.after is None:
            await self._ask(wait=False)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._client.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Revision:
        while not self._progress.ready:
            await self._ask(wait=True)
        return self._progress.hand_out()

    async def _ask(self, *, wait: bool) -> None:
        while True:
            try:
                self._progress.take(await self._client._send(self._progress.ask(wait=wait)))
                return
            except (ConnectionFailed, RequestTimedOut, BrokerNotAvailable):
                await asyncio.sleep(self._progress.pause(jitter()))
