"""The times of the journal when the clock is set."""

from __future__ import annotations

import pytest

from kconf.util.journal_clock import JournalClock

MINUTE = 60.0


class Clocks:
    """A clock that can be set, and one that cannot."""

    def __init__(self) -> None:
        self.wall, self.passed = 1000 * MINUTE, 0.0
        self.journal = JournalClock(lambda: self.wall, lambda: self.passed)

    def wait(self, seconds: float) -> None:
        self.wall += seconds
        self.passed += seconds

    def next(self) -> float:
        """The next journal time, in minutes since the start."""
        return self.journal.next() / 1000 / MINUTE - 1000


def test_times_do_not_decrease_after_a_small_step_back(caplog: pytest.LogCaptureFixture) -> None:
    clocks = Clocks()
    assert clocks.next() == 0
    clocks.wall -= MINUTE

    assert clocks.next() == 0
    clocks.wait(1.5 * MINUTE)
    assert clocks.next() == 0.5
    assert caplog.text == ""


def test_revisions_have_the_true_time_again_after_the_clock_was_ahead(caplog: pytest.LogCaptureFixture) -> None:
    clocks = Clocks()
    assert clocks.next() == 0
    clocks.wall += 60 * MINUTE
    assert clocks.next() == 60
    clocks.wait(MINUTE)
    clocks.wall -= 60 * MINUTE

    assert clocks.next() == 1
    clocks.wait(MINUTE)
    assert clocks.next() == 2
    assert [each.getMessage() for each in caplog.records] == [
        "the clock was set ahead by 3600 s",
        "the clock was set back by 3600 s",
        (
            "the last revision is 3540 s ahead of the clock: the clock was ahead then or is behind now;"
            " the next revision uses the clock's time"
        ),
    ]


def test_waiting_is_not_a_jump(caplog: pytest.LogCaptureFixture) -> None:
    clocks = Clocks()
    clocks.wait(10_000 * MINUTE)

    assert clocks.next() == 10_000
    assert caplog.text == ""


def test_a_future_time_in_the_journal_of_another_server_is_not_adopted() -> None:
    clocks = Clocks()
    clocks.journal.latest = round((1000 + 60) * MINUTE * 1000)
    assert clocks.next() == 0

    clocks.journal.latest = round((1000 + 0.5) * MINUTE * 1000)
    assert clocks.next() == 0.5
