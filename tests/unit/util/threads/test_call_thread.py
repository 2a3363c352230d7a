"""Calls in a thread of their own: in order, with their results and exceptions."""

from __future__ import annotations

import asyncio
import threading

import pytest

from kconf.util.threads.call_thread import CallThread


def test_calls_are_made_in_order_in_one_thread() -> None:
    async def scene() -> None:
        thread = CallThread("test")
        seen: list[tuple[int, str]] = []

        def call(number: int) -> int:
            seen.append((number, threading.current_thread().name))
            return number

        futures = [thread.run(lambda number=number: call(number)) for number in range(3)]  # type: ignore[misc]
        assert thread.is_busy
        assert await asyncio.gather(*futures) == [0, 1, 2]
        assert not thread.is_busy
        assert seen == [(0, "test"), (1, "test"), (2, "test")]
        thread.close()

    asyncio.run(scene())


@pytest.mark.parametrize(("raised", "expected"), [(KeyError, KeyError), (StopIteration, RuntimeError)])
def test_an_exception_of_a_call_is_raised(raised: type[Exception], expected: type[Exception]) -> None:
    async def scene() -> None:
        thread = CallThread("test")

        def fail() -> None:
            raise raised

        with pytest.raises(expected):
            await thread.run(fail)
        assert await thread.run(lambda: "next") == "next"
        thread.close()

    asyncio.run(scene())


def test_a_cancelled_caller_does_not_stop_the_call_nor_the_next_one() -> None:
    async def scene() -> None:
        thread = CallThread("test")
        go, done = threading.Event(), threading.Event()

        def call() -> None:
            go.wait()
            done.set()

        future = thread.run(call)
        future.cancel()
        go.set()
        assert await thread.run(done.is_set)
        thread.close()

    asyncio.run(scene())


def test_closing_a_thread_completes_its_calls_and_refuses_new_ones() -> None:
    async def scene() -> None:
        thread = CallThread("test")
        done = threading.Event()
        thread.run(done.set)
        thread.close()
        assert done.is_set()
        with pytest.raises(RuntimeError, match="closed"):
            thread.run(int)

    asyncio.run(scene())
