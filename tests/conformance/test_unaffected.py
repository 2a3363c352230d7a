"""Java's Admin client, 4.3.1 and 3.9.2, skips what it does not know: kconf's keys in ApiVersions and tag 40003."""

from __future__ import annotations

import pytest

from kconf.protocol.messages.describe_configs import DescribeConfigsResource
from lab.pytest_plugin import MakeProbe
from tests.support.admin import TOPIC, Admin
from tests.support.process import KconfProcess


@pytest.mark.parametrize("version", ["4.3.1", "3.9.2"])
def test_java_skips_keys_and_tags_that_it_does_not_know(make_probe: MakeProbe, version: str) -> None:
    orders = {"type": "TOPIC", "name": "orders"}
    wish = {**orders, "ops": [{"op": "SET", "name": "retention.ms", "value": "7000"}]}
    with KconfProcess() as server:
        probe = make_probe(server.bootstrap, version)
        with Admin(server.bootstrap) as admin:
            admin.create("orders", configs={"retention.ms": "5000"})
            served = {each.api_key for each in admin.ask("ApiVersions", 0).api_keys}
            tagged = admin.ask("DescribeConfigs", 4, resources=[DescribeConfigsResource(TOPIC, "orders")])
        before = probe.call("describeConfigs", {"resources": [orders]})
        probe.call("incrementalAlterConfigs", {"resources": [wish]})
        after = probe.call("describeConfigs", {"resources": [orders]})
        probe.close()

    assert {2100, 2101, 30000, 30001, 30002} <= served
    assert tagged.revision == 1
    assert '"5000"' in str(before).replace("'", '"')
    assert '"7000"' in str(after).replace("'", '"')
