"""Kafka's rates and the resulting throttle times. Callers pass the time.

`Rate` is for request_percentage and connection_creation_rate: sums in windows of time, over all of which the rate is
measured. `MutationQuota` is for controller_mutation_rate, on a token bucket. Times are milliseconds of any monotonic
clock; delays are whole milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor

from kconf.util.token_bucket import TokenBucket


@dataclass(frozen=True, slots=True)
class Windows:
    """quota.window.num and quota.window.size.seconds, or controller.quota.window.num and …size.seconds."""

    count: int = 11
    seconds: int = 1

    @property
    def ms(self) -> int:
        return self.seconds * 1000

    def token_bucket(self) -> TokenBucket:
        """The capacity of the token bucket: the quota times all windows, as in Kafka."""
        return TokenBucket(self.count * self.seconds)


class _Sample:
    __slots__ = ("last", "start", "total")

    def __init__(self, now: float) -> None:
        self.reset(now)

    def reset(self, now: float) -> None:
        self.start = self.last = now
        self.total = 0.0


class Rate:
    """A sum per second over sliding windows, as Kafka's `Rate`: one sample more than there are windows."""

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
        """The rate per second now."""
        span = self._span(now)
        return sum(sample.total for sample in self._samples) / (span / 1000)

    def delay(self, bound: float, now: float, *, longest: float) -> int:
        """How long to wait until the rate is not above its bound; 0 if it is not."""
        span = self._span(now)
        rate = sum(sample.total for sample in self._samples) / (span / 1000)
        if not rate > bound:
            return 0
        return floor(min((rate - bound) / bound * span, longest) + 0.5)  # Java's Math.round

    def _span(self, now: float) -> float:
        """The milliseconds that the samples cover: at least all windows except the current one."""
        windows = self._windows
        for sample in self._samples:
            if now - sample.last >= windows.count * windows.ms:
                sample.reset(now)
        elapsed = now - min((sample.start for sample in self._samples), default=now)
        missing = windows.count - 1 - int(elapsed // windows.ms)
        return max(elapsed + max(missing, 0) * windows.ms, 1)


class MutationQuota:
    """The controller_mutation_rate quota of one request that creates or deletes partitions.

    Strict (API versions with THROTTLING_QUOTA_EXCEEDED): while the bucket is below zero every topic is refused; the
    one that takes it below zero is accepted without a throttle time. Otherwise all are accepted, and the client is
    throttled afterwards. A topic is charged once, even if its plan is made again.
    """

    def __init__(self, bucket: TokenBucket, rate: float, *, strict: bool, now: float) -> None:
        self._bucket, self._rate, self._strict, self._now = bucket, rate, strict, now
        self._decided: dict[object, bool] = {}
        self.delay_ms = 0

    def charge(self, what: object, cost: int) -> bool:
        """Whether `what` is accepted, at the cost of so many partitions."""
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
