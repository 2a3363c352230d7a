"""ZooKeeper is killed and restarted, its leader is killed, or a session expires, while several servers get changes.

Reads continue, and writes are refused with a retriable error. Afterwards all servers agree: every acknowledged change
was made exactly once, and no refused change was made.
"""

from __future__ import annotations

import json
import urllib.request

import pytest
from kazoo.client import KazooClient

from lab.java import LabError
from lab.zookeeper import Ensemble, ZooKeeper, expire
from tests.adversity.fleet import KEY, Caller, Fleet, calling, check, check_state, until
from tests.support.admin import SET, TOPIC, Admin
from tests.support.process import KconfProcess

TOPICS = ("lost-1", "lost-2", "lost-shared")


@pytest.mark.parametrize("times", [1, pytest.param(2, marks=pytest.mark.faults)])
def test_no_change_is_lost_when_zookeeper_is_killed_and_restarted(times: int) -> None:
    with ZooKeeper() as zookeeper, Fleet(zookeeper.url("/killed"), 2) as fleet:
        fleet.create(*TOPICS)
        callers = _callers(fleet)
        with calling(callers):
            for _ in range(times):
                _wait(callers, 20)
                zookeeper.kill()
                until(lambda: "ok" not in map(_health, fleet.servers))
                for server in fleet.servers:
                    _reads_and_refuses(server)
                zookeeper.start()
                until(lambda: {"ok"} == set(map(_health, fleet.servers)))
            _wait(callers, 20)
        _check(fleet, callers)
        assert all(each.codes["REQUEST_TIMED_OUT"] for each in callers)
        assert all(server.log().count("a commit failed") < 20 for server in fleet.servers), "a flooded log"


@pytest.mark.faults
def test_no_change_is_lost_when_the_leader_of_three_is_killed(zookeeper_ensemble: Ensemble, chroot: str) -> None:
    with Fleet(zookeeper_ensemble.url(chroot), 2) as fleet:
        fleet.create(*TOPICS)
        callers = _callers(fleet)
        with calling(callers):
            _wait(callers, 20)
            leader = zookeeper_ensemble.leader
            leader.kill()
            try:
                until(lambda: _has_leader(zookeeper_ensemble))
                _wait(callers, 20)
            finally:
                leader.start()
            _wait(callers, 20)
        _check(fleet, callers)


def test_no_change_is_lost_when_a_session_expires(zookeeper: ZooKeeper, chroot: str) -> None:
    with Fleet(zookeeper.url(chroot), 2) as fleet:
        fleet.create(*TOPICS)
        callers = _callers(fleet)
        with calling(callers):
            for number in (1, 2):
                _wait(callers, 20)
                _expire(zookeeper, chroot, number)
                _wait(callers, 20)
        _check(fleet, callers)


@pytest.mark.faults
def test_no_acknowledged_change_is_lost_when_a_server_is_killed(zookeeper: ZooKeeper, chroot: str) -> None:
    """Its acknowledged changes exist, others are complete or absent, and the other servers notice that it is gone."""
    with Fleet(zookeeper.url(chroot), 2) as fleet:
        fleet.create(*TOPICS)
        callers = _callers(fleet)
        with calling(callers):
            _wait(callers, 20)
            fleet.servers[1].kill()
            until(lambda: _session(zookeeper, chroot, 2) == 0)
            fleet.servers[1].start()
            _wait(callers, 20)
        _check(fleet, callers)


@pytest.mark.parametrize("server_comes_back", [False, pytest.param(True, marks=pytest.mark.faults)])
def test_a_server_can_stop_but_not_start_without_zookeeper(server_comes_back: bool) -> None:
    """A start fails with a clear message."""
    with ZooKeeper() as zookeeper, Fleet(zookeeper.url("/alone"), 1) as fleet:
        (server,) = fleet.servers
        zookeeper.kill()
        assert server.stop() == 0
        if server_comes_back:
            zookeeper.start()
            server.start()
            assert _health(server) == "ok"
        else:
            with pytest.raises(RuntimeError, match=r"kconf ended with 1:\n(.*\n)*kconf: .*ZooKeeper") as raised:
                KconfProcess(store=zookeeper.url("/alone"), timeout=60).start()
            assert "Traceback" not in str(raised.value)


def _callers(fleet: Fleet) -> list[Caller]:
    """Each server has callers that change their own topic, and a topic that both change."""
    own = [Caller(server, topic) for server, topic in zip(fleet.servers, TOPICS, strict=False)]
    return [*own, *(Caller(server, TOPICS[-1]) for server in fleet.servers)]


def _wait(callers: list[Caller], more: int) -> None:
    for each in callers:
        each.wait_for(more)


def _check(fleet: Fleet, callers: list[Caller]) -> None:
    revisions = fleet.journals()
    check(revisions, callers)
    check_state(fleet, revisions, TOPICS)


def _reads_and_refuses(server: KconfProcess) -> None:
    """Check that reads are answered and writes refused while ZooKeeper is down."""
    with Admin(server.bootstrap, timeout=60) as admin:
        assert admin.describe((TOPIC, TOPICS[0]))[0].error_code == 0
        assert {admin.alter((TOPIC, TOPICS[0]), (KEY, SET, "1")).error_code for _ in range(20)} == {7}


def _expire(zookeeper: ZooKeeper, chroot: str, node_id: int) -> None:
    """Expire the session of a server, and wait until it has a new one."""
    before = _session(zookeeper, chroot, node_id)
    expire(zookeeper.address, before)
    until(lambda: _session(zookeeper, chroot, node_id) not in (0, before))


def _health(server: KconfProcess) -> object:
    assert server.metrics_url is not None
    with urllib.request.urlopen(server.metrics_url.replace("/metrics", "/health"), timeout=60) as answer:
        return json.load(answer)["status"]


def _has_leader(ensemble: Ensemble) -> bool:
    try:
        return ensemble.leader is not None
    except LabError:
        return False


def _session(zookeeper: ZooKeeper, chroot: str, node_id: int) -> int:
    """The ID of a server's current session; 0 if it is not registered."""
    client = KazooClient(hosts=zookeeper.address)
    client.start(timeout=120)
    try:
        found = client.exists(f"{chroot}/kconf/servers/{node_id}")
        return int(found.ephemeralOwner) if found else 0
    finally:
        client.stop()
        client.close()
