"""Kafka's Java Admin client, 4.3.1 and 3.9.2, on kconf and on a real 4.3.1 broker: the same calls, the same answers.

A scenario is a list of calls. Not compared: topic IDs, ports, the cluster ID, texts of error messages, and the text of
documentation (only its presence).
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from lab.admin import AdminError, AdminProbe
from lab.pytest_plugin import MakeProbe
from tests.conformance.tooling import Pair
from tests.support.targets import one_of

PATIENCE = 60.0  # a real broker learns of a change after the controller has acknowledged it
READS = ("describeConfigs", "describeTopics", "listTopics", "describeCluster", "listConfigResources")

Call = tuple[str, dict[str, Any]]
BROKER: dict[str, Any] = {"type": "BROKER", "name": "1"}
BROKERS: dict[str, Any] = {"type": "BROKER", "name": ""}


class Both:
    """One client of a release for each of the two servers."""

    def __init__(self, kconf: AdminProbe, kafka: AdminProbe) -> None:
        self.kconf, self.kafka = kconf, kafka

    def check(self, method: str, args: dict[str, Any]) -> Any:
        """Call both and compare the results. A read waits until the real broker has caught up."""
        ours = comparable(self.kconf.call(method, args))
        deadline = time.monotonic() + (PATIENCE if method in READS else 0)
        while (theirs := comparable(self.kafka.call(method, args))) != ours and time.monotonic() < deadline:
            time.sleep(0.05)
        assert ours == theirs, f"{method} {args} (ours first)"
        return ours


@pytest.fixture(params=one_of("4.3.1", ["3.9.2"]))
def both(request: pytest.FixtureRequest, beside: Pair, make_probe: MakeProbe) -> Both:
    return _both(beside, make_probe, request.param)


@pytest.fixture
def both_431(beside: Pair, make_probe: MakeProbe) -> Both:
    return _both(beside, make_probe, "4.3.1")


@pytest.fixture
def both_392(beside: Pair, make_probe: MakeProbe) -> Both:
    return _both(beside, make_probe, "3.9.2")


def _both(beside: Pair, make_probe: MakeProbe, version: str) -> Both:
    return Both(make_probe(beside.kconf.bootstrap, version), make_probe(beside.kafka.bootstrap, version))


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    name: str = request.node.name
    return "java-" + "".join(each if each.isalnum() else "-" for each in name)[-100:].strip("-")


def comparable(answer: Any) -> Any:
    match answer:
        case dict():
            return {key: _field(key, value) for key, value in answer.items()}
        case list():
            return [comparable(each) for each in answer]
    return answer


def _field(key: str, value: Any) -> Any:
    if key in ("message", "topicId", "clusterId", "port"):
        return None if value is None else key
    if key == "documentation":
        return bool(value)
    if key in ("listeners", "advertised.listeners", "controller.quorum.bootstrap.servers"):
        return "addresses"
    return comparable(value)


def new(name: str, **options: Any) -> dict[str, Any]:
    return {"name": name, **options}


def of_topic(name: str) -> dict[str, Any]:
    return {"type": "TOPIC", "name": name}


def describe(*resources: dict[str, Any], documentation: bool = False) -> Call:
    return "describeConfigs", {"resources": list(resources), "synonyms": True, "documentation": documentation}


def alter(resource: dict[str, Any], *ops: tuple[str, str, str | None], dry: bool = False) -> Call:
    requests = [{"op": op, "name": name, "value": value} for op, name, value in ops]
    return "incrementalAlterConfigs", {"resources": [{**resource, "ops": requests}], "validateOnly": dry}


def test_the_cluster_is_described_as_by_kafka(both: Both) -> None:
    both.check("describeCluster", {})
    both.check("describeCluster", {"authorizedOperations": True})


def test_a_topic_is_created_grown_and_deleted_as_in_kafka(both: Both, topic: str) -> None:
    both.check("createTopics", {"topics": [new(topic, partitions=2, configs={"retention.ms": "5000"})]})
    both.check("describeTopics", {"topics": [topic], "authorizedOperations": True})
    both.check("listTopics", {})
    both.check("createPartitions", {"topics": {topic: {"count": 4}}})
    both.check("describeTopics", {"topics": [topic, f"{topic}-missing"]})
    both.check("deleteTopics", {"topics": [topic, f"{topic}-missing"]})
    both.check("listTopics", {"internal": True})


def test_creating_returns_partitions_replication_factor_and_configs(both: Both, topic: str) -> None:
    """KIP-525: numPartitions(), replicationFactor() and config() of the result."""
    requested = new(topic, configs={"cleanup.policy": "compact", "segment.ms": " 5 "})

    said = both.check("createTopics", {"topics": [requested], "validateOnly": True})[topic]

    assert (said["numPartitions"], said["replicationFactor"], len(said["config"])) == (1, 1, 33)
    assert topic not in both.check("listTopics", {})


def test_invalid_topics_are_refused_as_in_kafka(both: Both, topic: str) -> None:
    requests = [
        new("bad name"),
        new(""),
        new(".."),
        new("x" * 250),
        new("__cluster_metadata"),
        new(f"{topic}-factor", replicationFactor=3),
        new(f"{topic}-factor-0", replicationFactor=0),
        new(f"{topic}-partitions", partitions=0),
        new(f"{topic}-key", configs={"no.such.key": "1"}),
        new(f"{topic}-value", configs={"retention.ms": "soon"}),
        new(f"{topic}-null", configs={"retention.ms": None}),
        new(f"{topic}-unknown-broker", assignments={"0": [9]}),
        new(f"{topic}-gap", assignments={"0": [1], "2": [1]}),
        new(f"{topic}-twice", assignments={"0": [1, 1]}),
        new(f"{topic}-empty", assignments={"0": []}),
    ]

    for dry in (True, False):
        said = both.check("createTopics", {"topics": requests, "validateOnly": dry})
        assert len(said) == len(requests)
        assert all("error" in each for each in said.values())


def test_creating_an_existing_topic_fails_as_in_kafka(both: Both, topic: str) -> None:
    both.check("createTopics", {"topics": [new(topic)]})
    both.check("describeTopics", {"topics": [topic]})

    said = both.check("createTopics", {"topics": [new(topic, partitions=0, configs={"no.such.key": "1"})]})

    assert said[topic]["error"] == "TopicExistsException"
    both.check("deleteTopics", {"topics": [topic]})


def test_invalid_partitions_are_refused_as_in_kafka(both: Both, topic: str) -> None:
    both.check("createTopics", {"topics": [new(topic, partitions=2)]})
    both.check("describeTopics", {"topics": [topic]})
    for requested in (
        {topic: {"count": 2}},
        {topic: {"count": 1}},
        {f"{topic}-missing": {"count": 4}},
        {topic: {"count": 4, "assignments": [[1]]}},
        {topic: {"count": 3, "assignments": [[9]]}},
        {topic: {"count": 3, "assignments": [[1, 1]]}},
        {topic: {"count": 3, "assignments": [[]]}},
    ):
        said = both.check("createPartitions", {"topics": requested})
        assert said.keys() == requested.keys()
        assert all("error" in each for each in said.values())
    both.check("createPartitions", {"topics": {topic: {"count": 3, "assignments": [[1]]}}, "validateOnly": True})
    both.check("describeTopics", {"topics": [topic]})
    both.check("deleteTopics", {"topics": [topic]})


def test_topics_are_found_and_deleted_by_id(both: Both, topic: str) -> None:
    probe = both.kconf
    made = probe.call("createTopics", {"topics": [new(topic)]})[topic]

    seen = probe.call("describeTopics", {"topicIds": [made["topicId"]]})
    gone = probe.call("deleteTopics", {"topicIds": [made["topicId"]]})
    again = probe.call("deleteTopics", {"topicIds": [made["topicId"]]})

    assert seen[made["topicId"]]["name"] == topic
    assert gone == {made["topicId"]: {}}
    assert again[made["topicId"]]["error"] == "UnknownTopicIdException"


def test_topic_configs_are_altered_and_described_as_in_kafka(both: Both, topic: str) -> None:
    place = of_topic(topic)
    both.check("createTopics", {"topics": [new(topic, configs={"retention.ms": "5000"})]})
    both.check(*describe(place, documentation=True))
    scenario = [
        alter(
            place,
            ("APPEND", "cleanup.policy", "compact"),
            ("SET", "segment.ms", "6000"),
            ("DELETE", "retention.ms", ""),
        ),
        alter(place, ("SUBTRACT", "cleanup.policy", "delete")),
        alter(place, ("SUBTRACT", "cleanup.policy", "compact"), ("DELETE", "segment.ms", None)),
        alter(place, ("SET", "min.cleanable.dirty.ratio", " 1 "), ("SET", "preallocate", "TRUE")),
        alter(place, ("SET", "leader.replication.throttled.replicas", "0:1,0:1")),
        alter(place, ("APPEND", "leader.replication.throttled.replicas", "1:1,0:1")),
    ]
    for call in scenario:
        said = both.check(*call)
        assert said == {f"TOPIC:{topic}": {}}
        both.check(*describe(place))
    both.check("deleteTopics", {"topics": [topic]})


def test_invalid_topic_alterations_are_refused_as_in_kafka(both: Both, topic: str) -> None:
    place = of_topic(topic)
    both.check("createTopics", {"topics": [new(topic, configs={"retention.ms": "5000"})]})
    both.check(*describe(place))
    for call in (
        alter(place, ("SET", "no.such.key", "1")),
        alter(place, ("SET", "segment.ms", "soon")),
        alter(place, ("SET", "segment.ms", "")),
        alter(place, ("SET", "segment.ms", None)),
        alter(place, ("APPEND", "compression.type", "gzip")),
        alter(place, ("SUBTRACT", "no.such.key", "x")),
        alter(place, ("SET", "segment.ms", "1"), ("DELETE", "segment.ms", None)),
        alter(place, ("SET", "segment.ms", "1"), ("SET", "compression.type", "zip"), dry=True),
        alter(of_topic(f"{topic}-missing"), ("SET", "segment.ms", "1")),
        alter(of_topic(f"{topic}-missing"), ("DELETE", "segment.ms", None)),
        alter(of_topic("bad name"), ("SET", "segment.ms", "1")),
        alter(of_topic(""), ("SET", "segment.ms", "1")),
    ):
        (said,) = both.check(*call).values()
        assert "error" in said
    both.check(*describe(place))
    both.check("deleteTopics", {"topics": [topic]})


def test_errors_of_several_resources_are_those_of_kafka(both: Both, topic: str) -> None:
    other = f"{topic}-other"
    both.check("createTopics", {"topics": [new(topic), new(other)]})
    both.check("describeTopics", {"topics": [topic, other]})
    good, bad = {"op": "SET", "name": "segment.ms", "value": "5"}, {"op": "SET", "name": "segment.ms", "value": "0"}
    requests = [
        {**of_topic(topic), "ops": [bad]},
        {**of_topic(other), "ops": [good]},
        {**of_topic(f"{topic}-missing"), "ops": [good]},
        {**BROKER, "ops": [{"op": "SET", "name": "broker.id", "value": "5"}]},
        {"type": "CLIENT_METRICS", "name": topic, "ops": [{"op": "SET", "name": "no.such.key", "value": "5"}]},
    ]

    said = both.check("incrementalAlterConfigs", {"resources": requests})

    assert said[f"TOPIC:{other}"] == {}
    assert sum("error" in each for each in said.values()) == len(requests) - 1
    both.check(*describe(of_topic(topic), of_topic(other), of_topic(f"{topic}-missing"), BROKER))
    both.check("deleteTopics", {"topics": [topic, other]})


def test_broker_configs_are_altered_and_described_as_in_kafka(both: Both, topic: str) -> None:
    both.check("createTopics", {"topics": [new(topic)]})
    both.check("describeTopics", {"topics": [topic]})
    both.check(*describe(BROKER, documentation=True))
    for call in (
        alter(BROKERS, ("SET", "log.retention.ms", "60000"), ("APPEND", "log.cleanup.policy", "compact")),
        alter(BROKER, ("SET", "log.retention.ms", "70000"), ("SET", "my.plugin.token", "hidden")),
        alter(BROKER, ("SET", "leader.replication.throttled.rate", "1000"), ("DELETE", "log.retention.ms", "")),
        alter(BROKERS, ("SET", "log.roll.ms", "80000"), ("DELETE", "log.cleanup.policy", "")),
        alter(BROKER, ("DELETE", "leader.replication.throttled.rate", ""), ("DELETE", "my.plugin.token", "")),
        alter(BROKERS, ("DELETE", "log.retention.ms", ""), ("DELETE", "log.roll.ms", "")),
    ):
        (said,) = both.check(*call).values()
        assert said == {}
        both.check(*describe(BROKER, of_topic(topic)))
        both.check(*describe(BROKERS))
    both.check("deleteTopics", {"topics": [topic]})


def test_invalid_broker_alterations_are_refused_as_in_kafka(both: Both) -> None:
    for call in (
        alter(BROKER, ("SET", "broker.id", "5")),
        alter(BROKER, ("SET", "log.retention.hours", "5")),
        alter(BROKER, ("SET", "log.retention.ms", "soon")),
        alter(BROKER, ("SET", "log.retention.ms", None)),
        alter(BROKER, ("APPEND", "log.retention.ms", "5")),
        alter(BROKER, ("SET", "num.io.threads", "100")),
        alter(BROKER, ("SET", "ssl.keystore.password", "hidden")),
        alter(BROKERS, ("SET", "listener.name.inside.ssl.keystore.password", "hidden")),
        alter(BROKERS, ("SET", "listeners", "PLAINTEXT://:0")),
        alter(BROKERS, ("SET", "log.roll.ms", "0")),
        alter(BROKERS, ("SET", "max.connections.per.ip", "0")),
        alter(BROKERS, ("SET", "log.retention.ms", "1"), ("SET", "log.roll.jitter.ms", "-1"), dry=True),
    ):
        (said,) = both.check(*call).values()
        assert "error" in said
    both.check(*describe(BROKER))
    both.check(*describe(BROKERS))


def test_logger_levels_are_altered_as_in_kafka(both: Both) -> None:
    place = {"type": "BROKER_LOGGER", "name": "1"}
    for call in (
        alter(place, ("SET", "root", "WARN")),
        alter(place, ("SET", "root", "INFO")),
        alter(place, ("SET", "root", "OFF")),
        alter(place, ("SET", "root", "info")),
        alter(place, ("DELETE", "root", "")),
        alter(place, ("APPEND", "root", "WARN")),
        alter(place, ("SET", "no.such.logger", "WARN")),
        alter(place, ("SET", "root", "DEBUG"), ("SET", "no.such.logger", "WARN")),
    ):
        both.check(*call)

    kconf, kafka = (probe.call(*describe(place))["BROKER_LOGGER:1"]["entries"] for probe in (both.kconf, both.kafka))
    assert comparable(kconf["root"]) == comparable(kafka["root"])


def test_group_configs_are_altered_and_described_as_in_kafka(both_431: Both, topic: str) -> None:
    """The 3.9 client does not know groups as resources."""
    place = {"type": "GROUP", "name": topic}
    both_431.check(*describe(place, documentation=True))
    for call in (
        alter(place, ("SET", "consumer.session.timeout.ms", "50000"), ("SET", "share.auto.offset.reset", "earliest")),
        alter(place, ("SET", "streams.num.standby.replicas", "1"), ("DELETE", "share.auto.offset.reset", "")),
        alter(place, ("SET", "consumer.session.timeout.ms", "5")),
        alter(place, ("SET", "consumer.heartbeat.interval.ms", "50000")),
        alter(place, ("SET", "share.isolation.level", "READ_COMMITTED")),
        alter(place, ("APPEND", "consumer.session.timeout.ms", "5")),
        alter({"type": "GROUP", "name": ""}, ("SET", "consumer.session.timeout.ms", "50000")),
        alter(place, ("DELETE", "no.such.key", "")),
    ):
        both_431.check(*call)
        both_431.check(*describe(place))
    both_431.check(
        *alter(place, ("DELETE", "consumer.session.timeout.ms", ""), ("DELETE", "streams.num.standby.replicas", ""))
    )
    both_431.check(*describe(place))


def test_client_metrics_are_altered_and_described_as_in_kafka(both: Both, topic: str) -> None:
    place = {"type": "CLIENT_METRICS", "name": topic}
    both.check(*describe(place, documentation=True))
    for call in (
        alter(place, ("SET", "interval.ms", "1000"), ("SET", "metrics", "a., b."), ("SET", "match", "client_id=x.*")),
        alter(place, ("DELETE", "metrics", "")),
        alter(place, ("APPEND", "metrics", "c.")),
        alter(place, ("SET", "interval.ms", "1")),
        alter(place, ("SET", "interval.ms", "soon")),
        alter(place, ("SET", "no.such.key", "1")),
        alter(place, ("SET", "match", "planet=mars")),
        alter(place, ("SET", "match", "client_id=(")),
        alter({"type": "CLIENT_METRICS", "name": ""}, ("SET", "interval.ms", "1000")),
    ):
        both.check(*call)
        both.check(*describe(place))
    both.check(*alter(place, ("DELETE", "interval.ms", ""), ("DELETE", "match", "")))
    both.check(*describe(place))


def test_resources_with_configs_are_listed(both_431: Both, topic: str) -> None:
    """KIP-1142, since 4.1."""
    group, metrics = {"type": "GROUP", "name": topic}, {"type": "CLIENT_METRICS", "name": topic}
    both_431.check(*alter(group, ("SET", "consumer.session.timeout.ms", "50000")))
    both_431.check(*alter(metrics, ("SET", "interval.ms", "1000")))

    listed = both_431.check("listConfigResources", {})
    assert {"BROKER:1", "BROKER_LOGGER:1", f"CLIENT_METRICS:{topic}", f"GROUP:{topic}"} <= set(listed)
    for kind in ("TOPIC", "BROKER", "GROUP", "CLIENT_METRICS", "BROKER_LOGGER"):
        both_431.check("listConfigResources", {"types": [kind]})
    both_431.check(*alter(group, ("DELETE", "consumer.session.timeout.ms", "")))
    both_431.check(*alter(metrics, ("DELETE", "interval.ms", "")))
    both_431.check("listConfigResources", {})


def test_alter_configs_replaces_all_values_as_in_kafka(both_392: Both, topic: str) -> None:
    """3.9 is the last client that supports it."""
    place = of_topic(topic)
    both_392.check("createTopics", {"topics": [new(topic, configs={"retention.ms": "5000"})]})
    both_392.check(*describe(place))
    for configs in ({"segment.ms": "5"}, {"segment.ms": "0"}, {"no.such.key": "1"}, {}):
        both_392.check("alterConfigs", {"resources": [{**place, "configs": configs}]})
        both_392.check(*describe(place))
    both_392.check("alterConfigs", {"resources": [{**place, "configs": {"segment.ms": "5"}}], "validateOnly": True})
    both_392.check("alterConfigs", {"resources": [{**of_topic(f"{topic}-missing"), "configs": {}}]})
    both_392.check("alterConfigs", {"resources": [{**BROKER, "configs": {"broker.id": "5"}}]})
    both_392.check("alterConfigs", {"resources": [{"type": "BROKER_LOGGER", "name": "1", "configs": {"root": "INFO"}}]})
    both_392.check(*describe(place))
    both_392.check("deleteTopics", {"topics": [topic]})


def test_resources_that_cannot_be_described_have_the_errors_of_kafka(both: Both, topic: str) -> None:
    resources = [of_topic(f"{topic}-missing"), of_topic("bad name"), of_topic("")]

    said = both.check(*describe(*resources))

    assert [each["error"] for each in said.values()] == [
        "InvalidTopicException",
        "InvalidTopicException",
        "UnknownTopicOrPartitionException",
    ]
    both.check(*describe({"type": "CLIENT_METRICS", "name": ""}))


def test_there_are_no_acls_without_an_authorizer(both: Both) -> None:
    acl = {"resourceType": "TOPIC", "resourceName": "t", "principal": "User:a", "operation": "READ"}

    both.check("createAcls", {"acls": [acl]})
    both.check("deleteAcls", {"filters": [{}]})
    for probe in (both.kconf, both.kafka):
        with pytest.raises(AdminError, match="SecurityDisabledException"):
            probe.call("describeAcls")


def test_a_client_reconnects_after_a_restart(beside: Pair, both: Both, topic: str) -> None:
    both.kconf.call("createTopics", {"topics": [new(topic, configs={"segment.ms": "5"})]})
    before = both.kconf.call(*describe(of_topic(topic)))

    beside.kconf.restart()

    assert both.kconf.call(*describe(of_topic(topic))) == before
    assert both.kconf.call("deleteTopics", {"topics": [topic]}) == {topic: {}}
