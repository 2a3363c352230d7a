"""Readers are woken a few at a time, with pauses while writers are active."""

from __future__ import annotations

import asyncio

from kconf.server.journal.wake_queue import AT_ONCE, Reader, WakeQueue


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def readers(count: int) -> list[Reader]:
    loop = asyncio.get_running_loop()
    return [loop.create_future() for _ in range(count)]


def woken(some: list[Reader]) -> int:
    return sum(each.done() for each in some)


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_each_turn_of_the_loop_wakes_a_few_readers_until_all_are_woken() -> None:
    async def scene() -> None:
        queue, some, per_turn = WakeQueue(Clock()), readers(10 * AT_ONCE), []
        queue.committed()
        queue.add(some, 7)
        before = 0
        while len(queue):
            per_turn.append(woken(some) - before)
            before = woken(some)
            await asyncio.sleep(0)
        assert max(per_turn) == AT_ONCE
        assert {each.result() for each in some} == {7}

    asyncio.run(scene())


def test_readers_are_woken_with_pauses_while_commits_follow_each_other() -> None:
    async def scene() -> None:
        clock = Clock()
        queue, some = WakeQueue(clock), readers(3 * AT_ONCE)
        queue.committed()
        clock.now += 0.01
        queue.committed()
        queue.add(some, 7)
        clock.now += 0.05  # the duration of the first ones, so the next pause is 0.4 s
        await turns(20)
        assert woken(some) == AT_ONCE

        queue.wake_all()
        assert woken(some) == 3 * AT_ONCE

    asyncio.run(scene())


def test_a_reader_that_is_added_twice_is_woken_once_with_the_first_position() -> None:
    async def scene() -> None:
        clock = Clock()
        queue, some = WakeQueue(clock), readers(2 * AT_ONCE)
        queue.committed()
        queue.committed()
        queue.add(some, 7)
        queue.add(some[AT_ONCE:], 8)
        assert len(queue) == AT_ONCE
        queue.wake_all()
        assert {each.result() for each in some} == {7}

    asyncio.run(scene())


def test_a_reader_that_went_away_is_not_woken() -> None:
    async def scene() -> None:
        queue, some = WakeQueue(Clock()), readers(2 * AT_ONCE)
        queue.committed()
        queue.committed()
        queue.add(some, 7)
        queue.remove(some[-1])
        queue.wake_all()
        assert woken(some) == 2 * AT_ONCE - 1
        assert not some[-1].done()

    asyncio.run(scene())
