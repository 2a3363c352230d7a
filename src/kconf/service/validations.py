"""Validates dry runs with the cluster behind a gateway, in threads of its own, so that changes do not wait for them.

A principal has few validations at a time. So one that sends many of them does not delay those of others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from logging import getLogger
from typing import Final
from weakref import WeakValueDictionary

from kconf.errors import StaleState, StoreError, StoreUnavailable
from kconf.model.plan import PendingCommit, Refusals
from kconf.util.threads.worker_thread import in_daemon_thread

log = getLogger(__package__)

MAX_AT_ONCE: Final = 4
MAX_PER_PRINCIPAL: Final = 2


class Validations:
    """Used from one event loop. `validate` is called from several threads.

    The threads are daemons: a cluster that does not respond does not delay the end of the process.
    """

    def __init__(self, validate: Callable[[PendingCommit], Refusals]) -> None:
        self._validate = validate
        self._is_closed = False
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
        """A validation has its turn until its thread ends, even if its caller no longer waits."""
        with ExitStack() as waiting:
            own = self._turns_of.setdefault(pending.caller.principal, asyncio.Semaphore(MAX_PER_PRINCIPAL))
            for each in (own, self._turns):
                await each.acquire()
                waiting.callback(each.release)
            if self._is_closed:
                raise StoreUnavailable("the server is stopping")
            call = asyncio.ensure_future(in_daemon_thread(lambda: self._validate(pending)))
            turns = waiting.pop_all()
        call.add_done_callback(lambda _: turns.close())
        call.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # the caller may be gone
        try:
            return await asyncio.shield(call)
        except StoreError:
            raise
        except Exception:
            log.exception("a validation failed unexpectedly")
            raise StoreUnavailable("the store failed") from None

    def close(self) -> None:
        """Validations that have not started fail."""
        self._is_closed = True
