"""Long work alternates with everything else on the event loop. Only slices advance the clock, for exact results."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from itertools import count
from typing import Any

import pytest

from kconf.util.slice_scheduler import SliceScheduler, is_sliced
from kconf.util.slices import STEP, discard, in_slices, steps


def every_step() -> SliceScheduler:
    """A scheduler whose slices end at the first pause."""
    ticks = count()
    return SliceScheduler(lambda: float(next(ticks)), rest=0.0)


async def work(name: str, items: int, log: list[str]) -> str:
    for number, _ in enumerate(in_slices(range(items))):
        if number % STEP == 0:
            log.append(name)
    return name


async def beside(busy: Coroutine[object, object, str], log: list[str]) -> str:
    """The result of some work; `log` gets a dot for every iteration of the loop meanwhile."""
    task = asyncio.ensure_future(busy)
    while not task.done():
        log.append(".")
        await asyncio.sleep(0)
    return await task


def test_other_tasks_run_between_any_two_slices() -> None:
    log: list[str] = []

    async def scene() -> str:
        return await beside(every_step().run("ada", work("a", 5 * STEP, log)), log)

    assert asyncio.run(scene()) == "a"
    told = "".join(log)
    assert told.count("a") == 5
    assert "aa" not in told


def test_principals_take_turns_whatever_the_number_of_their_connections() -> None:
    log: list[str] = []

    async def scene() -> None:
        scheduler = every_step()
        many = [scheduler.run("ada", work("a", 20 * STEP, log)) for _ in range(5)]
        await asyncio.gather(*many, scheduler.run("bob", work("b", 20 * STEP, log)))

    asyncio.run(scene())
    last = "".join(log).rindex("b")
    assert 15 <= log[:last].count("a") <= 25


@pytest.mark.parametrize("is_busy", [True, False])
def test_slices_pause_while_a_thread_is_busy(is_busy: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit in a thread needs the interpreter lock, which the slices would otherwise hold."""
    rests: list[float] = []
    now = 0.0

    async def sliced() -> None:
        nonlocal now
        for _ in in_slices(range(3 * STEP)):
            now += 1.0 / STEP

    async def scene() -> None:
        loop = asyncio.get_running_loop()

        def later(seconds: float, call: Callable[[], None]) -> asyncio.Handle:
            rests.append(seconds)
            return loop.call_soon(call)

        monkeypatch.setattr(loop, "call_later", later)
        await SliceScheduler(lambda: now, lambda: now, rest=3.0, is_busy=lambda: is_busy).run("ada", sliced())

    asyncio.run(scene())
    assert rests == ([3.0] * 3 if is_busy else [])


