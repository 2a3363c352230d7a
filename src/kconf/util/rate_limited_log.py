"""A logger for lines that unauthenticated clients can cause: its rate is bounded, and suppressed lines are counted."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic
from typing import Final

from kconf.util.token_bucket import TokenBucket

PER_SECOND: Final = 5.0
BURST: Final = 20


class RateLimitedLogger:
    """Logs at one level, at most `PER_SECOND` lines per second after a burst of `BURST`."""

    def __init__(
        self, log: logging.Logger, level: int = logging.WARNING, clock: Callable[[], float] = monotonic
    ) -> None:
        self._log, self._level, self._clock = log, level, clock
        self._bucket = TokenBucket(BURST / PER_SECOND)
        self._suppressed = 0

    def log(self, line: str, *facts: object) -> None:
        if not self._bucket.try_spend(1, PER_SECOND, self._clock() * 1000):
            self._suppressed += 1
            return
        if self._suppressed:
            self._log.log(self._level, "%d lines like the next one were left out", self._suppressed)
            self._suppressed = 0
        self._log.log(self._level, line, *facts)
