"""What a gateway passes on for its callers: only what they are authorized for, and all of it.

tests/conformance/test_acl_differential.py compares the responses with those of a broker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from types import ModuleType, SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest

from kconf.errors import ErrorCode
from kconf.model.acl import CLUSTER_NAME, AclType, Operation
from kconf.model.journal import RequestContext
from kconf.protocol.messages import list_transactions
from kconf.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kconf.protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from kconf.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    TopicRequest,
    TopicResponse,
)
from kconf.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)
from kconf.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from kconf.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from kconf.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from kconf.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponseTopic,
)
from kconf.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from kconf.server.api.relay_checks import groups, offsets, partitions, transactions
from kconf.server.context import ApiRequest, ServerContext

Right = tuple[Operation, AclType, str]
GROUP, TOPIC, TRANSACTION = AclType.GROUP, AclType.TOPIC, AclType.TRANSACTIONAL_ID
DESCRIBE, READ, DELETE = Operation.DESCRIBE, Operation.READ, Operation.DELETE
NO_GROUP = ErrorCode.GROUP_AUTHORIZATION_FAILED
NO_TOPIC = ErrorCode.TOPIC_AUTHORIZATION_FAILED
NO_TRANSACTION = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
CONTEXT = cast(ServerContext, SimpleNamespace())


class Broker:
    """Answers what is passed on, and notes it."""

    def __init__(self, module: ModuleType, monkeypatch: pytest.MonkeyPatch, answer: Callable[[Any], Any]) -> None:
        self.asked: list[Any] = []

        async def ask(context: ServerContext, call: ApiRequest, node: int, message: Any) -> Any:
            self.asked.append(message)
            return answer(message)

        monkeypatch.setattr(module, "ask", ask)


def call(*rights: Right, version: int = 9) -> ApiRequest:
    """A request of a caller with these rights."""
    return ApiRequest(version, RequestContext(), "gw", 9092, authorize=lambda *asked: asked in rights)


def handled(handler: Any, request: Any, caller: ApiRequest) -> Any:
    return asyncio.run(handler(CONTEXT, request, caller, 1))


def codes(results: Iterable[Any], name: str) -> list[tuple[Any, int]]:
    return [(getattr(each, name), each.error_code) for each in results]


def test_only_transactions_and_topics_that_may_be_described_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(asked: Any) -> DescribeTransactionsResponse:
        topics = [TopicData("orders", [0]), TopicData("hidden", [0])]
        return DescribeTransactionsResponse(
            0, [TransactionState(0, each, "Ongoing", 1, 2, 3, 4, topics) for each in reversed(asked.transactional_ids)]
        )

    broker = Broker(transactions, monkeypatch, answer)
    rights = ((DESCRIBE, TRANSACTION, "a"), (DESCRIBE, TRANSACTION, "c"), (DESCRIBE, TOPIC, "orders"))
    found = handled(transactions.handle_describe, DescribeTransactionsRequest(["a", "b", "c"]), call(*rights))

    assert [list(each.transactional_ids) for each in broker.asked] == [["a", "c"]]
    states = found.transaction_states
    assert codes(states, "transactional_id") == [("a", 0), ("b", NO_TRANSACTION), ("c", 0)]
    assert [[topic.topic for topic in each.topics] for each in states] == [["orders"], [], ["orders"]]
    assert (states[0].transaction_state, states[1].transaction_state) == ("Ongoing", "")


def test_transactions_that_may_not_be_described_are_not_requested(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker(transactions, monkeypatch, lambda asked: DescribeTransactionsResponse())
    found = handled(transactions.handle_describe, DescribeTransactionsRequest(["a"]), call())

    assert codes(found.transaction_states, "transactional_id") == [("a", NO_TRANSACTION)]
    assert broker.asked == []


def test_only_transactions_that_may_be_described_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [list_transactions.TransactionState(each, 1, "Ongoing") for each in "abc"]
    Broker(transactions, monkeypatch, lambda asked: ListTransactionsResponse(transaction_states=listed))
    found = handled(transactions.handle_list, ListTransactionsRequest([], []), call((DESCRIBE, TRANSACTION, "b")))

    assert [each.transactional_id for each in found.transaction_states] == ["b"]


def test_producers_are_shown_in_the_order_of_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """An invalid name is left to the broker, which refuses it before it checks authorization."""
    broker = Broker(
        partitions,
        monkeypatch,
        lambda asked: DescribeProducersResponse(topics=[TopicResponse(each.name, []) for each in asked.topics]),
    )
    requested = [TopicRequest(each, [0, 2]) for each in ("hidden", "orders", "a b", "other")]
    found = handled(
        partitions.handle_describe_producers, DescribeProducersRequest(requested), call((READ, TOPIC, "orders"))
    )

    assert [[each.name for each in message.topics] for message in broker.asked] == [["orders", "a b"]]
    assert [(topic.name, codes(topic.partitions, "partition_index")) for topic in found.topics] == [
        ("hidden", [(0, NO_TOPIC), (2, NO_TOPIC)]),
        ("orders", []),
        ("a b", []),
        ("other", [(0, NO_TOPIC), (2, NO_TOPIC)]),
    ]


def test_offsets_of_topics_that_may_not_be_described_are_not_requested(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker(
        partitions,
        monkeypatch,
        lambda asked: ListOffsetsResponse(topics=[ListOffsetsTopicResponse(each.name, []) for each in asked.topics]),
    )
    requested = [ListOffsetsTopic(each, [ListOffsetsPartition(3)]) for each in ("hidden", "orders")]
    request = ListOffsetsRequest(-1, 1, requested, 7000)
    found = handled(partitions.handle_list_offsets, request, call((DESCRIBE, TOPIC, "orders")))

    (asked,) = broker.asked
    assert ([each.name for each in asked.topics], asked.isolation_level, asked.timeout_ms) == (["orders"], 1, 7000)
    assert [(topic.name, codes(topic.partitions, "partition_index")) for topic in found.topics] == [
        ("orders", []),
        ("hidden", [(3, NO_TOPIC)]),
    ]
    assert len(handled(partitions.handle_list_offsets, request, call()).topics) == 2
    assert len(broker.asked) == 1


@pytest.mark.parametrize(
    ("rights", "listed"),
    [
        ([(DESCRIBE, AclType.CLUSTER, CLUSTER_NAME)], ["a", "b"]),
        ([(DESCRIBE, GROUP, "b")], ["b"]),
        ([(READ, GROUP, "b")], []),
    ],
)
def test_only_groups_that_may_be_described_are_listed(
    monkeypatch: pytest.MonkeyPatch, rights: list[Right], listed: list[str]
) -> None:
    monkeypatch.setattr(groups, "node_of", lambda context, connection: 1)
    found = ListGroupsResponse(7, groups=[ListedGroup(each, "consumer") for each in "ab"])
    Broker(groups, monkeypatch, lambda asked: found)
    answer = asyncio.run(groups.handle_list(CONTEXT, ListGroupsRequest(), call(*rights)))

    assert (answer.throttle_time_ms, [each.group_id for each in answer.groups]) == (0, listed)


def test_only_groups_that_may_be_deleted_are_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker(
        groups,
        monkeypatch,
        lambda asked: DeleteGroupsResponse(results=[DeletableGroupResult(each, 0) for each in asked.groups_names]),
    )
    rights = ((DELETE, GROUP, "a"), (DESCRIBE, GROUP, "b"))
    found = handled(groups.handle_delete, DeleteGroupsRequest(["a", "b", "a"]), call(*rights))

    assert [list(each.groups_names) for each in broker.asked] == [["a"]]
    assert codes(found.results, "group_id") == [("a", 0), ("b", NO_GROUP)]


def test_consumer_groups_that_may_not_be_described_are_not_requested(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker(groups, monkeypatch, lambda asked: pytest.fail("nothing may be requested"))
    found = handled(groups.handle_consumer_groups, ConsumerGroupDescribeRequest(["a"], False), call((READ, GROUP, "a")))

    assert codes(found.groups, "group_id") == [("a", NO_GROUP)]
    assert broker.asked == []


def fetched(asked: Any) -> OffsetFetchResponse:
    """All of two topics if none are named, else those that are named."""
    if asked.groups:
        return OffsetFetchResponse(groups=[_group(each) for each in asked.groups])
    names = ["orders", "hidden"] if asked.topics is None else [each.name for each in asked.topics]
    return OffsetFetchResponse(
        topics=[OffsetFetchResponseTopic(each, [OffsetFetchResponsePartition(0, 5)]) for each in names]
    )


def _group(asked: OffsetFetchRequestGroup) -> OffsetFetchResponseGroup:
    names = ["orders", "hidden"] if asked.topics is None else [each.name for each in asked.topics]
    return OffsetFetchResponseGroup(
        asked.group_id,
        [OffsetFetchResponseTopics(each, partitions=[OffsetFetchResponsePartitions(0, 5)]) for each in names],
    )


def offsets_of(topics: Iterable[Any]) -> list[tuple[str, int, int]]:
    return [(topic.name, each.committed_offset, each.error_code) for topic in topics for each in topic.partitions]


RIGHTS = ((DESCRIBE, GROUP, "g"), (DESCRIBE, TOPIC, "orders"))


def test_committed_offsets_are_shown_only_for_topics_that_may_be_described(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker(offsets, monkeypatch, fetched)
    wanted = [OffsetFetchRequestTopic(each, [0]) for each in ("hidden", "orders")]
    named = handled(
        offsets.handle_fetch, OffsetFetchRequest("g", wanted, require_stable=True), call(*RIGHTS, version=7)
    )
    everything = handled(offsets.handle_fetch, OffsetFetchRequest("g", None), call(*RIGHTS, version=7))
    refused = handled(offsets.handle_fetch, OffsetFetchRequest("g", None), call(*RIGHTS[1:], version=7))

    assert offsets_of(named.topics) == [("orders", 5, 0), ("hidden", -1, NO_TOPIC)]
    assert offsets_of(everything.topics) == [("orders", 5, 0)]
    assert refused.error_code == NO_GROUP
    assert [each.require_stable for each in broker.asked] == [True, False]


def test_committed_offsets_of_several_groups_are_checked_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker(offsets, monkeypatch, fetched)
    topics = [OffsetFetchRequestTopics(each, partition_indexes=[0]) for each in ("hidden", "orders")]
    asked = [
        OffsetFetchRequestGroup("other", topics=topics),
        OffsetFetchRequestGroup("g", topics=topics),
        OffsetFetchRequestGroup("all", topics=None),
    ]
    rights = (*RIGHTS, (DESCRIBE, GROUP, "all"))
    found = handled(offsets.handle_fetch, OffsetFetchRequest(groups=asked), call(*rights))

    assert codes(found.groups, "group_id") == [("other", NO_GROUP), ("g", 0), ("all", 0)]
    assert [offsets_of(each.topics) for each in found.groups] == [
        [],
        [("orders", 5, 0), ("hidden", -1, NO_TOPIC)],
        [("orders", 5, 0)],
    ]
    (message,) = broker.asked
    assert [(each.group_id, each.topics and [one.name for one in each.topics]) for each in message.groups] == [
        ("g", ["orders"]),
        ("all", None),
    ]


def test_topic_ids_that_the_gateway_does_not_know_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the caller may describe such a topic is unknown."""
    known, unknown = UUID(int=1), UUID(int=2)
    snapshot = SimpleNamespace(topic_ids={known: "orders", UUID(int=3): "hidden"})
    context = SimpleNamespace(service=SimpleNamespace(state=SimpleNamespace(snapshot=snapshot)))

    def answer(asked: Any) -> OffsetFetchResponse:
        """The broker shows all topics, since the gateway's account may describe them."""
        partitions = [OffsetFetchResponsePartitions(0, 5)]
        topics = [OffsetFetchResponseTopics("", UUID(int=each).bytes, partitions) for each in (1, 2, 3)]
        return OffsetFetchResponse(groups=[OffsetFetchResponseGroup(each.group_id, topics) for each in asked.groups])

    broker = Broker(offsets, monkeypatch, answer)
    topics = [OffsetFetchRequestTopics("", UUID(int=each).bytes, [0]) for each in (0, 1, 2, 3)]
    wanted = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=topics)])
    caller = call(*RIGHTS, version=10)
    named = asyncio.run(offsets.handle_fetch(cast(ServerContext, context), wanted, caller, 1))
    everything = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=None)])
    listed = asyncio.run(offsets.handle_fetch(cast(ServerContext, context), everything, caller, 1))

    assert [[each.topic_id for each in group.topics or ()] for group in broker.asked[0].groups] == [[known.bytes]]
    assert [(each.topic_id, each.partitions[0].error_code) for each in named.groups[0].topics] == [
        (known.bytes, 0),
        (bytes(16), ErrorCode.UNKNOWN_TOPIC_ID),
        (unknown.bytes, ErrorCode.UNKNOWN_TOPIC_ID),
        (UUID(int=3).bytes, NO_TOPIC),
    ]
    assert [each.topic_id for each in listed.groups[0].topics] == [known.bytes]


def test_committed_offsets_are_deleted_only_for_topics_that_may_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker(
        offsets,
        monkeypatch,
        lambda asked: OffsetDeleteResponse(0, 9, [OffsetDeleteResponseTopic(each.name, []) for each in asked.topics]),
    )
    topics = [OffsetDeleteRequestTopic(each, [OffsetDeleteRequestPartition(4)]) for each in ("hidden", "orders")]
    request = OffsetDeleteRequest("g", topics)
    rights = ((DELETE, GROUP, "g"), (READ, TOPIC, "orders"))
    found = handled(offsets.handle_delete, request, call(*rights))

    assert [[each.name for each in message.topics] for message in broker.asked] == [["orders"]]
    assert [(topic.name, codes(topic.partitions, "partition_index")) for topic in found.topics] == [
        ("orders", []),
        ("hidden", [(4, NO_TOPIC)]),
    ]
    assert found.throttle_time_ms == 0
    assert handled(offsets.handle_delete, request, call(*rights[1:])).error_code == NO_GROUP
    assert len(handled(offsets.handle_delete, request, call(*rights[:1])).topics) == 2
    assert len(broker.asked) == 1
