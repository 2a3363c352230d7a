"""Clients that do not know kconf's extensions get them too, and ignore them.

The server advertises API keys that Kafka does not have and adds tags to its responses. For Kafka's Java client see
tests/conformance/test_unaffected.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import confluent_kafka.admin
import pytest
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin import NewTopic as AioTopic
from aiokafka.admin.config_resource import ConfigResource as AioResource
from aiokafka.admin.config_resource import ConfigResourceType
from kafka.admin import ConfigResource, KafkaAdminClient

from kconf.protocol.messages.describe_configs import DescribeConfigsResource
from tests.support.admin import TOPIC, Admin
from tests.support.process import KconfProcess

confluent: Any = confluent_kafka.admin  # its names are not exported to type checkers
OURS = {2100, 2101, 24800, 24801, 24802, 30000, 30001, 30002}


def kafka_python(bootstrap: str, topic: str) -> str | None:
    """Uses DescribeConfigs v4, whose response has the tag."""
    client = KafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        client.create_topics({topic: {"configs": {"retention.ms": "5000"}}})
        found = client.describe_configs([ConfigResource("topic", topic)], config_filter="all")
        value: str | None = found["topic"][topic]["retention.ms"]["value"]
        return value
    finally:
        client.close()


def librdkafka(bootstrap: str, topic: str) -> str | None:
    client = confluent.AdminClient({"bootstrap.servers": bootstrap})
    for future in client.create_topics([confluent.NewTopic(topic, 1, 1, config={"retention.ms": "5000"})]).values():
        future.result(60)
    (described,) = client.describe_configs([confluent.ConfigResource("topic", topic)]).values()
    value: str | None = described.result(60)["retention.ms"].value
    return value


def aiokafka(bootstrap: str, topic: str) -> str | None:
    async def talk() -> str | None:
        client = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
        await client.start()
        try:
            await client.create_topics([AioTopic(topic, 1, 1, topic_configs={"retention.ms": "5000"})])
            (answer,) = await client.describe_configs([AioResource(ConfigResourceType.TOPIC, topic)])
            values: dict[str, str | None] = {each[0]: each[1] for each in answer.resources[0][4]}
            return values["retention.ms"]
        finally:
            await client.close()

    return asyncio.run(talk())


@pytest.mark.parametrize("client", [kafka_python, librdkafka, aiokafka])
def test_other_clients_ignore_the_api_keys_and_tags_of_kconf(
    client: Callable[[str, str], str | None], server: KconfProcess, topic: str
) -> None:
    with Admin(server.bootstrap) as admin:
        for version in range(5):
            served = admin.ask("ApiVersions", version, client_software_name="x", client_software_version="1").api_keys
            assert {each.api_key for each in served} >= OURS

    assert client(server.bootstrap, topic) == "5000"

    with Admin(server.bootstrap) as admin:
        tagged = admin.ask("DescribeConfigs", 4, resources=[DescribeConfigsResource(TOPIC, topic)])
        assert tagged.revision > 0
