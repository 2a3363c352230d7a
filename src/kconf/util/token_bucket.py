"""A token bucket. The caller passes the time.

Used for controller_mutation_rate (with Kafka's arithmetic, see `TokenBucket` in Kafka's `metrics.stats`), for the audit
log, and for log lines that unauthenticated clients can cause. Times are milliseconds of any monotonic clock.
"""

from __future__ import annotations

from math import floor


class TokenBucket:
    """Refills at a rate in tokens per second, holds at most the tokens of `burst_seconds`, and starts full.

    The rate is an argument of each call, because a quota may change at any time. The bucket can be overdrawn.
    """

    __slots__ = ("_burst_seconds", "_last", "_tokens")

    def __init__(self, burst_seconds: float) -> None:
        self._burst_seconds = burst_seconds
        self._tokens = float("inf")
        self._last = 0.0

    def tokens(self, rate: float, now: float) -> float:
        """The tokens available now; negative while the bucket is overdrawn."""
        capacity = self._burst_seconds * rate
        self._tokens = min(capacity, self._tokens + rate * (now - self._last) / 1000)
        self._last = now
        return self._tokens

    def spend(self, cost: float, rate: float, now: float) -> None:
        """Take tokens, even more than available."""
        self._tokens = self.tokens(rate, now) - cost

    def try_spend(self, cost: float, rate: float, now: float) -> bool:
        """Take tokens if there are enough."""
        if self.tokens(rate, now) < cost:
            return False
        self._tokens -= cost
        return True

    def delay(self, rate: float, now: float) -> int:
        """Whole milliseconds until the bucket is no longer overdrawn."""
        tokens = self.tokens(rate, now)
        return floor(-tokens / rate * 1000 + 0.5) if tokens < 0 else 0  # Java's Math.round
