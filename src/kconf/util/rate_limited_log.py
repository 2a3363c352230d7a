"""Log lines that strangers can cause, at a bounded rate: what is left out is counted and told with the next one."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic

_PER_SECOND = 5.0
_BURST = 20.0


class RateLimitedLogger:
    """A logger that does not let itself be flooded."""

    def __init__(
        self, log: logging.Logger, level: int = logging.WARNING, clock: Callable[[], float] = monotonic
    ) -> None:
        self._log, self._level, self._clock = log, level, clock
        self._left, self._filled = _BURST, clock()
        self._dropped = 0

    def log(self, line: str, *facts: object) -> None:
        now = self._clock()
        self._left = min(_BURST, self._left + (now - self._filled) * _PER_SECOND)
        self._filled = now
        if self._left < 1:
            self._dropped += 1
            return
        self._left -= 1
        if self._dropped:
            self._log.log(self._level, "%d lines like the next one were left out", self._dropped)
            self._dropped = 0
        self._log.log(self._level, line, *facts)
