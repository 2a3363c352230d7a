"""Calls the store in its own thread, one call after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from logging import getLogger
from typing import TypeVar

from kconf.errors import StoreError, StoreUnavailable
from kconf.store.base import Store
from kconf.util.threads.call_thread import CallThread

log = getLogger(__package__)

T = TypeVar("T")


class StoreThread:
    def __init__(self, store: Store) -> None:
        self.store = store
        self._thread = CallThread("kconf-store")

    @property
    def is_busy(self) -> bool:
        return self._thread.is_busy

    def run(self, work: Callable[[Store], T]) -> asyncio.Future[T]:
        """Call the store. The future gets its result or exception."""
        return self._thread.run(lambda: work(self.store))

    async def run_checked(self, work: Callable[[Store], T], expected: tuple[type[Exception], ...] = (StoreError,)) -> T:
        """Call the store. Unexpected exceptions, which are bugs, become StoreError."""
        try:
            return await self.run(work)
        except expected:
            raise
        except Exception:
            log.exception("the store failed unexpectedly")
            raise StoreUnavailable("the store failed") from None

    async def close(self) -> None:
        await self.run(lambda store: store.close())
        self._thread.close()
