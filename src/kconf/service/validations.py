"""Validates dry runs with the cluster behind a gateway, in threads of its own, so that changes do not wait for them.

A principal has few validations at a time. So one that sends many of them does not delay those of others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from logging import getLogger
from typing import Final
from weakref import WeakValueDictionary

from kconf.errors import StaleState, StoreError, StoreUnavailable
from kconf.model.plan import PendingCommit, Refusals

log = getLogger(__package__)

MAX_AT_ONCE: Final = 4
MAX_PER_PRINCIPAL: Final = 2


class Validations:
    """Used from one event loop. `validate` is called from several threads."""

    def __init__(self, validate: Callable[[PendingCommit], Refusals]) -> None:
        self._validate = validate
        self._threads = ThreadPoolExecutor(MAX_AT_ONCE, "kconf-validate")  # started when needed
        self._turns = asyncio.Semaphore(MAX_AT_ONCE)
        self._turns_of: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def run(self, pending: PendingCommit, timeout: float | None) -> Refusals:
        """Validate a plan. Raises StoreError."""
        try:
            async with asyncio.timeout(timeout):
                return await self._run(pending)
        except TimeoutError:
            raise StaleState("the cluster has not responded in time") from None

    async def _run(self, pending: PendingCommit) -> Refusals:
        principal = pending.caller.principal
        own = self._turns_of.setdefault(principal, asyncio.Semaphore(MAX_PER_PRINCIPAL))
        async with own, self._turns:
            try:
                return await asyncio.get_running_loop().run_in_executor(self._threads, self._validate, pending)
            except StoreError:
                raise
            except Exception:
                log.exception("a validation failed unexpectedly")
                raise StoreUnavailable("the store failed") from None

    def close(self) -> None:
        """Validations that have not started are cancelled."""
        self._threads.shutdown(wait=False, cancel_futures=True)
