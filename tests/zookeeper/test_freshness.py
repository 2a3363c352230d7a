"""Reads right after a change on any server, and responses of a server that lost its session."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import urlsplit

from kazoo.client import KazooClient

from kconf import AlterConfigOp, OpType, Resource, SyncAdminClient
from kconf.protocol.apis import BY_NAME
from kconf.protocol.headers import read_response
from kconf.protocol.messages.describe_configs import DescribeConfigsResource
from tests.feed.reading import until
from tests.support.admin import SET, TOPIC, Admin
from tests.support.process import KconfProcess
from tests.zookeeper.conftest import Serve
from tests.zookeeper.test_away import health

SOON = 60.0
KEY = "log.retention.ms"
TIMED_OUT = 7
REFUSE = {"refuse.stale.reads": "true"}


def put(value: int) -> list[AlterConfigOp]:
    return [AlterConfigOp(OpType.SET, KEY, str(value))]


def value_of(client: SyncAdminClient, resource: Resource) -> str | None:
    entries = client.describe_configs([resource])[resource].entries
    return next(entry.value for entry in entries if entry.name == KEY)


def test_a_client_reads_its_own_writes_on_every_server(serve: Serve) -> None:
    """The change goes to one server, and the next describe to the other one."""
    one, _ = serve(1), serve(2)
    everywhere, second = Resource.brokers(), Resource.broker(2)
    with SyncAdminClient(one.bootstrap) as client:
        until(lambda: sorted(client.describe_cluster().nodes) == [1, 2], SOON)
        found = []
        for number in range(1, 101):
            client.incremental_alter_configs({everywhere: put(number)}).raise_for_failures()
            found.append(value_of(client, second))

    assert found == [str(number) for number in range(1, 101)]


def test_a_client_with_the_required_revision_of_another_reads_its_writes(serve: Serve) -> None:
    one, other = serve(1), serve(2)
    everywhere = Resource.brokers()
    with SyncAdminClient(one.bootstrap) as writer, SyncAdminClient(other.bootstrap) as reader:
        found = []
        for number in range(1, 101):
            writer.incremental_alter_configs({everywhere: put(number)}).raise_for_failures()
            reader.required_revision = writer.required_revision
            found.append(value_of(reader, everywhere))

    assert found == [str(number) for number in range(1, 101)]


@contextmanager
def stopped(servers: Sequence[KconfProcess], znodes: KazooClient) -> Iterator[None]:
    """Stop the processes until their sessions have expired."""
    for each in servers:
        os.kill(each.pid, signal.SIGSTOP)
    try:
        for each in servers:
            until(lambda each=each: znodes.exists(f"/kconf/servers/{each.node_id}") is None, SOON)  # type: ignore[misc]
        yield
    finally:
        for each in servers:
            os.kill(each.pid, signal.SIGCONT)


class HealthRequest:
    """A request to /health that is sent now and answered later."""

    def __init__(self, server: KconfProcess) -> None:
        address = urlsplit(str(server.metrics_url))
        self._socket = socket.create_connection((str(address.hostname), int(address.port or 0)), timeout=60)
        self._socket.sendall(b"GET /health HTTP/1.1\r\n\r\n")

    def answer(self) -> Any:
        with self._socket, self._socket.makefile("rb") as file:
            return json.loads(file.read().partition(b"\r\n\r\n")[2])


def test_a_server_paused_until_its_session_expired_marks_old_values_as_stale_at_once(
    serve: Serve, znodes: KazooClient
) -> None:
    frozen, refusing, awake = serve(1), serve(2, properties=REFUSE), serve(3)
    orders = DescribeConfigsResource(TOPIC, "orders", ["retention.ms"])
    with ExitStack() as stack:
        admins = [stack.enter_context(Admin(each.bootstrap)) for each in (frozen, refusing, awake)]
        waiting = {each: [stack.enter_context(Admin(each.bootstrap)) for _ in range(10)] for each in (frozen, refusing)}
        admins[2].create("orders", configs={"retention.ms": "1"})
        for each in admins:
            until(lambda each=each: each.describe((TOPIC, "orders"))[0].error_code == 0, SOON)  # type: ignore[misc]
        with stopped([frozen, refusing], znodes):
            admins[2].alter((TOPIC, "orders"), ("retention.ms", SET, "2"))
            asked = [HealthRequest(frozen), HealthRequest(refusing)]
            for wires in waiting.values():
                for wire in wires:
                    wire.send_request("DescribeConfigs", 4, resources=[orders])

        told = {server: [_described(wire) for wire in wires] for server, wires in waiting.items()}
        assert [each for each in told[frozen] if each not in (("1", True), ("2", False), ("2", True))] == []
        assert [each for each in told[refusing] if each not in ((TIMED_OUT, False), ("2", False))] == []
        for request in asked:
            said = request.answer()
            assert (said["status"], said["revision"]) in (("stale", 1), ("stale", 2), ("ok", 2))

        for server, admin in zip((frozen, refusing), admins, strict=False):
            until(lambda server=server: bool(health(server)["status"] == "ok"), SOON)  # type: ignore[misc]
            admin.send_request("DescribeConfigs", 4, resources=[orders])
            assert _described(admin) == ("2", False)


def _described(wire: Admin) -> tuple[object, bool]:
    """The value or the error code, and whether the response is marked as possibly stale."""
    _, answer = read_response(BY_NAME["DescribeConfigs"], 4, wire.receive())
    (result,) = answer.results
    return result.error_code or result.configs[0].value, answer.stale
