"""Kafka 4.3.1 and 3.9.2 ignore kconf's extensions: clients its API keys and tags, brokers its header tags."""

from __future__ import annotations

import pytest

from kconf.protocol.headers import ResponseTags
from kconf.protocol.messages.describe_configs import DescribeConfigsResource
from lab.broker import KafkaBroker
from lab.pytest_plugin import MakeProbe
from tests.support.admin import BROKER, TOPIC, Admin
from tests.support.process import KconfProcess


@pytest.mark.parametrize("version", ["4.3.1", "3.9.2"])
def test_java_skips_keys_and_tags_that_it_does_not_know(make_probe: MakeProbe, version: str) -> None:
    orders = {"type": "TOPIC", "name": "orders"}
    requested = {**orders, "ops": [{"op": "SET", "name": "retention.ms", "value": "7000"}]}
    with KconfProcess() as server:
        probe = make_probe(server.bootstrap, version)
        with Admin(server.bootstrap) as admin:
            admin.create("orders", configs={"retention.ms": "5000"})
            served = {each.api_key for each in admin.ask("ApiVersions", 0).api_keys}
            tagged = admin.ask("DescribeConfigs", 4, resources=[DescribeConfigsResource(TOPIC, "orders")])
        before = probe.call("describeConfigs", {"resources": [orders]})
        probe.call("incrementalAlterConfigs", {"resources": [requested]})
        after = probe.call("describeConfigs", {"resources": [orders]})
        probe.close()

    assert {2100, 2101, 30000, 30001, 30002} <= served
    assert tagged.revision == 1
    assert '"5000"' in str(before).replace("'", '"')
    assert '"7000"' in str(after).replace("'", '"')


@pytest.mark.parametrize("release", ["kafka_431", "kafka_392"])
def test_a_broker_skips_the_revision_in_the_header_of_a_request(release: str, request: pytest.FixtureRequest) -> None:
    broker: KafkaBroker = request.getfixturevalue(release)
    resources = [DescribeConfigsResource(BROKER, "")]
    with Admin(broker.bootstrap) as admin:
        plain = admin.ask("DescribeConfigs", 4, resources=resources)
        tags, tagged = admin.ask_tagged("DescribeConfigs", 4, 41, resources=resources)

    assert tags == ResponseTags()
    assert [each.error_code for each in tagged.results] == [0]
    assert tagged == plain
