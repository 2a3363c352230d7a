"""Delays between attempts."""

from __future__ import annotations

from kconf.client.retries import RetryPolicy


def test_a_delay_doubles_with_each_failure_up_to_its_maximum() -> None:
    policy = RetryPolicy(backoff=0.1, backoff_max=1.0)

    assert [round(policy.delay(failures, 0.5), 6) for failures in (1, 2, 3, 4, 5, 1000)] == [0.1, 0.2, 0.4, 0.8, 1, 1]


def test_jitter_is_twenty_percent_up_and_down() -> None:
    policy = RetryPolicy(backoff=1.0, backoff_max=1.0)

    assert (policy.delay(1, 0.0), round(policy.delay(1, 1.0), 6)) == (0.8, 1.2)
