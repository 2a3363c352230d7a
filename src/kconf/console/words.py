"""Times, ages and counts as text."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

_STEPS: Final = ((60, "s"), (60, "min"), (24, "h"), (10_000, "d"))


def age_text(seconds: float | None) -> str:
    """`4 s`, `12 min`, `3 h`, `5 d`."""
    if seconds is None:
        return "never"
    amount = seconds
    for step, unit in _STEPS:
        if amount < step:
            return f"{int(amount)} {unit}"
        amount /= step
    return f"{int(amount)} d"


def time_cell(milliseconds: int | None) -> str:
    """A time (milliseconds) in UTC, to the second."""
    return "" if milliseconds is None else _utc(milliseconds).strftime("%Y-%m-%d %H:%M:%S")


def short_time(milliseconds: int | None) -> str:
    """A time to the minute."""
    return "" if milliseconds is None else _utc(milliseconds).strftime("%Y-%m-%d %H:%M")


def day(milliseconds: int | None) -> str:
    """The day of a time."""
    return "" if milliseconds is None else _utc(milliseconds).strftime("%Y-%m-%d")


def plural(count: int, word: str) -> str:
    """`1 topic`, `2 topics`, `10,000 topics`."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _utc(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
