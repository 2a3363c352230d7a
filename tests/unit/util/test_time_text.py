"""Times in command arguments and in JSON."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from kconf.cli.common.history_output import milliseconds
from kconf.errors import ConfigurationError
from kconf.util.iso_time import iso_time
from kconf.util.time_text import parse_time

NOW = datetime(2026, 11, 18, 10, 15, 30, 500_000, tzinfo=UTC)  # a Wednesday


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("now", "2026-11-18T10:15:30.500000Z"),
        ("2h", "2026-11-18T08:15:30.500000Z"),
        ("2h ago", "2026-11-18T08:15:30.500000Z"),
        ("2 days ago", "2026-11-16T10:15:30.500000Z"),
        ("2  Days ago", "2026-11-16T10:15:30.500000Z"),
        ("1min ago", "2026-11-18T10:14:30.500000Z"),
        ("1 minute ago", "2026-11-18T10:14:30.500000Z"),
        ("an hour ago", "2026-11-18T09:15:30.500000Z"),
        ("1h30m", "2026-11-18T08:45:30.500000Z"),
        ("1 hour and 30 minutes ago", "2026-11-18T08:45:30.500000Z"),
        ("2 weeks ago", "2026-11-04T10:15:30.500000Z"),
        ("10 secs ago", "2026-11-18T10:15:20.500000Z"),
        ("today", "2026-11-18T00:00:00.000000Z"),
        ("today 14:00", "2026-11-18T14:00:00.000000Z"),
        ("today at 9:05", "2026-11-18T09:05:00.000000Z"),
        ("yesterday", "2026-11-17T00:00:00.000000Z"),
        ("Yesterday 23:59:58", "2026-11-17T23:59:58.000000Z"),
        ("monday", "2026-11-16T00:00:00.000000Z"),
        ("last friday 8:00", "2026-11-13T08:00:00.000000Z"),
        ("wednesday", "2026-11-11T00:00:00.000000Z"),
        ("fri 8:00", "2026-11-13T08:00:00.000000Z"),
        ("last week", "2026-11-11T10:15:30.500000Z"),
        ("last hour", "2026-11-18T09:15:30.500000Z"),
        ("09:30", "2026-11-18T09:30:00.000000Z"),
        ("2026-11-15", "2026-11-15T00:00:00.000000Z"),
        ("2026-11-15 09:30", "2026-11-15T09:30:00.000000Z"),
        ("2026-11-15 09:30 UTC", "2026-11-15T09:30:00.000000Z"),
        ("2026-11-15 09:30 +02:00", "2026-11-15T07:30:00.000000Z"),
        ("2026-11-15T09:30:00.123456Z", "2026-11-15T09:30:00.123456Z"),
        ("1794733204000", "2026-11-15T09:00:04.000000Z"),
    ],
)
def test_a_time_is_read_as_people_write_it(text: str, time: str) -> None:
    assert iso_time(parse_time(text, NOW)) == time


@pytest.mark.parametrize(
    "text",
    [
        *("", "whenever", "2", "2 apples ago", "ago", "25:00", "today 25:00", "yesterday morning", "last apple"),
        *("2026-13-01", "179473320400", "99999999w ago", "03/04/2026", "2 days ago 14:00", "-"),
    ],
)
def test_an_ambiguous_time_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a time; use a date"):
        parse_time(text, NOW)


def test_json_times_have_one_width_and_sort_as_text() -> None:
    times = [NOW.replace(microsecond=each) for each in (0, 1, 20, 300_000, 999_999)]
    texts = [iso_time(each) for each in times]

    assert texts == sorted(texts)
    assert {len(each) for each in texts} == {len("2026-11-16T04:00:04.000000Z")}
    assert iso_time(NOW.astimezone(timezone(timedelta(hours=2)))) == iso_time(NOW)
    assert iso_time(1_794_733_204_005) == "2026-11-15T09:00:04.005000Z"
    assert iso_time(None) is None


def test_a_printed_time_reads_back_as_the_same_millisecond() -> None:
    times = range(1_794_733_204_000, 1_794_733_205_000)

    assert [milliseconds(iso_time(each)) for each in times] == list(times)
