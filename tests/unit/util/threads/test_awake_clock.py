"""The clock that does not count the time in which the process could not run."""

from __future__ import annotations

from kconf.util.threads.awake_clock import TICK, AwakeClock


class Time:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_regular_ticks_count_as_awake_time() -> None:
    time = Time()
    clock = AwakeClock(time)
    for _ in range(40):
        time.now += TICK
        clock.tick()
    assert clock.now() == 40 * TICK
    time.now += TICK / 2
    assert clock.now() == 40.5 * TICK


def test_a_pause_of_the_process_does_not_count_beyond_two_ticks() -> None:
    time = Time()
    clock = AwakeClock(time)
    time.now += 3600
    assert clock.now() == 2 * TICK
    clock.tick()
    assert clock.now() == 2 * TICK


def test_the_clock_ticks_by_itself_until_it_is_closed() -> None:
    clock = AwakeClock()
    clock.start()
    while clock.now() <= 2 * TICK:  # without a tick it would stop there
        pass
    clock.close()
    clock._thread.join()
