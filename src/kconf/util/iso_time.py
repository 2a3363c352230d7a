"""Formats times for JSON, CSV and log lines."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final, overload

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@overload
def iso_time(time: datetime | int) -> str: ...
@overload
def iso_time(time: datetime | int | None) -> str | None: ...
def iso_time(time: datetime | int | None) -> str | None:
    """Format a time for JSON, CSV and logs. A number is milliseconds since 1970.

    The width is fixed, `2026-11-16T04:00:04.000000Z`, so that text order is time order.
    """
    if time is None:
        return None
    utc = EPOCH + timedelta(milliseconds=time) if isinstance(time, int) else time.astimezone(UTC)
    return utc.isoformat(timespec="microseconds").replace("+00:00", "Z")
