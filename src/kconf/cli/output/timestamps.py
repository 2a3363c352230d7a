"""Points in time as arguments: `2026-11-15T09:30`, `09:30`, `2h ago`, `now`; UTC, or with an offset."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from kconf.errors import ConfigurationError

_AGO: Final = re.compile(r"-?(\d{1,9})\s*([smhdw])(?:\s+ago)?")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_time(text: str, now: datetime | None = None) -> datetime:
    """A point in time, with its zone."""
    at = now or datetime.now(UTC)
    word = text.strip()
    if word == "now":
        return at
    ago = _AGO.fullmatch(word)
    try:
        if ago is not None:
            return at - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        if re.fullmatch(r"\d\d:\d\d(:\d\d)?", word):
            word = f"{at.date().isoformat()}T{word}"
        found = datetime.fromisoformat(word)
    except (ValueError, OverflowError):
        raise ConfigurationError(
            f"{text!r} is no time; write 2026-11-15, 2026-11-15T09:30, 09:30, 2h ago or now (UTC, or with an offset)"
        ) from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def format_time(time: datetime | None) -> str:
    """A point in time for tables, in UTC."""
    return "" if time is None else time.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def raw(time: datetime | None) -> str | None:
    """A point in time for JSON and CSV."""
    return None if time is None else time.astimezone(UTC).isoformat().replace("+00:00", "Z")
