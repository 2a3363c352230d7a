"""The lab's real ZooKeeper: restarts with its data, loss of the leader, expired sessions."""

from __future__ import annotations

import queue
import time

import pytest
from kazoo.client import KazooClient

from lab.java import LabError
from lab.zookeeper import Ensemble, ZooKeeper, expire
from tests.support.targets import one_of


@pytest.mark.parametrize("end", one_of(ZooKeeper.kill, [ZooKeeper.stop]))
def test_a_restarted_server_has_its_port_and_its_data(end: object) -> None:
    with ZooKeeper() as server:
        port, client = server.port, _client(server.address)
        client.create("/kept", b"as it was")
        assert callable(end)
        end(server)
        assert server.mode() is None
        server.start()

        assert (server.port, server.mode()) == (port, "standalone")
        assert client.retry(client.get, "/kept")[0] == b"as it was"
        _close(client)


def test_a_session_of_another_client_expires(zookeeper: ZooKeeper, chroot: str) -> None:
    client = _client(zookeeper.address)
    client.create(chroot, b"", ephemeral=True)
    states: queue.Queue[str] = queue.Queue()
    client.add_listener(states.put)

    expire(zookeeper.address, client.get(chroot)[1].ephemeralOwner)

    assert [states.get(timeout=120) for _ in range(3)] == ["SUSPENDED", "LOST", "CONNECTED"]
    assert client.retry(client.exists, chroot) is None
    _close(client)


def test_a_session_that_is_not_there_cannot_expire(zookeeper: ZooKeeper) -> None:
    with pytest.raises(LabError, match="There is no session 0x1234"):
        expire(zookeeper.address, 0x1234)


def test_an_ensemble_elects_another_leader_when_its_leader_is_killed(zookeeper_ensemble: Ensemble, chroot: str) -> None:
    client = _client(zookeeper_ensemble.address)
    client.create(chroot, b"as it was")
    first = zookeeper_ensemble.leader
    first.kill()
    second = _next_leader(zookeeper_ensemble)
    kept = client.retry(client.get, chroot)[0]
    first.start()

    assert second is not first
    assert kept == b"as it was"
    assert sorted(str(each.mode()) for each in zookeeper_ensemble.members) == ["follower", "follower", "leader"]
    _close(client)


def test_a_frozen_server_does_not_respond_until_it_is_resumed() -> None:
    with ZooKeeper() as server:
        server.freeze()
        silent = server.ask("ruok", timeout=0.2)
        server.thaw()

        assert (silent, server.ask("ruok", timeout=120)) == ("", "imok")


def _client(address: str) -> KazooClient:
    client = KazooClient(hosts=address, connection_retry={"max_tries": -1}, command_retry={"max_tries": -1})
    client.start(timeout=120)
    return client


def _close(client: KazooClient) -> None:
    client.stop()
    client.close()


def _next_leader(ensemble: Ensemble) -> ZooKeeper:
    deadline = time.monotonic() + 60
    while True:
        try:
            return ensemble.leader
        except LabError:
            assert time.monotonic() < deadline, "no leader in 60 s"
            time.sleep(0.02)
