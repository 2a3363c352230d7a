"""Points in time as text: the one form that JSON, CSV and log lines have."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final, overload

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@overload
def iso_time(time: datetime | int) -> str: ...
@overload
def iso_time(time: datetime | int | None) -> str | None: ...
def iso_time(time: datetime | int | None) -> str | None:
    """A point in time for JSON, CSV and logs; a number is milliseconds since 1970.

    The width is fixed, `2026-11-16T04:00:04.000000Z`, so that the order of the texts is that of the times.
    """
    if time is None:
        return None
    moment = EPOCH + timedelta(milliseconds=time) if isinstance(time, int) else time.astimezone(UTC)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
