"""Tests of the lab, on which the other conformance tests depend."""

from __future__ import annotations

from typing import Any

import pytest

from lab import tools as fresh
from lab.admin import AdminError
from lab.broker import KafkaBroker
from lab.pytest_plugin import MakeProbe
from lab.schemas import schema
from lab.tools import ToolServer

ORDERS = {"name": "lab-orders", "partitions": 2, "replicationFactor": 1, "configs": {"retention.ms": "1000"}}


def test_a_topic_created_by_the_java_client_is_described_by_the_tool(
    kafka_431: KafkaBroker, tools: ToolServer, make_probe: MakeProbe
) -> None:
    probe = make_probe(kafka_431.bootstrap)

    made = probe.call("createTopics", {"topics": [ORDERS]})
    probe.wait_for("listTopics", until=lambda topics: "lab-orders" in topics)
    seen = tools.kafka_configs(kafka_431.bootstrap, "--describe", "--topic", "lab-orders")

    assert made["lab-orders"]["numPartitions"] == 2
    assert made["lab-orders"]["config"]["retention.ms"]["value"] == "1000"
    assert seen.returncode == 0
    assert "retention.ms=1000" in seen.stdout
    assert seen.stderr == ""


def test_the_java_client_and_the_tool_of_3_9_2_work_too(
    kafka_392: KafkaBroker, tools_392: ToolServer, make_probe: MakeProbe
) -> None:
    probe = make_probe(kafka_392.bootstrap, "3.9.2")
    resource = {"type": "TOPIC", "name": "lab-orders"}

    probe.call("createTopics", {"topics": [ORDERS]})
    replaced = probe.call("alterConfigs", {"resources": [{**resource, "configs": {"segment.ms": "2000"}}]})
    probe.wait_for(
        "describeConfigs",
        {"resources": [resource]},
        until=lambda answer: _value(answer, "TOPIC:lab-orders", "segment.ms") == "2000",
    )
    seen = tools_392.kafka_configs(kafka_392.bootstrap, "--describe", "--topic", "lab-orders")

    assert replaced == {"TOPIC:lab-orders": {}}
    assert "segment.ms=2000" in seen.stdout
    assert "retention.ms" not in seen.stdout


@pytest.mark.parametrize("command", ["--describe --broker 1 --all", "--describe", "--nonsense"])
def test_the_tool_server_prints_what_a_tool_in_its_own_jvm_prints(
    kafka_431: KafkaBroker, tools: ToolServer, command: str
) -> None:
    one = fresh.kafka_configs(kafka_431.bootstrap, *command.split())
    other = tools.kafka_configs(kafka_431.bootstrap, *command.split())

    assert (one.returncode, one.stdout, one.stderr) == (other.returncode, other.stdout, other.stderr)


def test_an_error_of_one_resource_is_returned_for_that_resource(kafka_431: KafkaBroker, make_probe: MakeProbe) -> None:
    probe = make_probe(kafka_431.bootstrap)
    resources = [{"type": "BROKER", "name": "1"}, {"type": "TOPIC", "name": "lab-missing"}]

    answer = probe.call("describeConfigs", {"resources": resources, "synonyms": True})

    assert answer["TOPIC:lab-missing"]["error"] == "UnknownTopicOrPartitionException"
    node_id = answer["BROKER:1"]["entries"]["node.id"]
    assert (node_id["value"], node_id["source"]) == ("1", "STATIC_BROKER_CONFIG")


def test_an_error_of_a_whole_call_is_raised(kafka_431: KafkaBroker, make_probe: MakeProbe) -> None:
    with pytest.raises(AdminError) as raised:
        make_probe(kafka_431.bootstrap).call("alterConfigs", {"resources": []})

    assert raised.value.name == "NoSuchMethodException"


def test_a_restarted_broker_has_its_topics_and_cluster_id(make_probe: MakeProbe) -> None:
    with KafkaBroker(node_id=7) as broker, make_probe(broker.bootstrap) as probe:
        probe.call("createTopics", {"topics": [ORDERS]})

        broker.restart()

        assert list(probe.call("listTopics")) == ["lab-orders"]
        assert probe.call("describeCluster")["clusterId"] == broker.cluster_id
        assert broker.rss_bytes() > 0
        directory = broker.directory
    assert not directory.exists()


def _value(answer: Any, resource: str, key: str) -> str | None:
    found: str | None = answer[resource].get("entries", {}).get(key, {}).get("value")
    return found


def test_schemas_are_those_of_the_release() -> None:
    assert schema("3.9.2", "DescribeConfigsRequest")["validVersions"] == "0-4"
    assert schema("4.3.1", "DescribeConfigsRequest")["validVersions"] == "1-4"