@pytest.mark.parametrize("is_own", [True, False], ids=["another request", "another process"])
def test_slices_pause_while_other_requests_are_processed(is_own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """CPU time of other processes does not count, because no request of this process waits for it."""
    rests: list[float] = []
    now = used = 0.0

    async def sliced() -> None:
        nonlocal now
        for _ in in_slices(range(3 * STEP)):
            now += 1.0 / STEP

    def others() -> None:
        nonlocal now, used
        now += 0.5
        used += 0.5 if is_own else 0.0

    async def scene() -> None:
        loop = asyncio.get_running_loop()
        soon = loop.call_soon

        def call_soon(callback: Callable[..., object], *values: object, **options: Any) -> asyncio.Handle:
            soon(others)
            return soon(callback, *values, **options)

        def later(seconds: float, call: Callable[[], None]) -> asyncio.Handle:
            rests.append(seconds)
            return soon(call)

        work = SliceScheduler(lambda: now, lambda: used, rest=3.0).run("ada", sliced())
        monkeypatch.setattr(loop, "call_soon", call_soon)
        monkeypatch.setattr(loop, "call_later", later)
        await work

    asyncio.run(scene())
    assert bool(rests) == is_own


def test_the_connections_of_an_owner_take_turns() -> None:
    log: list[str] = []

    async def scene() -> None:
        scheduler = every_step()
        await asyncio.gather(*(scheduler.run("ada", work(name, 9 * STEP, log)) for name in "xyz"))

    asyncio.run(scene())
    assert Counter(log) == dict.fromkeys("xyz", 9)
    for length in range(len(log)):
        done = [log[:length].count(name) for name in "xyz"]
        assert max(done) - min(done) <= 2, "".join(log)


def test_an_await_inside_the_work_is_awaited() -> None:
    async def sleepy() -> bool:
        await asyncio.sleep(0)
        return is_sliced()

    assert asyncio.run(every_step().run("ada", sleepy()))
    assert not is_sliced()


def test_an_exception_of_the_work_is_raised_and_the_next_work_has_its_turn() -> None:
    async def scene() -> str:
        scheduler = every_step()

        async def fails() -> None:
            for number in in_slices(range(3 * STEP)):
                if number == 2 * STEP:
                    raise ValueError("wrong")

        with pytest.raises(ValueError, match="wrong"):
            await scheduler.run("ada", fails())
        return await scheduler.run("ada", work("next", STEP, []))

    assert asyncio.run(scene()) == "next"


@pytest.mark.parametrize("turns", range(1, 9))
def test_work_that_is_cancelled_at_any_time_does_not_block_the_next(turns: int) -> None:
    begun: list[str] = []
    ended: list[str] = []

    async def cancelled() -> None:
        begun.append("begun")
        try:
            await work("a", 20 * STEP, [])
        finally:
            ended.append("ended")

    async def scene() -> str:
        scheduler = every_step()
        task = asyncio.ensure_future(scheduler.run("ada", cancelled()))
        other = asyncio.ensure_future(scheduler.run("bob", work("b", 20 * STEP, [])))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(ended) == len(begun)
        return await other

    assert asyncio.run(scene()) == "b"


def test_a_short_call_returns_its_result_and_a_long_one_a_coroutine() -> None:
    def total(items: int) -> int:
        return sum(in_slices(range(items)))

    async def scene() -> tuple[int, int]:
        scheduler = every_step()
        short = scheduler.call("ada", lambda: total(STEP))
        long = scheduler.call("ada", lambda: total(10 * STEP))
        assert isinstance(short, int)
        assert isinstance(long, Coroutine)
        return short, await long

    assert asyncio.run(scene()) == (sum(range(STEP)), sum(range(10 * STEP)))


def test_admitted_requests_are_limited_in_bytes_and_a_larger_one_runs_alone() -> None:
    inside: list[tuple[str, int]] = []

    async def scene() -> None:
        scheduler = SliceScheduler(max_admitted=100)

        async def request(owner: str, size: int) -> None:
            async with scheduler.admitted(owner, size):
                inside.append((owner, scheduler.admitted_bytes))
                await asyncio.sleep(0)

        await asyncio.gather(request("a", 60), request("a", 60), request("b", 500), request("c", 40))
        assert scheduler.admitted_bytes == 0

    asyncio.run(scene())
    assert [owner for owner, _ in inside] == ["a", "a", "b", "c"]
    assert ("b", 500) in inside
    assert all(size <= 100 for owner, size in inside if owner != "b")


def test_a_client_that_disconnects_while_it_waits_is_removed() -> None:
    async def scene() -> None:
        scheduler = SliceScheduler(max_admitted=100)
        waiting: list[asyncio.Future[None]] = []

        async def request() -> None:
            async with scheduler.admitted("a", 80, lambda turn: waiting.append(turn) if turn else None):
                await asyncio.sleep(0.01)

        first, second, third = (asyncio.ensure_future(request()) for _ in range(3))
        await asyncio.sleep(0)
        waiting[1].cancel()
        done = await asyncio.gather(first, second, third, return_exceptions=True)
        assert [type(each) for each in done] == [type(None), asyncio.CancelledError, type(None)]
        assert scheduler.admitted_bytes == 0

    asyncio.run(scene())


def test_a_request_that_begins_to_wait_releases_its_bytes_once() -> None:
    async def scene() -> None:
        scheduler = SliceScheduler(max_admitted=100)
        async with scheduler.admitted("a", 80) as leave:
            leave()
            leave()
            assert scheduler.admitted_bytes == 0
            async with scheduler.admitted("a", 80):
                assert scheduler.admitted_bytes == 80
        assert scheduler.admitted_bytes == 0

    asyncio.run(scene())


@pytest.mark.parametrize("size", [0, 1, STEP, STEP + 1, 3 * STEP])
def test_in_slices_yields_the_same_elements(size: int) -> None:
    items = list(range(size))

    def sizes() -> Iterator[int]:
        yield from steps(size)

    assert list(in_slices(items)) == items
    assert sum(sizes()) == size
    discard(items)
    assert items == []
