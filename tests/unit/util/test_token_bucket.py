"""The token bucket: Kafka's arithmetic for mutation quotas, and a plain limit for log lines."""

from __future__ import annotations

from kconf.util.token_bucket import TokenBucket


def test_a_bucket_begins_full_refills_steadily_and_never_overflows() -> None:
    bucket = TokenBucket(11)

    assert bucket.tokens(2.0, 1_000_000) == 22
    bucket.spend(30, 2.0, 1_000_000)
    assert bucket.tokens(2.0, 1_000_000) == -8
    assert bucket.delay(2.0, 1_000_000) == 4_000
    assert bucket.tokens(2.0, 1_003_000) == -2
    assert bucket.delay(2.0, 1_004_000) == 0
    assert bucket.tokens(2.0, 9_000_000) == 22


def test_a_lower_quota_lowers_the_capacity_of_a_bucket() -> None:
    bucket = TokenBucket(11)

    assert bucket.tokens(10.0, 0) == 110
    assert bucket.tokens(1.0, 0) == 11


def test_a_limited_caller_gets_the_burst_and_then_the_rate() -> None:
    bucket = TokenBucket(4)  # 20 tokens at 5 per second

    assert [bucket.try_spend(1, 5.0, 0) for _ in range(21)] == [True] * 20 + [False]
    assert not bucket.try_spend(1, 5.0, 199)
    assert bucket.try_spend(1, 5.0, 200)
    assert bucket.tokens(5.0, 200) == 0  # a refused call costs nothing
