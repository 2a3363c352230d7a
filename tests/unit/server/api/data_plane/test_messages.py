"""Produce and Fetch: refused for each partition, without effect."""

from __future__ import annotations

import pytest

from kconf.errors import RemoteProtocolError
from kconf.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kconf.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.unit.server.api.data_plane.world import TOPIC, World, asked

PARTITIONS = [PartitionProduceData(0, b"records"), PartitionProduceData(1, None)]


@pytest.mark.parametrize("version", range(13))
def test_a_producer_is_refused_at_each_partition(version: int) -> None:
    answer = asked("Produce", ProduceRequest(None, -1, 1000, [TopicProduceData(TOPIC, bytes(16), PARTITIONS)]), version)

    (topic,) = answer.responses
    assert topic.name == TOPIC
    assert [(each.index, each.error_code, each.base_offset) for each in topic.partition_responses] == [
        (0, 42, -1),
        (1, 42, -1),
    ]
    message = "this server stores no messages" if version >= 8 else None
    assert {each.error_message for each in topic.partition_responses} == {message}


def test_from_version_13_on_a_producer_names_topics_by_their_ids() -> None:
    def message(world: World) -> ProduceRequest:
        ids = (world.topic_id, b"x" * 16)
        return ProduceRequest(None, 1, 1000, [TopicProduceData("", each, PARTITIONS[:1]) for each in ids])

    answer = asked("Produce", message, 13)

    assert [each.error_code for topic in answer.responses for each in topic.partition_responses] == [42, 100]


def test_a_producer_that_wants_no_response_loses_its_connection() -> None:
    with pytest.raises(RemoteProtocolError, match="stores no messages"):
        asked("Produce", ProduceRequest(None, 0, 1000, [TopicProduceData(TOPIC, bytes(16), PARTITIONS)]), 7)


@pytest.mark.parametrize("version", range(19))
def test_a_consumer_is_refused_at_each_partition(version: int) -> None:
    def message(world: World) -> FetchRequest:
        named = FetchTopic(TOPIC) if version < 13 else FetchTopic(topic_id=world.topic_id)
        named.partitions = [FetchPartition(0), FetchPartition(1)]
        return FetchRequest(topics=[named])

    answer = asked("Fetch", message, version)

    assert (answer.error_code, answer.session_id) == (0, 0)
    assert [
        (each.partition_index, each.error_code, each.records) for topic in answer.responses for each in topic.partitions
    ] == [(0, 42, None), (1, 42, None)]


def test_without_rights_topics_are_not_revealed() -> None:
    topics = [TopicProduceData(name, bytes(16), PARTITIONS[:1]) for name in (TOPIC, "missing")]

    answer = asked("Produce", ProduceRequest(None, 1, 1000, topics), 12, authorize=lambda *_: False)

    assert [each.error_code for topic in answer.responses for each in topic.partition_responses] == [29, 29]
