"""Log lines at a limited rate; the test controls the clock."""

from __future__ import annotations

import logging

import pytest

from kconf.util.rate_limited_log import BURST, PER_SECOND, RateLimitedLogger


def test_lines_beyond_the_burst_are_counted_and_reported_with_the_next_line(caplog: pytest.LogCaptureFixture) -> None:
    now = 1000.0
    limited = RateLimitedLogger(logging.getLogger("limited"), clock=lambda: now)
    for number in range(BURST + 3):
        limited.log("line %d", number)
    now += 1 / PER_SECOND
    limited.log("line %s", "after")

    lines = [record.getMessage() for record in caplog.records]
    assert lines[:BURST] == [f"line {number}" for number in range(BURST)]
    assert lines[BURST:] == ["suppressed 3 similar messages", "line after"]


def test_the_traceback_of_an_exception_is_logged_if_the_line_is(caplog: pytest.LogCaptureFixture) -> None:
    limited = RateLimitedLogger(logging.getLogger("limited"), clock=lambda: 0.0, burst=1)
    for _ in range(2):
        try:
            raise ValueError("a value")
        except ValueError:
            limited.exception("cannot read %s", "it")
    (record,) = caplog.records
    assert record.getMessage() == "cannot read it"
    assert record.exc_info is not None
    assert record.exc_info[0] is ValueError
