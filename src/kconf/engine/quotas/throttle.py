"""How fast someone goes, and how long they must wait: Kafka's measures, without a clock of their own.

`Rate` is for request_percentage and connection_creation_rate: sums in windows of time, judged over all of them.
`TokenBucket` is for controller_mutation_rate: tokens come back steadily, and may be overdrawn once. Times are
milliseconds of any clock that does not go back; delays are whole milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor


@dataclass(frozen=True, slots=True)
class Windows:
    """quota.window.num and quota.window.size.seconds, or the same of the controller."""

    count: int = 11
    seconds: int = 1

    @property
    def ms(self) -> int:
        return self.seconds * 1000


class _Sample:
    __slots__ = ("last", "start", "total")

    def __init__(self, now: float) -> None:
        self.reset(now)

    def reset(self, now: float) -> None:
        self.start = self.last = now
        self.total = 0.0


class Rate:
    """A sum per second over sliding windows, as Kafka's `Rate` has it: one sample more than there are windows."""

    __slots__ = ("_current", "_samples", "_windows")

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._samples: list[_Sample] = []
        self._current = 0

    def record(self, amount: float, now: float) -> None:
        sample = self._sample(now)
        sample.total += amount
        sample.last = now

    def _sample(self, now: float) -> _Sample:
        if not self._samples:
            self._samples.append(_Sample(now))
        sample = self._samples[self._current]
        if now - sample.start < self._windows.ms:
            return sample
        self._current = (self._current + 1) % (self._windows.count + 1)
        if self._current == len(self._samples):
            self._samples.append(_Sample(now))
        else:
            self._samples[self._current].reset(now)
        return self._samples[self._current]

    def measure(self, now: float) -> float:
        """Per second, now."""
        span = self._span(now)
        return sum(sample.total for sample in self._samples) / (span / 1000)

    def delay(self, bound: float, now: float, *, longest: float) -> int:
        """How long to wait until the rate is down at its bound: 0 while it is not above it."""
        span = self._span(now)
        rate = sum(sample.total for sample in self._samples) / (span / 1000)
        if not rate > bound:
            return 0
        return java_round(min((rate - bound) / bound * span, longest))

    def _span(self, now: float) -> float:
        """The milliseconds that the samples stand for: never less than all windows but the one under way."""
        windows = self._windows
        for sample in self._samples:
            if now - sample.last >= windows.count * windows.ms:
                sample.reset(now)
        elapsed = now - min((sample.start for sample in self._samples), default=now)
        missing = windows.count - 1 - int(elapsed // windows.ms)
        return max(elapsed + max(missing, 0) * windows.ms, 1)


class TokenBucket:
    """Holds as many tokens as all windows bring; begins full."""

    __slots__ = ("_last", "_tokens", "_windows")

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._tokens = float("inf")
        self._last = 0.0

    def tokens(self, rate: float, now: float) -> float:
        most = self._windows.count * self._windows.seconds * rate
        self._tokens = min(most, self._tokens + rate * (now - self._last) / 1000)
        self._last = now
        return self._tokens

    def spend(self, cost: float, rate: float, now: float) -> None:
        """Take tokens out, also more than there are."""
        self._tokens = self.tokens(rate, now) - cost

    def delay(self, rate: float, now: float) -> int:
        """How long to wait until nothing is owed."""
        tokens = self.tokens(rate, now)
        return java_round(-tokens / rate * 1000) if tokens < 0 else 0


class MutationQuota:
    """What one request that makes or deletes partitions may still spend.

    Strict (the versions that know THROTTLING_QUOTA_EXCEEDED): what is asked for while tokens are owed is refused, and
    granting the last of them costs no time. Otherwise everything is granted, and the debt is waited for afterwards.
    A topic is charged once, however often its plan is made.
    """

    def __init__(self, bucket: TokenBucket, rate: float, *, strict: bool, now: float) -> None:
        self._bucket, self._rate, self._strict, self._now = bucket, rate, strict, now
        self._decided: dict[object, bool] = {}
        self.delay_ms = 0

    def charge(self, what: object, cost: int) -> bool:
        """Whether `what` may be done, for so many partitions."""
        granted = self._decided.get(what)
        if granted is None:
            granted = self._decided[what] = self._charge(cost)
        return granted

    def _charge(self, cost: int) -> bool:
        bucket, rate, now = self._bucket, self._rate, self._now
        if self._strict:
            owed = bucket.delay(rate, now)
            if bucket.tokens(rate, now) < 0:
                self.delay_ms = owed
                return False
            bucket.spend(cost, rate, now)
        else:
            bucket.spend(cost, rate, now)
            self.delay_ms = bucket.delay(rate, now)
        return True


def java_round(value: float) -> int:
    """Java's Math.round: halves go up."""
    return floor(value + 0.5)
