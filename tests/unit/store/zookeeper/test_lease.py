"""The lease of a session expires by the clock alone, and an expiry is always noticed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kconf.store.zookeeper.lease import SessionLease


class Scene:
    """A lease of 6 seconds, a clock and a ZooKeeper that the test controls."""

    def __init__(self) -> None:
        self.now = 100.0
        self.asked: list[Callable[[], None]] = []
        self.gaps: list[bool] = []
        self.lease = SessionLease(self.asked.append, lambda: self.gaps.append(self.lease.is_held), lambda: self.now)
        self.lease.start(6.0)
        self.lease.stop()


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_a_lease_ends_one_timeout_after_the_last_answered_request(scene: Scene) -> None:
    scene.now += 5.9
    assert scene.lease.is_held
    scene.lease.renew()
    scene.asked.pop()()
    scene.now += 5.9
    assert scene.lease.is_held
    scene.now += 0.1
    assert not scene.lease.is_held
    assert scene.gaps == []


def test_a_lease_counts_from_when_the_request_was_sent(scene: Scene) -> None:
    scene.lease.renew()
    scene.now += 5.0
    scene.asked.pop()()
    scene.now += 1.0

    assert not scene.lease.is_held


def test_a_response_received_before_a_long_pause_does_not_renew_the_lease(scene: Scene) -> None:
    """The response was in the socket while the process was stopped."""
    scene.lease.renew()
    scene.now += 60.0
    scene.asked.pop()()

    assert not scene.lease.is_held
    assert scene.gaps == []


def test_an_expired_lease_reports_the_gap_before_it_is_held_again(scene: Scene) -> None:
    scene.now += 60.0
    scene.lease.renew()
    scene.asked.pop()()

    assert scene.lease.is_held
    assert scene.gaps == [False]  # the callback runs before the lease is held again
