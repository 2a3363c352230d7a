"""Error responses of APIs about messages, groups and replicas: one error code per element (error_responses.py).

APIs with a single error code in the response are not listed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from kconf.protocol.messages import consumer_group_describe as consumer_groups
from kconf.protocol.messages import describe_producers as producers
from kconf.protocol.messages import describe_transactions as transactions
from kconf.protocol.messages.alter_partition_reassignments import (
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from kconf.protocol.messages.delete_groups import DeletableGroupResult
from kconf.protocol.messages.delete_records import DeleteRecordsPartitionResult, DeleteRecordsTopicResult
from kconf.protocol.messages.describe_groups import DescribedGroup
from kconf.protocol.messages.elect_leaders import PartitionResult, ReplicaElectionResult
from kconf.protocol.messages.fetch import FetchedPartition, FetchedTopic
from kconf.protocol.messages.find_coordinator import Coordinator
from kconf.protocol.messages.list_offsets import ListOffsetsPartitionResponse, ListOffsetsTopicResponse
from kconf.protocol.messages.offset_fetch import (
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from kconf.protocol.messages.produce import PartitionProduceResponse, TopicProduceResponse
from kconf.util.slices import in_slices

FIELDS: Final[Mapping[str, Callable[[Any, int], dict[str, Any]]]] = {
    "Produce": lambda request, code: {
        "responses": [
            TopicProduceResponse(
                topic.name,
                topic.topic_id,
                [PartitionProduceResponse(each.index, code, -1) for each in in_slices(topic.partition_data)],
            )
            for topic in in_slices(request.topic_data)
        ]
    },
    "Fetch": lambda request, code: {
        "error_code": code,
        "responses": [
            FetchedTopic(
                topic.topic,
                topic.topic_id,
                [FetchedPartition(each.partition, code, -1) for each in in_slices(topic.partitions)],
            )
            for topic in in_slices(request.topics)
        ],
    },
    "ListOffsets": lambda request, code: {
        "topics": [
            ListOffsetsTopicResponse(
                topic.name,
                [ListOffsetsPartitionResponse(each.partition_index, code) for each in in_slices(topic.partitions)],
            )
            for topic in in_slices(request.topics)
        ]
    },
    "OffsetFetch": lambda request, code: {
        "topics": [
            OffsetFetchResponseTopic(
                topic.name,
                [
                    OffsetFetchResponsePartition(each, -1, error_code=code)
                    for each in in_slices(topic.partition_indexes)
                ],
            )
            for topic in in_slices(request.topics or ())
        ],
        "error_code": code,
        "groups": [OffsetFetchResponseGroup(each.group_id, (), code) for each in in_slices(request.groups)],
    },
    "FindCoordinator": lambda request, code: {
        "error_code": code,
        "error_message": None,
        "node_id": -1,
        "port": -1,
        "coordinators": [Coordinator(key, -1, "", -1, code, None) for key in in_slices(request.coordinator_keys)],
    },
    "DescribeGroups": lambda request, code: {
        "groups": [DescribedGroup(code, None, group) for group in in_slices(request.groups)]
    },
    "DeleteRecords": lambda request, code: {
        "topics": [
            DeleteRecordsTopicResult(
                topic.name,
                [DeleteRecordsPartitionResult(each.partition_index, -1, code) for each in in_slices(topic.partitions)],
            )
            for topic in in_slices(request.topics)
        ]
    },
    "DescribeDelegationToken": lambda request, code: {"error_code": code, "tokens": ()},
    "DeleteGroups": lambda request, code: {
        "results": [DeletableGroupResult(group, code) for group in in_slices(request.groups_names)]
    },
    "ElectLeaders": lambda request, code: {
        "error_code": code,
        "replica_election_results": [
            ReplicaElectionResult(
                topic.topic, [PartitionResult(each, code, None) for each in in_slices(topic.partitions)]
            )
            for topic in in_slices(request.topic_partitions or ())
        ],
    },
    "AlterPartitionReassignments": lambda request, code: {
        "error_code": code,
        "error_message": None,
        "responses": [
            ReassignableTopicResponse(
                topic.name,
                [
                    ReassignablePartitionResponse(each.partition_index, code, None)
                    for each in in_slices(topic.partitions)
                ],
            )
            for topic in in_slices(request.topics)
        ],
    },
    "DescribeProducers": lambda request, code: {
        "topics": [
            producers.TopicResponse(
                topic.name, [producers.PartitionResponse(each, code) for each in in_slices(topic.partition_indexes)]
            )
            for topic in in_slices(request.topics)
        ]
    },
    "DescribeTransactions": lambda request, code: {
        "transaction_states": [
            transactions.TransactionState(code, each, "", 0, 0, 0, 0, ())
            for each in in_slices(request.transactional_ids)
        ]
    },
    "ConsumerGroupDescribe": lambda request, code: {
        "groups": [consumer_groups.DescribedGroup(code, None, group) for group in in_slices(request.group_ids)]
    },
}
