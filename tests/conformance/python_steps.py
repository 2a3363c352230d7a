"""The same steps with three Python clients, each on one server: confluent-kafka (librdkafka), kafka-python, aiokafka.

An outcome is the return value of a client as text, or the code or class of its error.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import aiokafka.admin
import confluent_kafka.admin
import kafka.admin
from aiokafka.admin.config_resource import ConfigResource as AioResource
from aiokafka.admin.config_resource import ConfigResourceType
from confluent_kafka import KafkaException, TopicPartition

rdkafka: Any = confluent_kafka.admin  # its names are not exported to type checkers


class Step(NamedTuple):
    """`is_read`: a real broker may lag behind, so the request is repeated."""

    name: str
    action: Callable[[], object]
    is_read: bool = False

    def outcome(self) -> str:
        try:
            return str(self.action())
        except KafkaException as error:
            return f"error {error.args[0].code()}"
        except Exception as error:  # a client's own classes, which name the code
            return type(error).__name__


class PlainLogin(NamedTuple):
    """By SASL/PLAIN over TLS; `ca` is a PEM file."""

    ca: str
    user: str
    password: str


def with_librdkafka(address: str, login: PlainLogin | None = None) -> Iterable[Step]:
    topic = "rdkafka"
    settings = {"bootstrap.servers": address}
    if login is not None:
        settings |= {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "ssl.ca.location": login.ca}
        settings |= {"sasl.username": login.user, "sasl.password": login.password}
    client = rdkafka.AdminClient(settings)
    partition = TopicPartition(topic, 0)

    def create(name: str, **configs: str) -> object:
        wanted = rdkafka.NewTopic(name, 2, 1, config={key.replace("_", "."): value for key, value in configs.items()})
        return client.create_topics([wanted])[name].result(60)

    def entry(key: str) -> object:
        (future,) = client.describe_configs([rdkafka.ConfigResource("topic", topic)]).values()
        found = future.result(60)[key]
        return found.value, found.source, found.is_read_only

    def alter(value: str) -> object:
        change = rdkafka.ConfigEntry("retention.ms", value, incremental_operation=rdkafka.AlterConfigOpType.SET)
        wanted = rdkafka.ConfigResource("topic", topic, incremental_configs=[change])
        (future,) = client.incremental_alter_configs([wanted]).values()
        return future.result(60)

    def grow(count: int) -> object:
        return client.create_partitions([rdkafka.NewPartitions(topic, count)])[topic].result(60)

    def offset() -> object:
        (future,) = client.list_offsets({partition: rdkafka.OffsetSpec.latest()}).values()
        return future.result(60).offset

    def elect() -> object:
        found = client.elect_leaders(confluent_kafka.ElectionType.PREFERRED, [partition]).result(60)
        return [each.code() for each in found.values()]

    yield Step("create", lambda: create(topic, retention_ms="1000"))
    yield Step("create again", lambda: create(topic))
    yield Step("create badly", lambda: create(f"{topic}-bad", no_such_key="1"))
    yield Step("created", lambda: len(client.list_topics(topic, timeout=60).topics[topic].partitions), is_read=True)
    yield Step("alter", lambda: alter("2000"))
    yield Step("alter badly", lambda: alter("x"))
    yield Step("altered", lambda: entry("retention.ms"), is_read=True)
    yield Step("inherited", lambda: entry("min.insync.replicas"), is_read=True)
    yield Step("grow", lambda: grow(3))
    yield Step("shrink", lambda: grow(1))
    yield Step("grown", lambda: len(client.list_topics(topic, timeout=60).topics[topic].partitions), is_read=True)
    yield Step("controller", lambda: client.describe_cluster().result(60).controller.id)
    yield Step("offset", offset, is_read=True)
    yield Step("groups", lambda: client.list_consumer_groups().result(60).valid)
    yield Step("group", lambda: client.describe_consumer_groups(["none"])["none"].result(60).state)
    yield Step("users", lambda: client.describe_user_scram_credentials().result(60))
    yield Step("elect", elect)
    yield Step("delete", lambda: client.delete_topics([topic])[topic].result(60))
    yield Step("delete again", lambda: client.delete_topics([topic])[topic].result(60))


def _named_login(login: PlainLogin | None) -> dict[str, Any]:
    """As kafka-python and aiokafka name it."""
    if login is None:
        return {}
    return {
        "security_protocol": "SASL_SSL",
        "ssl_context": ssl.create_default_context(cafile=login.ca),
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": login.user,
        "sasl_plain_password": login.password,
    }


def with_kafka_python(address: str, login: PlainLogin | None = None) -> Iterable[Step]:
    topic = "kafka-python"
    client: Any = kafka.admin.KafkaAdminClient(bootstrap_servers=address, **_named_login(login))

    def create(configs: dict[str, str]) -> object:
        wanted = {topic: {"num_partitions": 2, "replication_factor": 1, "configs": configs}}
        (made,) = client.create_topics(wanted)["topics"]
        return made["num_partitions"], made["replication_factor"], sorted(made["configs"].items())

    def entry(kind: str, name: str, key: str) -> object:
        found = client.describe_configs([kafka.admin.ConfigResource(kind, name)], config_filter="all")
        return sorted(found[kind][name][key].items())

    def alter(value: str) -> object:
        wanted = kafka.admin.ConfigResource("topic", topic, {"retention.ms": ("set", value)})
        return client.alter_configs([wanted])["topic"][topic].partition(":")[0]  # the rest is the server's own text

    yield Step("create", lambda: create({"retention.ms": "1000"}))
    yield Step("create again", lambda: create({}))
    yield Step("created", lambda: len(client.describe_topics([topic])[0]["partitions"]), is_read=True)
    yield Step("alter", lambda: alter("2000"))
    yield Step("alter badly", lambda: alter("x"))
    yield Step("altered", lambda: entry("topic", topic, "retention.ms"), is_read=True)
    yield Step("broker", lambda: entry("broker", "1", "log.retention.hours"))
    yield Step("controller", lambda: client.describe_cluster()["controller_id"])
    yield Step("groups", client.list_groups)
    yield Step("reassignments", client.list_partition_reassignments)
    yield Step("delete", lambda: client.delete_topics([topic]) and None)
    yield Step("delete again", lambda: client.delete_topics([topic]))
    client.close()


def with_aiokafka(address: str, login: PlainLogin | None = None) -> Iterable[Step]:
    topic = "aiokafka"
    with asyncio.Runner() as runner:

        async def opened() -> Any:
            client: Any = aiokafka.admin.AIOKafkaAdminClient(bootstrap_servers=address, **_named_login(login))
            await client.start()
            return client

        client = runner.run(opened())
        resource = AioResource(ConfigResourceType.TOPIC, topic)

        def create() -> object:
            wanted = aiokafka.admin.NewTopic(topic, 2, 1, topic_configs={"retention.ms": "1000"})
            return [code for _, code, _ in runner.run(client.create_topics([wanted])).topic_errors]

        def entry() -> object:
            (answer,) = runner.run(client.describe_configs([resource], include_synonyms=True))
            (found,) = answer.to_object()["resources"]
            return [sorted(each.items()) for each in found["config_entries"] if each["config_names"] == "retention.ms"]

        def alter(value: str) -> object:
            wanted = AioResource(ConfigResourceType.TOPIC, topic, {"retention.ms": value})
            return [code for answer in runner.run(client.alter_configs([wanted])) for code, *_ in answer.resources]

        yield Step("create", create)
        yield Step("create again", create)
        yield Step("created", lambda: len(runner.run(client.describe_topics([topic]))[0]["partitions"]), is_read=True)
        yield Step("alter", lambda: alter("2000"))
        yield Step("alter badly", lambda: alter("x"))
        yield Step("altered", entry, is_read=True)
        yield Step("groups", lambda: runner.run(client.list_consumer_groups()))
        yield Step("coordinator", lambda: runner.run(client.find_coordinator("none")))
        yield Step("delete", lambda: runner.run(client.delete_topics([topic])).topic_error_codes)
        runner.run(client.close())
