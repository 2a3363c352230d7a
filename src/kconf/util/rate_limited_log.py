"""A rate-limited logger for messages that clients can cause. Suppressed messages are counted."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic
from typing import Final

from kconf.util.token_bucket import TokenBucket

PER_SECOND: Final = 5.0
BURST: Final = 20


class RateLimitedLogger:
    """Logs at one level, at most `per_second` messages per second after a burst of `burst`."""

    def __init__(
        self,
        log: logging.Logger,
        level: int = logging.WARNING,
        clock: Callable[[], float] = monotonic,
        *,
        per_second: float = PER_SECOND,
        burst: int = BURST,
    ) -> None:
        self._log, self._level, self._clock, self._per_second = log, level, clock, per_second
        self._bucket = TokenBucket(burst / per_second)
        self._suppressed = 0

    def log(self, line: str, *facts: object) -> None:
        self.log_lazily(lambda: (line, *facts))

    def exception(self, line: str, *facts: object) -> None:
        """Log a message with the traceback of the exception that is being handled."""
        self.log_lazily(lambda: (line, *facts), has_traceback=True)

    def log_lazily(self, make: Callable[[], tuple[object, ...]], *, has_traceback: bool = False) -> bool:
        """Log a message with its arguments, as returned by `make`.

        Returns False if it is suppressed; `make` is then not called.
        """
        if not self._bucket.try_spend(1, self._per_second, self._clock() * 1000):
            self._suppressed += 1
            return False
        if self._suppressed:
            self._log.log(self._level, "suppressed %d similar messages", self._suppressed)
            self._suppressed = 0
        line, *facts = make()
        self._log.log(self._level, line, *facts, exc_info=has_traceback)
        return True

    @property
    def is_exhausted(self) -> bool:
        """Whether a message would be suppressed now."""
        return self._bucket.tokens(self._per_second, self._clock() * 1000) < 1

    def suppress(self, lines: int) -> None:
        """Count messages as suppressed."""
        self._suppressed += lines
