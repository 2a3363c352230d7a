"""Which version of an API is used with a node, and the error if there is none."""

from __future__ import annotations

import pytest

from kconf import AlterConfigOp, OpType, Resource, UnsupportedVersion
from kconf.client.calls.base import NodeVersions
from kconf.client.calls.cluster import DescribeCluster
from kconf.client.calls.configs import DescribeConfigs, IncrementalAlterConfigs
from kconf.client.calls.topics import CreateTopics
from kconf.client.transport.versions import choose_version

KAFKA_20 = {3: (0, 6), 18: (0, 2), 19: (0, 3), 32: (0, 2), 33: (0, 1)}
ORDERS = Resource.topic("orders")


def test_the_highest_common_version_is_used() -> None:
    describe = DescribeConfigs([ORDERS])

    assert choose_version(NodeVersions("old", KAFKA_20), describe) == (describe, 2)
    assert choose_version(NodeVersions("future", {32: (3, 99)}), describe) == (describe, 4)


@pytest.mark.parametrize(
    ("there", "says"),
    [
        (
            KAFKA_20,
            r"old does not support IncrementalAlterConfigs \(API 44\); before Kafka 2.3, only alter_configs exists",
        ),
        ({44: (5, 9)}, r"old supports versions 5 to 9 of IncrementalAlterConfigs \(API 44\), but 0 to 1 are required"),
    ],
)
def test_an_old_or_far_newer_broker_gets_a_clear_error(there: dict[int, tuple[int, int]], says: str) -> None:
    with pytest.raises(UnsupportedVersion, match=says):
        choose_version(
            NodeVersions("old", there), IncrementalAlterConfigs({ORDERS: [AlterConfigOp(OpType.SET, "a", "b")]})
        )


def test_a_version_that_would_ignore_an_argument_is_not_used() -> None:
    """CreateTopics 0 has no validate_only, so a dry run would create the topic."""
    with pytest.raises(UnsupportedVersion):
        choose_version(NodeVersions("old", {19: (0, 0)}), CreateTopics(["t"], timeout_ms=1, validate_only=True))
    with pytest.raises(UnsupportedVersion, match=r"before Kafka 2\.4"):
        choose_version(NodeVersions("old", KAFKA_20), CreateTopics(["t"], timeout_ms=1))


def test_a_missing_api_is_replaced_by_another_with_the_same_result() -> None:
    call, version = choose_version(
        NodeVersions("old", KAFKA_20), DescribeCluster(authorized_operations=False, fenced=False, controllers=False)
    )

    assert (call.name, version) == ("Metadata", 6)
