"""A thread that executes calls for an event loop, one after the other.

It is used for commits. A ThreadPoolExecutor would need twice the processor time per call. The thread is a daemon: call
`close` to wait for the last calls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")

_Call = tuple[Callable[[], Any], asyncio.Future[Any]]


class CallThread:
    """Used from one event loop. The thread starts with the first call."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._thread: Thread | None = None
        self._closed = False
        self._pending = 0

    @property
    def is_busy(self) -> bool:
        """Whether a call is waiting or running."""
        return self._pending > 0

    def run(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """Run a call. The future gets its result or exception. Cancelling the future does not stop the call."""
        if self._closed:
            raise RuntimeError(f"the thread {self._name} is closed")
        loop = asyncio.get_running_loop()
        if self._thread is None:
            self._thread = Thread(target=self._work, args=(loop,), name=self._name, daemon=True)
            self._thread.start()
        future: asyncio.Future[T] = loop.create_future()
        self._pending += 1
        self._calls.put((work, future))
        return future

    def close(self) -> None:
        """Wait for the calls so far. No more are accepted."""
        self._closed = True
        if self._thread is not None:
            self._calls.put(None)
            self._thread.join()
            self._thread = None

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        while (call := self._calls.get()) is not None:
            work, future = call
            result, error = None, None
            try:
                result = work()
            except BaseException as raised:
                error = raised
            try:
                loop.call_soon_threadsafe(self._done, future, result, error)
            except RuntimeError:  # the loop is closed, so nothing waits for the result
                return
            del call, work, future, result, error  # do not keep references while waiting

    def _done(self, future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
        self._pending -= 1
        if future.done():  # cancelled
            return
        if error is None:
            future.set_result(result)
        elif isinstance(error, StopIteration):  # a future cannot store StopIteration
            future.set_exception(RuntimeError("the work raised StopIteration"))
        else:
            future.set_exception(error)
