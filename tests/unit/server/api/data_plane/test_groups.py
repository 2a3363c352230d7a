"""Groups, offsets and transactions: there are none, and this server responds as their coordinator.

tests/conformance/differential/scenarios/data_plane.py compares this with a real broker.
"""

from __future__ import annotations

from typing import Any

import pytest

from kconf.model.acl import AclType, Operation
from kconf.protocol.apis import BY_NAME
from kconf.protocol.codec.fields import Struct
from kconf.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kconf.protocol.messages.delete_groups import DeleteGroupsRequest
from kconf.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from kconf.protocol.messages.describe_groups import DescribeGroupsRequest
from kconf.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kconf.protocol.messages.find_coordinator import FindCoordinatorRequest
from kconf.protocol.messages.list_groups import ListGroupsRequest
from kconf.protocol.messages.list_transactions import ListTransactionsRequest
from kconf.protocol.messages.offset_delete import OffsetDeleteRequest
from kconf.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from kconf.server.api.router import DATA_PLANE
from tests.property.wire_values import fullest
from tests.unit.server.api.data_plane.world import TOPIC, World, asked


@pytest.mark.parametrize("kind", [0, 1], ids=["group", "transaction"])
def test_this_server_is_the_coordinator_of_every_group_and_transaction(kind: int) -> None:
    one = asked("FindCoordinator", FindCoordinatorRequest("g", kind), 3)
    several = asked("FindCoordinator", FindCoordinatorRequest(key_type=kind, coordinator_keys=["g", "h"]))

    assert (one.error_code, one.node_id, one.host, one.port) == (0, 1, "example.org", 9092)
    assert [(each.key, each.error_code, each.node_id, each.host) for each in several.coordinators] == [
        ("g", 0, 1, "example.org"),
        ("h", 0, 1, "example.org"),
    ]


def test_a_coordinator_of_another_type_is_refused() -> None:
    for kind in (2, 9):
        answer = asked("FindCoordinator", FindCoordinatorRequest(key_type=kind, coordinator_keys=["g"]))
        assert [(each.error_code, each.node_id) for each in answer.coordinators] == [(42, -1)]


def test_there_are_no_groups() -> None:
    assert asked("ListGroups", ListGroupsRequest()).groups == []
    (dead,) = asked("DescribeGroups", DescribeGroupsRequest(["g"]), 5).groups
    (absent,) = asked("DescribeGroups", DescribeGroupsRequest(["g"]), 6).groups
    consumers = asked("ConsumerGroupDescribe", ConsumerGroupDescribeRequest(["g", ""], False)).groups
    deleted = asked("DeleteGroups", DeleteGroupsRequest(["g", "g", "h"])).results

    assert (dead.error_code, dead.group_state) == (0, "Dead")
    assert (absent.error_code, absent.error_message) == (69, "Group g not found.")
    assert [each.error_code for each in consumers] == [69, 24]
    assert [(each.group_id, each.error_code) for each in deleted] == [("g", 69), ("h", 69)]


def test_describing_a_missing_group_returns_the_rights_to_it() -> None:
    def may(operation: Operation, kind: AclType, name: str) -> bool:
        return (kind, name) == (AclType.GROUP, "g") and operation in (Operation.DESCRIBE, Operation.READ)

    groups = asked("DescribeGroups", DescribeGroupsRequest(["g", "h"], True), 5, authorize=may).groups

    assert [(each.error_code, each.authorized_operations) for each in groups] == [(0, 1 << 3 | 1 << 8), (30, -(2**31))]


def test_no_group_has_committed_an_offset() -> None:
    topics = [OffsetFetchRequestTopic(TOPIC, [0, 9])]
    for version in range(8):
        (topic,) = asked("OffsetFetch", OffsetFetchRequest("g", topics), version).topics
        assert [(each.committed_offset, each.error_code) for each in topic.partitions] == [(-1, 0), (-1, 0)]
    assert [asked("OffsetDelete", OffsetDeleteRequest(group, ())).error_code for group in ("g", "")] == [69, 24]


def test_offsets_of_several_groups_are_fetched_by_topic_id() -> None:
    def groups(world: World) -> OffsetFetchRequest:
        topics = [
            OffsetFetchRequestTopics(topic_id=each, partition_indexes=[0]) for each in (world.topic_id, b"x" * 16)
        ]
        return OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=topics), OffsetFetchRequestGroup("h")])

    first, second = asked("OffsetFetch", groups, 10).groups

    assert [each.error_code for topic in first.topics for each in topic.partitions] == [0, 100]
    assert (second.group_id, second.error_code, second.topics) == ("h", 0, [])


def test_without_the_right_to_a_group_its_offsets_are_refused() -> None:
    topics = [OffsetFetchRequestTopic(TOPIC, [0])]

    old = asked("OffsetFetch", OffsetFetchRequest("g", topics), 1, authorize=lambda *_: False)
    new = asked("OffsetFetch", OffsetFetchRequest("g", topics), 7, authorize=lambda *_: False)

    assert [each.error_code for topic in old.topics for each in topic.partitions] == [30]
    assert (new.error_code, new.topics) == (30, [])


def test_there_are_no_transactions() -> None:
    described = asked("DescribeTransactions", DescribeTransactionsRequest(["t", ""]))
    listed = asked("ListTransactions", ListTransactionsRequest(["Ongoing", "nonsense"], (), -1, "a.*"))
    refused = asked("ListTransactions", ListTransactionsRequest((), (), -1, "a("))

    assert [each.error_code for each in described.transaction_states] == [105, 42]
    assert (listed.error_code, listed.unknown_state_filters, listed.transaction_states) == (0, ["nonsense"], [])
    assert refused.error_code == 128


def test_delegation_tokens_are_refused_as_by_a_kafka_without_them() -> None:
    anonymous = asked("DescribeDelegationToken", DescribeDelegationTokenRequest(None))
    alice = asked("DescribeDelegationToken", DescribeDelegationTokenRequest(None), principal="User:alice")

    assert (anonymous.error_code, alice.error_code) == (64, 61)


@pytest.mark.parametrize("name", [name for name, api in BY_NAME.items() if api.key in DATA_PLANE])
def test_with_real_brokers_the_requests_are_refused(name: str) -> None:
    """The real brokers have messages and groups, which this server cannot see."""
    api = BY_NAME[name]
    answer = asked(name, fullest(api.request, api.max), beside_brokers=True)

    assert _codes(answer, api.max) == {42}


def _codes(answer: Any, version: int) -> set[int]:
    """All error codes in a response, at any depth."""
    found: set[int] = set()
    for field in answer.FIELDS:
        value = getattr(answer, field.name)
        if field.name == "error_code" and field.present(version):
            found.add(value)
        elif isinstance(value, list):
            for each in value:
                found |= _codes(each, version) if isinstance(each, Struct) else set()
    return found
