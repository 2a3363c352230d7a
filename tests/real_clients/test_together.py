"""Several concurrent clients, and clients whose server restarts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import confluent_kafka.admin
import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaConnectionError, NodeNotReadyError
from kafka import errors
from kafka.admin import ConfigResource, KafkaAdminClient

from tests.support.admin import APPEND, SET, TOPIC, Admin
from tests.support.process import KconfProcess

library: Any = confluent_kafka.admin  # its names are not exported to type checkers
AdminClient, ConfluentResource, ConfigEntry = library.AdminClient, library.ConfigResource, library.ConfigEntry
LIST = "follower.replication.throttled.replicas"


def append_with_kafka_python(address: str, topic: str, item: str) -> None:
    client: Any = KafkaAdminClient(bootstrap_servers=address)
    said = client.alter_configs([ConfigResource("topic", topic, {LIST: ("append", item)})])
    client.close()
    assert said == {"topic": {topic: "OK"}}


def append_with_confluent_kafka(address: str, topic: str, item: str) -> None:
    client: Any = AdminClient({"bootstrap.servers": address})
    entry = ConfigEntry(LIST, item, incremental_operation=library.AlterConfigOpType.APPEND)
    requested = ConfluentResource("topic", topic, incremental_configs=[entry])
    for future in client.incremental_alter_configs([requested]).values():
        future.result(60)


def append_with_a_socket(address: str, topic: str, item: str) -> None:
    with Admin(address) as client:
        assert client.alter((TOPIC, topic), (LIST, APPEND, item)).error_code == 0


Append = Callable[[str, str, str], None]


def test_no_update_is_lost_when_many_clients_change_one_list(server: KconfProcess, topic: str) -> None:
    """The motivation of KIP-339: read-modify-write loses updates, operations do not."""
    appends: list[Append] = [append_with_kafka_python, append_with_confluent_kafka, append_with_a_socket]
    requests = [(appends[number % 3], f"{number}:1") for number in range(30)]
    with Admin(server.bootstrap) as admin, ThreadPoolExecutor(6) as pool:
        admin.create(topic)

        done = [pool.submit(append, server.bootstrap, topic, item) for append, item in requests]
        for each in done:
            each.result(60)

        assert set(admin.overrides(topic)[LIST].split(",")) == {item for _, item in requests}


def test_an_acknowledged_change_is_visible_to_other_clients_at_once(server: KconfProcess, topic: str) -> None:
    python: Any = KafkaAdminClient(bootstrap_servers=server.bootstrap)
    confluent: Any = AdminClient({"bootstrap.servers": server.bootstrap})
    python.create_topics([topic])
    for number in range(1, 51):
        python.alter_configs([ConfigResource("topic", topic, {"segment.ms": str(number)})], raise_on_unknown=False)
        (seen,) = confluent.describe_configs([ConfluentResource("topic", topic)]).values()

        assert seen.result(60)["segment.ms"].value == str(number)
    python.close()


def test_concurrently_created_topics_all_exist(server: KconfProcess, topic: str) -> None:
    async def create(number: int) -> int:
        client: Any = AIOKafkaAdminClient(bootstrap_servers=server.bootstrap)
        await client.start()
        try:
            answer = await client.create_topics([NewTopic(f"{topic}-{number}", 1, 1), NewTopic(topic, 1, 1)])
            codes: dict[str, int] = {name: code for name, code, _ in answer.topic_errors}
            return codes[topic]
        finally:
            await client.close()

    async def create_all() -> list[int]:
        return await asyncio.gather(*(create(number) for number in range(10)))

    codes = asyncio.run(create_all())

    with Admin(server.bootstrap) as admin:
        known = {each.name for each in admin.ask("Metadata", 12, topics=None).topics}
    assert sorted(codes) == [0] + [36] * 9
    assert {f"{topic}-{number}" for number in range(10)} <= known


Restart = Callable[[KconfProcess], None]


def stopped(server: KconfProcess) -> None:
    server.restart()


def killed(server: KconfProcess) -> None:
    server.kill()
    server.start()


@pytest.mark.parametrize("restart", [killed, pytest.param(stopped, marks=pytest.mark.faults)])
def test_clients_reconnect_to_a_restarted_server_with_every_acknowledged_change(
    own_server: KconfProcess, topic: str, restart: Restart
) -> None:
    """The same client objects, port and store, but a new process."""
    python: Any = KafkaAdminClient(bootstrap_servers=own_server.bootstrap)
    confluent: Any = AdminClient({"bootstrap.servers": own_server.bootstrap, "reconnect.backoff.max.ms": 200})
    with Admin(own_server.bootstrap) as admin:
        admin.create(topic, partitions=3, configs={"segment.ms": "5"})
        before = admin.describe((TOPIC, topic))
    cluster = python.describe_cluster()["cluster_id"]
    confluent.list_topics(timeout=60)
    pid = own_server.pid

    restart(own_server)

    assert own_server.pid != pid
    found = confluent.describe_configs([ConfluentResource("topic", topic)], request_timeout=120)
    (entries,) = [future.result(60) for future in found.values()]
    assert entries["segment.ms"].value == "5"
    assert _once_connected(python.describe_cluster)["cluster_id"] == cluster
    assert len(python.describe_topics([topic])[0]["partitions"]) == 3
    with Admin(own_server.bootstrap) as admin:
        assert admin.describe((TOPIC, topic)) == before
        assert admin.alter((TOPIC, topic), ("segment.ms", SET, "6")).error_code == 0
    python.close()


def _once_connected(call: Callable[[], Any]) -> Any:
    """kafka-python raises between two attempts to connect, and keeps trying."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return call()
        except (errors.KafkaConnectionError, errors.NodeNotReadyError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def test_aiokafka_reconnects_to_a_restarted_server(own_server: KconfProcess) -> None:
    async def talk() -> tuple[list[str], list[str]]:
        client: Any = AIOKafkaAdminClient(bootstrap_servers=own_server.bootstrap)
        await client.start()
        try:
            await client.create_topics([NewTopic("kept", 1, 1)])
            before = await client.list_topics()
            await asyncio.to_thread(own_server.restart)
            return before, await _until_answered(client)
        finally:
            await client.close()

    before, after = asyncio.run(talk())

    assert (before, after) == (["kept"], ["kept"])


async def _until_answered(client: Any) -> list[str]:
    """aiokafka raises for the first call after a lost connection, and connects again for the next."""
    async with asyncio.timeout(20):
        while True:
            try:
                names: list[str] = await client.list_topics()
            except (KafkaConnectionError, NodeNotReadyError):
                await asyncio.sleep(0.02)
                continue
            return names
