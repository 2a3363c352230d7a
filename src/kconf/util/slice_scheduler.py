"""Runs long work in slices, so that it does not block the event loop.

Long work runs in slices of about a millisecond, in a greenlet: a loop over `in_slices` (slices.py) suspends it at any
call depth, so that codec, planners and handlers remain plain functions. One slice runs at a time. Owners (principals)
take turns, and so do the connections of an owner. While there is other work, in the event loop or in a thread that it
waits for, slices get a quarter of the time. The total size of requests that are processed concurrently is limited,
since decoded requests need many times more memory.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from contextlib import asynccontextmanager
from time import perf_counter, process_time
from typing import Any, Final, Generic, TypeVar, cast

from greenlet import getcurrent, greenlet

from kconf.util.slices import hook

SLICE: Final = 0.001  # seconds
MAX_ADMITTED: Final = 8 << 20  # total bytes of requests that are processed concurrently
_ACTIVE: Final = 0.0001  # seconds of processor time between two slices above which there is other work
REST: Final = 3.0  # time for other work, as a multiple of the length of a slice
_PAUSED: Final = object()

T = TypeVar("T")
Waiter = asyncio.Future[None]


class _Work(greenlet):
    """Work in progress. `switch` runs it until it pauses or ends."""

    clock: Callable[[], float]
    slice_ends = 0.0


def _pause() -> None:
    current = getcurrent()
    if isinstance(current, _Work) and current.clock() >= current.slice_ends:
        assert current.parent is not None
        current.parent.switch(_PAUSED)


hook.pause = _pause


def is_sliced() -> bool:
    """Whether the caller runs in slices."""
    return isinstance(getcurrent(), _Work)


class _RoundRobin(Generic[T]):
    """Queues by owner. Returns one item of each owner in turn."""

    def __init__(self) -> None:
        self._queues: OrderedDict[str, deque[T]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._queues)

    def push(self, owner: str, item: T) -> None:
        self._queues.setdefault(owner, deque()).append(item)

    def pop(self) -> T:
        owner, queue = self._queues.popitem(last=False)
        item = queue.popleft()
        if queue:
            self._queues[owner] = queue
        return item


class _Admission:
    """Limits the bytes of requests that are processed concurrently. A larger request is processed alone."""

    def __init__(self, limit: int) -> None:
        self.bytes = 0
        self._limit = limit
        self._queue: _RoundRobin[tuple[int, Waiter]] = _RoundRobin()
        self._next: tuple[int, Waiter] | None = None

    def enter(self, owner: str, size: int) -> Waiter:
        waiter: Waiter = asyncio.get_running_loop().create_future()
        self._queue.push(owner, (size, waiter))
        self._admit()
        return waiter

    def leave(self, size: int) -> None:
        self.bytes -= size
        self._admit()

    def _admit(self) -> None:
        while self._next is not None or self._queue:
            size, waiter = self._next = self._next or self._queue.pop()
            if not waiter.done():  # the connection may have been closed
                if self.bytes and self.bytes + size > self._limit:
                    return
                self.bytes += size
                waiter.set_result(None)
            self._next = None


class SliceScheduler:
    """Decides which slice runs next. Used from one event loop."""

    def __init__(
        self,
        clock: Callable[[], float] = perf_counter,
        processor_time: Callable[[], float] = process_time,
        *,
        rest: float = REST,
        max_admitted: int = MAX_ADMITTED,
        is_busy: Callable[[], bool] = lambda: False,
    ) -> None:
        """`processor_time` returns that of this process, since work of other processes does not count.

        `is_busy` returns whether the event loop waits for the work of a thread.
        """
        self.slices = 0
        self._clock, self._processor_time, self._rest, self._is_busy = clock, processor_time, rest, is_busy
        self._admission = _Admission(max_admitted)
        self._waiting: _RoundRobin[Waiter] = _RoundRobin()
        self._is_taken = False  # a slice is running, or the next one is about to start
        self._began = self._ended = 0.0  # start and end of the last slice
        self._used = 0.0  # processor time at its end

    @property
    def admitted_bytes(self) -> int:
        """The total bytes of requests that are being processed."""
        return self._admission.bytes

    @asynccontextmanager
    async def admitted(
        self, owner: str, size: int, waits: Callable[[Waiter | None], None] = lambda _: None
    ) -> AsyncIterator[Callable[[], None]]:
        """Wait until a request of this size may be processed. `waits` receives a future that may be cancelled until
        then.

        Yields a function to call when the request starts to wait for something else and is no longer processed.
        """
        waiter = self._admission.enter(owner, size)
        waits(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():
                self._admission.leave(size)
            raise
        finally:
            waits(None)
        left = False

        def leave() -> None:
            nonlocal left
            if not left:
                left = True
                self._admission.leave(size)

        try:
            yield leave
        finally:
            leave()

    def call(self, owner: str, work: Callable[[], T]) -> T | Coroutine[Any, Any, T]:
        """Call a function that usually takes less than a slice.

        Returns its result, or a coroutine if it takes longer.
        """
        begun = self._work(work)
        result = self._slice(begun, begun.switch)
        return cast(T, result) if result is not _PAUSED else self._later(owner, begun)

    async def run(self, owner: str, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine. Between two awaits it runs in slices."""
        return cast(T, await _Awaitable(self._run(owner, work)))

    async def _later(self, owner: str, begun: _Work) -> Any:
        return await _Awaitable(self._rest_of(owner, begun))

    def _run(self, owner: str, work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        step: Callable[[Any], Any] = work.send
        value: Any = None
        while True:
            begun = self._work(lambda step=step, value=value: _advance(step, value))  # type: ignore[misc]
            try:
                is_done, result = yield from self._rest_of(owner, begun)
            except BaseException:
                work.close()  # if it was cancelled before its turn
                raise
            if is_done:
                return cast(T, result)
            try:
                value, step = (yield result), work.send
            except BaseException as error:  # for example a cancellation, which the coroutine must get
                value, step = error, work.throw

    def _rest_of(self, owner: str, work: _Work) -> Generator[Any, Any, Any]:
        """Run the remaining slices of the work, each in its turn."""
        while True:
            try:
                yield from self._turn(owner)
            except BaseException as error:
                result = self._slice(work, work.throw, error)
            else:
                try:
                    result = self._slice(work, work.switch)
                finally:
                    self._end()
            if result is not _PAUSED:
                return result

    def _work(self, function: Callable[[], object]) -> _Work:
        work = _Work(function)
        work.clock = self._clock
        return work

    def _slice(self, work: _Work, switch: Callable[..., Any], *values: object) -> Any:
        self.slices += 1
        work.slice_ends = self._clock() + SLICE
        return switch(*values)

    # -- turns ---------------------------------------------------------------------------------------------------------

    def _turn(self, owner: str) -> Generator[Any, None, None]:
        """Wait for a slice. `_end` must follow."""
        waiter: Waiter = asyncio.get_running_loop().create_future()
        self._waiting.push(owner, waiter)
        if not self._is_taken:
            self._is_taken = True
            self._grant()
        try:
            yield from waiter
        except BaseException:
            if not waiter.cancelled():
                self._end()
            raise
        self._began = self._clock()

    def _end(self) -> None:
        self._ended, self._used = self._clock(), self._processor_time()
        asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        """Start the next slice, with a delay if there was other work since the last one."""
        now = self._clock()
        passed = now - self._ended
        rest = (self._ended - self._began) * self._rest - passed
        is_active = passed > _ACTIVE and self._processor_time() - self._used > _ACTIVE
        if rest > 0 and (is_active or self._is_busy()):
            asyncio.get_running_loop().call_later(rest, self._grant)
        else:
            self._grant()

    def _grant(self) -> None:
        while self._waiting:
            waiter = self._waiting.pop()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._is_taken = False


class _Awaitable(Generic[T]):
    def __init__(self, steps: Generator[Any, Any, T]) -> None:
        self._steps = steps

    def __await__(self) -> Generator[Any, Any, T]:
        return self._steps


def _advance(step: Callable[[Any], Any], value: Any) -> tuple[bool, Any]:
    """Whether a coroutine has ended, and its result or what it waits for."""
    try:
        return False, step(value)
    except StopIteration as end:
        return True, end.value
