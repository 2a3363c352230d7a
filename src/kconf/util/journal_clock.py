"""The times of journal entries: those of the clock, without its small steps back, and with its large ones.

A clock that was set back by up to a minute does not take the journal back: the next entries have the time of the last
one. A larger step means that the clock was wrong before: the next entry has the clock's time, which is earlier than the
last one's, and the step is logged. The order of entries is that of their numbers, not of their times.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from logging import getLogger
from typing import Final

log = getLogger(__name__)

MAX_STEP: Final = 60_000  # milliseconds


def _since_boot() -> float:
    """Seconds, those of a suspended machine included where the system counts them."""
    boottime: int | None = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boottime is None else time.clock_gettime(boottime)


class JournalClock:
    """`latest` is the time of the last entry, 0 if there is none."""

    def __init__(self, clock: Callable[[], float] = time.time, elapsed: Callable[[], float] = _since_boot) -> None:
        self.latest = 0
        self._clock, self._elapsed = clock, elapsed
        self._offset = self._difference()

    def now(self) -> int:
        """Milliseconds since 1970, by the clock."""
        return int(self._clock() * 1000)

    def next(self) -> int:
        """The time of the next entry, which is then the last one."""
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
        """Compare the clock with the time that has passed since the last call."""
        offset = self._difference()
        jumped, self._offset = offset - self._offset, offset
        if abs(jumped) > MAX_STEP:
            log.warning("the clock was set %s by %d s", "ahead" if jumped > 0 else "back", abs(jumped) // 1000)

    def _difference(self) -> int:
        return self.now() - int(self._elapsed() * 1000)
