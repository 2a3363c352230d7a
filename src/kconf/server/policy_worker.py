"""A thread for code that may hang.

One call at a time, each with a time limit. A thread cannot be stopped, so a call that is late is given up, and until it
comes back every further one fails at once. The thread is a daemon: a call that never returns does not keep the process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")


class TooLate(Exception):
    """The call took longer than it may, or an earlier one still does."""


class Worker:
    """Used from one event loop. The thread starts with the first call."""

    def __init__(self, name: str, timeout: float) -> None:
        self.timeout = timeout
        self._name = name
        self._lock = asyncio.Lock()
        self._calls: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._current: Future[Any] | None = None
        self._late: Future[Any] | None = None

    @property
    def stuck(self) -> bool:
        return self._late is not None and not self._late.done()

    async def run(self, work: Callable[[], T]) -> T:
        """What the work returns or raises; `TooLate` after the time limit."""
        async with self._lock:
            if self.stuck:
                raise TooLate
            if self._thread is None:
                self._thread = Thread(target=self._work, name=self._name, daemon=True)
                self._thread.start()
            call: Future[T] = Future()
            self._calls.put((work, call))
            try:
                async with asyncio.timeout(self.timeout):
                    return await asyncio.wrap_future(call)
            except TimeoutError:
                self._late = self._current  # perhaps an earlier one, whose caller went away
                raise TooLate from None

    def close(self) -> None:
        self._calls.put(None)

    def _work(self) -> None:
        while (each := self._calls.get()) is not None:
            work, call = each
            if not call.set_running_or_notify_cancel():
                continue
            self._current = call
            try:
                result = work()
            except BaseException as error:
                call.set_exception(error)
            else:
                call.set_result(result)
            del each, work, call  # hold no values while waiting
