"""The times of journal entries: the time of the clock, corrected for small steps back.

If the clock was set back by up to a minute, the next entries get the time of the last one. A larger step means that the
clock was wrong before: the next entry gets the clock's time, which is earlier than that of the last entry, and the step
is logged. Entries are ordered by their numbers, not by their times.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from logging import getLogger
from typing import Final

log = getLogger(__name__)

MAX_STEP: Final = 60_000  # milliseconds


def _since_boot() -> float:
    """Seconds since boot, including suspended time if the system supports it."""
    boottime: int | None = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boottime is None else time.clock_gettime(boottime)


class JournalClock:
    """`latest` is the time of the last entry, or 0 if there is none."""

    def __init__(self, clock: Callable[[], float] = time.time, elapsed: Callable[[], float] = _since_boot) -> None:
        self.latest = 0
        self._clock, self._elapsed = clock, elapsed
        self._offset = self._difference()

    def now(self) -> int:
        """The clock's time in milliseconds since 1970."""
        return int(self._clock() * 1000)

    def next(self) -> int:
        """Return the time for a new entry."""
        now = self.now()
        self._log_jump()
        if now < self.latest - MAX_STEP:
            log.warning(
                "the last revision is %d s ahead of the clock: the clock was ahead then or is behind now; the next "
                "revision uses the clock's time",
                (self.latest - now) // 1000,
            )
        elif now < self.latest:
            now = self.latest
        self.latest = now
        return now

    def _log_jump(self) -> None:
        """Log a clock step: compare the clock with the time that has passed since the last call."""
        offset = self._difference()
        jumped, self._offset = offset - self._offset, offset
        if abs(jumped) > MAX_STEP:
            log.warning("the clock was set %s by %d s", "ahead" if jumped > 0 else "back", abs(jumped) // 1000)

    def _difference(self) -> int:
        return self.now() - int(self._elapsed() * 1000)
