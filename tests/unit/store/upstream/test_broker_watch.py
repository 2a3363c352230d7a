"""When a gateway considers its brokers lost."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from kconf.errors import ConnectionFailed, KconfError, NotAuthorized, RequestTimedOut
from kconf.store.upstream.broker_watch import BrokerWatch


class Brokers:
    """`error` is the response to DescribeCluster, `broken` that of one broker to requests about its configs."""

    def __init__(self) -> None:
        self.error: KconfError | None = None
        self.broken: KconfError | None = None
        self.notified = 0
        facts: dict[str, Any] = {"problem": None, "static": {}, "release": "4.3", "keys": {}}
        cluster: Any = SimpleNamespace(**facts, read=self._read, learn_keys=lambda *_: False)
        self.cluster = cluster
        client: Any = SimpleNamespace(describe_cluster=self._describe)
        self.watch = BrokerWatch(client, cluster, tuple, self._notify)

    def _describe(self, timeout: float) -> None:
        if self.error is not None:
            raise self.error

    def _read(self, timeout: float) -> None:
        if self.broken is not None:
            raise self.broken

    def _notify(self) -> None:
        self.notified += 1

    def step(self) -> tuple[str | None, int]:
        self.watch._step()
        return self.watch.problem, self.notified


@pytest.mark.parametrize("error", [ConnectionFailed("refused"), RequestTimedOut("no response")])
def test_brokers_that_do_not_respond_are_lost_until_they_do(error: KconfError) -> None:
    brokers = Brokers()
    assert brokers.step() == (None, 0)
    brokers.error = error
    assert brokers.step() == (f"no broker of the cluster responds: {error}", 1)
    assert brokers.step()[1] == 1
    brokers.error = None
    assert brokers.step() == (None, 2)


def test_the_gateway_has_no_problem_while_only_one_broker_does_not_respond() -> None:
    brokers = Brokers()
    brokers.broken = ConnectionFailed("refused")
    assert brokers.step() == (None, 0)


def test_brokers_that_refuse_to_describe_the_cluster_are_not_lost() -> None:
    brokers = Brokers()
    brokers.error = NotAuthorized("no")
    assert brokers.step() == (None, 0)


def test_an_unexpected_error_makes_the_gateway_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes are refused, since nobody checks the brokers any more."""
    ended: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", ended.append)
    brokers = Brokers()
    brokers.cluster.read = lambda _timeout: 1 // 0
    brokers.watch.start()
    brokers.watch.check()
    brokers.watch._thread.join(60)
    assert brokers.notified == 1
    assert "are not checked any more because of an internal error" in (brokers.watch.problem or "")
    assert [each.exc_type for each in ended] == [ZeroDivisionError]


def test_another_cluster_and_new_static_configs_are_reported() -> None:
    brokers = Brokers()
    brokers.cluster.read = lambda _timeout: setattr(brokers.cluster, "problem", "the brokers belong to cluster other")
    assert brokers.step() == ("the brokers belong to cluster other", 1)
    brokers.cluster.read = lambda _timeout: setattr(brokers.cluster, "static", {"log.retention.ms": "1"})
    assert brokers.step()[1] == 2
