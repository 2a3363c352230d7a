"""Offsets, records, producers, leaders and replicas of partitions without messages.

tests/conformance/differential/scenarios/data_plane.py compares this with a real broker.
"""

from __future__ import annotations

from typing import Any

import pytest

from kconf.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kconf.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from kconf.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kconf.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from kconf.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kconf.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from tests.unit.server.api.data_plane.world import TOPIC, asked


def listed(version: int, *wanted: tuple[int, int, int], name: str = TOPIC) -> list[tuple[int, int, int]]:
    """Partition, code and offset, for partition, leader epoch and timestamp."""
    topics = [ListOffsetsTopic(name, [ListOffsetsPartition(*each) for each in wanted])]
    answer = asked("ListOffsets", ListOffsetsRequest(-1, topics=topics), version)
    return [(each.partition_index, each.error_code, each.offset) for each in answer.topics[0].partitions]


def test_a_partition_begins_and_ends_at_offset_0() -> None:
    assert listed(11, (0, -1, -1), (1, 0, -2)) == [(0, 0, 0), (1, 0, 0)]
    assert listed(1, (0, -1, -1), (1, -1, 1_000)) == [(0, 0, 0), (1, 0, -1)]


def test_version_0_has_a_list_of_offsets() -> None:
    partitions = [ListOffsetsPartition(0, timestamp=-1, max_num_offsets=3), ListOffsetsPartition(1, timestamp=5)]
    answer = asked("ListOffsets", ListOffsetsRequest(-1, topics=[ListOffsetsTopic(TOPIC, partitions)]), 0)

    assert [list(each.old_style_offsets) for each in answer.topics[0].partitions] == [[0], []]


@pytest.mark.parametrize(("timestamp", "since"), [(-3, 7), (-4, 8), (-5, 9), (-6, 11), (-7, 12)])
def test_a_special_timestamp_needs_its_version_of_list_offsets(timestamp: int, since: int) -> None:
    codes = {version: listed(version, (0, -1, timestamp))[0][1] for version in range(1, 12)}

    assert codes == {version: 0 if version >= since else 35 for version in range(1, 12)}


def test_missing_and_repeated_partitions_and_other_epochs_are_errors() -> None:
    assert listed(11, (2, -1, -1), (-1, -1, -1)) == [(2, 3, -1), (-1, 3, -1)]
    assert listed(11, (0, -1, -1), (0, -1, -1)) == [(0, 42, -1)]
    assert listed(11, (0, 1, -1)) == [(0, 75, -1)]
    assert listed(11, (0, -1, -1), name="missing") == [(0, 3, -1)]


def test_there_are_no_records_to_delete() -> None:
    wanted = [DeleteRecordsPartition(0, 0), DeleteRecordsPartition(1, 7), DeleteRecordsPartition(2, 0)]
    answer = asked("DeleteRecords", DeleteRecordsRequest([DeleteRecordsTopic(TOPIC, wanted)], 1000))

    assert [(each.partition_index, each.low_watermark, each.error_code) for each in answer.topics[0].partitions] == [
        (0, 0, 0),
        (1, -1, 1),
        (2, -1, 3),
    ]


def elected(request: ElectLeadersRequest) -> tuple[int, list[tuple[str, list[int]]]]:
    answer = asked("ElectLeaders", request)
    results = answer.replica_election_results
    return answer.error_code, [(each.topic, [one.error_code for one in each.partition_result]) for each in results]


def test_no_election_is_needed() -> None:
    wanted = [TopicPartitions(TOPIC, [0, 1, 2]), TopicPartitions("missing", [0])]

    assert elected(ElectLeadersRequest(0, wanted)) == (0, [(TOPIC, [84, 84, 3]), ("missing", [3])])
    assert elected(ElectLeadersRequest(1, None)) == (0, [(TOPIC, [])])
    assert elected(ElectLeadersRequest(5, wanted[1:])) == (42, [("missing", [42])])
    assert elected(ElectLeadersRequest(5, wanted[1:], 0)) == (7, [("missing", [7])])
    assert elected(ElectLeadersRequest(5, [], 0)) == (0, [])


def reassigned(*wanted: list[int] | None, name: str = TOPIC) -> list[int]:
    partitions = [ReassignablePartition(index, each) for index, each in enumerate(wanted)]
    request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(name, partitions)])
    answer = asked("AlterPartitionReassignments", request)
    return [each.error_code for each in answer.responses[0].partitions]


def test_reassigning_a_partition_is_refused() -> None:
    assert reassigned([1], None, [1]) == [0, 85, 3]
    assert reassigned([], [2]) == [39, 39]
    assert reassigned([1, 1], [1, 2]) == [39, 39]
    assert reassigned([1], name="missing") == [3]
    assert asked("ListPartitionReassignments", ListPartitionReassignmentsRequest()).topics == []


def test_a_response_about_a_topic_with_a_long_name_can_be_encoded() -> None:
    assert reassigned([1], name="x" * 32_767) == [3]


def test_there_is_no_log_directory() -> None:
    for version in range(6):
        answer: Any = asked("DescribeLogDirs", DescribeLogDirsRequest(None), version)
        assert answer.error_code == 0
        assert [(each.error_code, each.log_dir, each.topics) for each in answer.results] == [(57, "", [])]
