"""Rates, tokens and delays (broker-semantics 6.8 to 6.10). Time is an argument: nothing here waits."""

from __future__ import annotations

import pytest

from kconf.engine.quotas.rates import MutationQuota, Rate, Windows

WINDOWS = Windows(count=11, seconds=1)
LONGEST = 1000.0


def test_a_burst_is_measured_over_ten_windows() -> None:
    """The current window is full, and the nine or ten before it count as idle."""
    rate = Rate(WINDOWS)
    rate.record(200, now=5_000)

    assert rate.measure(5_000) == 200 / 10
    assert rate.measure(5_500) == 200 / 10.5
    assert rate.measure(6_000) == 200 / 10
    assert rate.delay(20.0, 5_000, longest=LONGEST) == 0


def test_the_delay_lowers_the_rate_to_the_quota() -> None:
    rate = Rate(WINDOWS)
    rate.record(202, now=0)

    assert rate.delay(20.0, 0, longest=LONGEST) == 100  # (20.2 - 20) / 20 of ten seconds
    assert rate.delay(10.0, 0, longest=LONGEST) == LONGEST
    assert rate.delay(10.0, 0, longest=1e9) == 10_200


def test_a_steady_rate_is_measured_accurately() -> None:
    rate = Rate(WINDOWS)
    for second in range(60):
        rate.record(50, now=second * 1000)

    assert rate.measure(59_000) == pytest.approx(50, rel=0.1)


def test_samples_older_than_eleven_windows_are_dropped() -> None:
    rate = Rate(WINDOWS)
    rate.record(1_000, now=0)

    assert rate.measure(10_999) > 0
    assert rate.measure(11_000) == 0


def test_the_rate_is_0_if_nothing_was_recorded() -> None:
    assert Rate(WINDOWS).measure(123) == 0
    assert Rate(WINDOWS).delay(1.0, 123, longest=LONGEST) == 0


def test_a_rate_over_a_single_window_is_measured_over_at_least_a_millisecond() -> None:
    rate = Rate(Windows(count=1, seconds=1))
    rate.record(1, now=0)

    assert rate.measure(0) == 1000  # at least a millisecond


def test_a_bound_that_is_not_a_number_is_never_exceeded() -> None:
    rate = Rate(WINDOWS)
    rate.record(1e12, now=0)

    assert rate.delay(float("nan"), 0, longest=LONGEST) == 0


def test_a_strict_request_is_refused_while_tokens_are_owed() -> None:
    """Kafka's own test: 2 per second in 10 windows; of two topics with 30 partitions, one is created, one must wait 5
    s.
    """
    bucket = Windows(count=10, seconds=1).token_bucket()
    quota = MutationQuota(bucket, 2.0, strict=True, now=0)

    assert [quota.charge(name, 30) for name in ("one", "two")] == [True, False]
    assert quota.delay_ms == 5_000

    later = MutationQuota(bucket, 2.0, strict=True, now=5_000)
    assert later.charge("two", 30)
    assert later.delay_ms == 0


def test_an_older_request_is_accepted_and_throttled_afterwards() -> None:
    quota = MutationQuota(Windows(count=10, seconds=1).token_bucket(), 2.0, strict=False, now=0)

    assert [quota.charge(name, 30) for name in ("one", "two")] == [True, True]
    assert quota.delay_ms == 20_000


def test_a_topic_that_is_planned_again_is_charged_once() -> None:
    bucket = WINDOWS.token_bucket()
    quota = MutationQuota(bucket, 2.0, strict=True, now=0)

    assert [quota.charge("one", 5) for _ in range(3)] == [True, True, True]
    assert bucket.tokens(2.0, 0) == 17
