"""When a gateway considers its brokers lost."""

from __future__ import annotations

import http.client
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from kconf.errors import ConnectionFailed, KconfError, NotAuthorized, RequestTimedOut
from kconf.store.upstream import broker_watch
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


def test_an_unexpected_error_makes_the_gateway_stale_until_the_brokers_can_be_checked_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Changes are refused meanwhile, since the gateway would not notice that the brokers are lost."""
    monkeypatch.setattr(broker_watch, "_RETRY", 0.0)
    brokers = Brokers()
    problems: list[str | None] = []
    is_done = threading.Event()

    def read(_timeout: float) -> None:
        problems.append(brokers.watch.problem)
        if len(problems) < 3:
            raise http.client.BadStatusLine("from an HTTP server")
        is_done.set()

    brokers.cluster.read = read
    brokers.watch.start()
    brokers.watch.check()
    assert is_done.wait(60)
    brokers.watch.close()
    assert problems[0] is None
    assert all("cannot be checked because of an internal error" in (each or "") for each in problems[1:])
    assert (brokers.watch.problem, brokers.notified) == (None, 2)
    assert {each.exc_info[0] for each in caplog.records if each.exc_info} == {http.client.BadStatusLine}


def test_another_cluster_and_new_static_configs_are_reported() -> None:
    brokers = Brokers()
    brokers.cluster.read = lambda _timeout: setattr(brokers.cluster, "problem", "the brokers belong to cluster other")
    assert brokers.step() == ("the brokers belong to cluster other", 1)
    brokers.cluster.read = lambda _timeout: setattr(brokers.cluster, "static", {"log.retention.ms": "1"})
    assert brokers.step()[1] == 2
