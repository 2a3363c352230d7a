"""Requests of admin tools that are not about configuration: offsets, groups, transactions, leaders, replicas.

Neither server has messages or groups. `coordinators` makes a real broker create its internal topics, so it runs after
all scenarios that list all topics.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from kconf.protocol.messages import describe_producers as producers
from kconf.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kconf.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kconf.protocol.messages.delete_groups import DeleteGroupsRequest
from kconf.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from kconf.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from kconf.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from kconf.protocol.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from kconf.protocol.messages.describe_transactions import DescribeTransactionsRequest, DescribeTransactionsResponse
from kconf.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from kconf.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kconf.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kconf.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from kconf.protocol.messages.list_transactions import ListTransactionsRequest
from kconf.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kconf.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from tests.conformance.differential.ask import Ask, id_of
from tests.conformance.differential.draw import Draw, topic
from tests.conformance.differential.side import Side

_TIMESTAMPS = (-1, -1, -2, -2, -3, -4, -5, -6, -7, 0, 1_000, 10**13)
TRANSACTIONAL_ID_NOT_FOUND = 105
_PARTITIONS = (0, 0, 1, 2, 9, -1)


def partitions(draw: Draw) -> Iterator[Ask]:
    """Offsets, records, producers, leaders and replicas of partitions: existing, missing, and repeated."""
    name = draw.name()
    yield draw.create(topic(name, 3, 1), version=7)
    for _ in range(2):
        yield _list_offsets(draw, name, draw.one(draw.versions["ListOffsets"]))
        yield _delete_records(draw, name)
        yield draw.ask("DescribeProducers", producers.DescribeProducersRequest([_producers(draw, name)]))
        yield _elect(draw, name)
        yield _reassign(draw, name)
        wanted = [ListPartitionReassignmentsTopics(_name(draw, name), _indexes(draw))]
        listed = ListPartitionReassignmentsRequest(topics=draw.one((None, [], wanted)))
        yield draw.ask("ListPartitionReassignments", listed)
        yield draw.ask("DescribeDelegationToken", DescribeDelegationTokenRequest(draw.one((None, []))))
        dirs = draw.one((None, [DescribableLogDirTopic(_name(draw, name), _indexes(draw))]))
        yield draw.ask("DescribeLogDirs", DescribeLogDirsRequest(dirs))
    yield draw.delete(name)


def _name(draw: Draw, name: str) -> str:
    return draw.one((name, name, name, draw.name("missing"), ""))


def _indexes(draw: Draw) -> list[int]:
    return draw.some(_PARTITIONS, draw.random.randint(0, 4))


def _list_offsets(draw: Draw, name: str, version: int) -> Ask:
    epochs = (-1, -1, 0, 7) if version >= 4 else (-1,)
    wanted = [
        ListOffsetsTopic(
            _name(draw, name),
            [ListOffsetsPartition(each, draw.one(epochs), draw.one(_TIMESTAMPS)) for each in _indexes(draw)],
        )
    ]
    return draw.ask("ListOffsets", ListOffsetsRequest(-1, draw.one((0, 1)), wanted), version)


def _delete_records(draw: Draw, name: str) -> Ask:
    wanted = [DeleteRecordsPartition(each, draw.one((0, 0, -1, 1, -2))) for each in set(_indexes(draw))]
    return draw.ask("DeleteRecords", DeleteRecordsRequest([DeleteRecordsTopic(_name(draw, name), wanted)], 5_000))


def _producers(draw: Draw, name: str) -> producers.TopicRequest:
    return producers.TopicRequest(draw.one((name, draw.name("missing"), "", "a b")), _indexes(draw))


def _elect(draw: Draw, name: str) -> Ask:
    wanted = [TopicPartitions(_name(draw, name), _indexes(draw))]
    timeout = draw.one((10_000, 10_000, 0))
    return draw.ask("ElectLeaders", ElectLeadersRequest(draw.one((0, 0, 1, 5)), draw.one((wanted, [])), timeout))


def _reassign(draw: Draw, name: str) -> Ask:
    choices: tuple[list[int] | None, ...] = ([1], [1], None, [], [2], [1, 1], [1, 2], [-1])
    wanted = [ReassignablePartition(each, draw.one(choices)) for each in _indexes(draw)]
    topics = draw.one(([ReassignableTopic(_name(draw, name), wanted)], []))
    request = AlterPartitionReassignmentsRequest(draw.one((10_000, 10_000, 0)), draw.chance(0.5), topics)
    return draw.ask("AlterPartitionReassignments", request)


def coordinators(draw: Draw) -> Iterator[Ask]:
    """Groups and transactions that do not exist, in every version."""
    name = draw.name()
    yield draw.create(topic(name, 2, 1), version=7)
    for version in draw.versions["ListOffsets"]:
        yield _list_offsets(draw, name, version)
    for version in draw.versions["FindCoordinator"]:
        for kind in (0, 1, 2, 9) if version >= 1 else (0,):
            keys = ["g", ""] if version >= 4 else []
            yield draw.ask("FindCoordinator", FindCoordinatorRequest("g", kind, keys), version)
    for number in range(5):
        groups = draw.some(("g", "", f"group-{number}", "ä"), 3)
        for version in draw.versions["DescribeGroups"]:
            yield draw.ask("DescribeGroups", DescribeGroupsRequest(groups, version >= 3 and number == 0), version)
        for version in (*draw.versions["ConsumerGroupDescribe"],) * 2:
            yield draw.ask("ConsumerGroupDescribe", ConsumerGroupDescribeRequest(groups, number == 0), version)
        for version in (*draw.versions["DeleteGroups"],) * 2:
            yield draw.ask("DeleteGroups", DeleteGroupsRequest([*groups, groups[0]]), version)
        for version in draw.versions["OffsetFetch"]:
            yield _offset_fetch(draw, name, version)
    for _ in range(20):
        yield _offset_delete(draw, name)
        transactions = draw.some(("t", "", "ä"), 2)
        yield draw.ask("DescribeTransactions", DescribeTransactionsRequest(transactions))
        yield _list_transactions(draw)
    yield draw.delete(name)


def _offset_fetch(draw: Draw, name: str, version: int) -> Ask:
    if version < 8:
        topics = [OffsetFetchRequestTopic(_name(draw, name), _indexes(draw))]
        wanted = None if version >= 2 and draw.chance(0.3) else topics
        return draw.ask("OffsetFetch", OffsetFetchRequest(draw.one(("g", "")), wanted), version)
    asked = OffsetFetchRequestTopics(_name(draw, name), partition_indexes=_indexes(draw))
    if version >= 10:
        topic_id = draw.one((id_of(name), draw.random.randbytes(16)))
        asked = OffsetFetchRequestTopics(topic_id=topic_id, partition_indexes=_indexes(draw))
    groups = [OffsetFetchRequestGroup("g", topics=[asked]), OffsetFetchRequestGroup("h", topics=None)]
    return draw.ask("OffsetFetch", OffsetFetchRequest(groups=groups), version)


def _offset_delete(draw: Draw, name: str) -> Ask:
    partitions = [OffsetDeleteRequestPartition(each) for each in _indexes(draw)]
    topics = draw.one(([], [OffsetDeleteRequestTopic(_name(draw, name), partitions)]))
    return draw.ask("OffsetDelete", OffsetDeleteRequest(draw.one(("g", "g", "")), topics))


def _list_transactions(draw: Draw) -> Ask:
    version = draw.one(draw.versions["ListTransactions"])
    states = draw.some(("Ongoing", "Empty", "Dead", "PrepareEpochFence", "nonsense", ""), 3)
    pattern = draw.one((None, "", "a.*", "a(", "[")) if version >= 2 else None
    return draw.ask("ListTransactions", ListTransactionsRequest(states, [7], -1, pattern), version)


def await_coordinators(kafka: Side, seconds: float = 60.0) -> None:
    """Wait until a real broker has its coordinators; the first request creates their topics."""
    deadline = time.monotonic() + seconds
    for question in (
        Ask("FindCoordinator", 1, FindCoordinatorRequest("g", 0)),
        Ask("FindCoordinator", 1, FindCoordinatorRequest("g", 1)),
        Ask("DescribeGroups", 0, DescribeGroupsRequest(["g"])),
        Ask("DescribeTransactions", 0, DescribeTransactionsRequest(["t"])),
    ):
        while not _is_ready(answer := kafka.ask(question)):
            assert time.monotonic() < deadline, f"there is no coordinator: {answer}"
            time.sleep(0.1)
    kafka.close()


def _is_ready(answer: object) -> bool:
    match answer:
        case FindCoordinatorResponse():
            return answer.error_code == 0
        case DescribeGroupsResponse():
            return answer.groups[0].error_code == 0
        case DescribeTransactionsResponse():
            return answer.transaction_states[0].error_code == TRANSACTIONAL_ID_NOT_FOUND
    return False
