"""Parses times in arguments and formats them for tables. UTC, unless an argument has an offset. JSON:
`util/iso_time.py`.

The library dateparser is not used, because it adds 0.2 s to a command of 0.1 s and guesses ambiguous dates
(03/04/2026).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from kconf.errors import ConfigurationError
from kconf.util.iso_time import EPOCH

TIME_HELP: Final = "2026-11-15T09:30, 'yesterday 14:00', '2 days ago', monday, 2h; UTC unless it has an offset"
"""The formats of TIME, for --help."""

_UNITS: Final = {
    "seconds": ("s", "sec", "secs", "second"),
    "minutes": ("m", "min", "mins", "minute"),
    "hours": ("h", "hr", "hrs", "hour"),
    "days": ("d", "day"),
    "weeks": ("w", "week"),
}
_UNIT_OF: Final = {word: unit for unit, words in _UNITS.items() for word in (*words, unit)}
_AMOUNT: Final = re.compile(r"(\d{1,9}|an?)\s*([a-z]+)(?:\s*,)?(?:\s+and)?\s*")
_CLOCK: Final = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d))?")
_DAYS: Final = {"today": 0, "yesterday": 1}
_NAMES: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEKDAYS: Final = {word: number for number, name in enumerate(_NAMES) for word in (name, name[:3])}


def parse_time(text: str, now: datetime | None = None) -> datetime:
    """Parse a time. The result has a time zone."""
    at = (now or datetime.now(UTC)).astimezone(UTC)
    word = " ".join(text.lower().split())
    try:
        found = _relative(word, at) or _of_day(word, at) or _absolute(text.strip())
    except (ValueError, OverflowError):
        found = None
    if found is None:
        raise ConfigurationError(
            f"{text!r} is not a time; use a date (2026-11-15, '2026-11-15 09:30', 2026-11-15T09:30+01:00), a time of "
            "today (09:30), a day (today, yesterday, monday, 'yesterday 14:00'), how long ago it was (2h, 1h30m, "
            "'2 days ago', 'an hour ago', 'last week'; units are seconds, minutes, hours, days, weeks), now, or "
            "milliseconds since 1970. A time without an offset is in UTC"
        )
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def is_epoch(text: str) -> bool:
    """Whether a number is a time in milliseconds since 1970: 13 digits, from 2001 to 2286."""
    return len(text) == 13 and text.isascii() and text.isdigit()


def _relative(word: str, now: datetime) -> datetime | None:
    """Parse `now`, `2 days ago`, `2h`, `1h 30min ago`, `an hour ago`, `last week`."""
    if word == "now":
        return now
    if word.startswith("last ") and word.removeprefix("last ") in _UNIT_OF:
        word = word.replace("last", "a", 1)
    amounts = word.removeprefix("-").removesuffix(" ago").strip()
    if not amounts or not re.fullmatch(f"(?:{_AMOUNT.pattern})+", amounts):
        return None
    before = now
    for number, unit in _AMOUNT.findall(amounts):
        if unit not in _UNIT_OF:
            return None
        before -= timedelta(**{_UNIT_OF[unit]: int(number) if number.isdigit() else 1})
    return before


def _of_day(word: str, now: datetime) -> datetime | None:
    """Parse `09:30`, `today`, `yesterday at 14:00`, `monday 8:00`. A weekday is the last one before today."""
    first, _, rest = word.removeprefix("last ").partition(" ")
    if word.startswith("last ") and first not in _WEEKDAYS:
        return None
    if _CLOCK.fullmatch(word):
        first, rest = "today", word
    if first in _DAYS:
        day = now - timedelta(days=_DAYS[first])
    elif first in _WEEKDAYS:
        day = now - timedelta(days=(now.weekday() - _WEEKDAYS[first] - 1) % 7 + 1)
    else:
        return None
    clock = _CLOCK.fullmatch(rest.removeprefix("at ") or "0:00")
    if clock is None:
        return None
    hour, minute, second = (int(each or 0) for each in clock.groups())
    return day.replace(hour=hour, minute=minute, second=second, microsecond=0)


def _absolute(text: str) -> datetime:
    """Parse ISO 8601, also with a space before the offset, or milliseconds since 1970."""
    if is_epoch(text):
        return EPOCH + timedelta(milliseconds=int(text))
    return datetime.fromisoformat(re.sub(r"(?<=\d) (?=[Zz+-]|UTC$)", "", text).replace("UTC", "Z"))


def format_time(time: datetime | None) -> str:
    """Format a time for tables."""
    return "" if time is None else time.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
