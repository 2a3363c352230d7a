"""Threads for code that may hang.

Calls run one at a time, each with a time limit. A thread cannot be stopped, so a call that exceeds its limit is
abandoned with its thread, and a spare thread runs the next call. If all threads hang, further calls fail immediately.
The threads are daemons, so a call that never returns does not keep the process alive.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")


class WorkTimedOut(Exception):
    """The call exceeded its time limit, or all threads are blocked by earlier calls."""


class WorkerThread:
    """Used from one event loop. A thread starts with the first call that needs it."""

    def __init__(self, name: str, timeout: float, *, spare: int = 0) -> None:
        self.timeout = timeout
        self._name = name
        self._spare = spare
        self._lock = asyncio.Lock()
        self._late: list[Future[Any]] = []
        self._thread: _Thread | None = None

    @property
    def late(self) -> int:
        """The number of calls that exceeded their time limit and have not returned."""
        self._late = [each for each in self._late if not each.done()]
        return len(self._late)

    @property
    def stuck(self) -> bool:
        return self.late > self._spare

    async def run(self, work: Callable[[], T]) -> T:
        """Run a call and return its result or raise its exception. Raises WorkTimedOut after the time limit."""
        async with self._lock:
            if self.stuck:
                raise WorkTimedOut
            thread = self._thread = self._thread or _Thread(self._name)
            call: Future[T] = Future()
            thread.calls.put((work, call))
            try:
                async with asyncio.timeout(self.timeout):
                    return await asyncio.wrap_future(call)
            except TimeoutError:
                if thread.current is not None:
                    self._late.append(thread.current)  # perhaps an earlier one, whose caller was cancelled
                self.close()
                raise WorkTimedOut from None

    def close(self) -> None:
        """End the threads when their calls have returned."""
        if self._thread is not None:
            self._thread.calls.put(None)
            self._thread = None


async def in_daemon_thread(work: Callable[[], T]) -> T:
    """Run one call in a daemon thread. If the caller is cancelled, the call is abandoned."""
    thread, call = _Thread("kconf-once"), Future[T]()
    thread.calls.put((work, call))
    thread.calls.put(None)
    return await asyncio.wrap_future(call)


class _Thread:
    def __init__(self, name: str) -> None:
        self.calls: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        self.current: Future[Any] | None = None
        Thread(target=self._work, name=name, daemon=True).start()

    def _work(self) -> None:
        while (each := self.calls.get()) is not None:
            work, call = each
            if not call.set_running_or_notify_cancel():
                continue
            self.current = call
            try:
                result = work()
            except BaseException as error:
                call.set_exception(error)
            else:
                call.set_result(result)
            del each, work, call  # hold no values while waiting
