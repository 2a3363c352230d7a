"""Topics in a client's journal while the metadata of the broker is older than the change."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from kconf import ClientJournal, ConnectionFailed, NewTopic, UnsupportedVersion
from kconf.client.journal.files import read_journal
from kconf.client.journal.record_topics import MAX_READS
from kconf.model.snapshot import encode_id
from kconf.protocol.messages.create_partitions import CreatePartitionsResponse, CreatePartitionsTopicResult
from kconf.protocol.messages.create_topics import CreatableTopicResult, CreateTopicsResponse
from kconf.protocol.messages.describe_quorum import DescribeQuorumResponse, QuorumPartition, QuorumTopic
from kconf.protocol.messages.metadata import (
    MetadataBroker,
    MetadataPartition,
    MetadataRequest,
    MetadataResponse,
    MetadataTopic,
)
from tests.unit.client.drivers import KINDS, driver
from tests.unit.client.fake import CLOSE, KAFKA_43, FakeBroker

NEW, OLD = uuid4(), uuid4()
UNKNOWN_TOPIC = 3
METADATA, CREATE_TOPICS, DESCRIBE_CLUSTER = 3, 19, 60


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    made_one = CreatableTopicResult(name="orders", topic_id=NEW.bytes, num_partitions=2, replication_factor=1)
    with FakeBroker({key: each for key, each in KAFKA_43.items() if key != DESCRIBE_CLUSTER}) as made:
        made.handlers["CreateTopics"] = lambda *_: CreateTopicsResponse(0, [made_one])
        made.handlers["CreatePartitions"] = lambda *_: CreatePartitionsResponse(
            0, [CreatePartitionsTopicResult("orders", 0)]
        )
        yield made


def shown(broker: FakeBroker, *looks: tuple[UUID, int] | None) -> None:
    """The topic in each response of the broker: its ID and partitions, or nothing. The last one is repeated."""
    left = list(looks)

    def metadata(asked: Any, _version: int) -> MetadataResponse:
        nodes = [MetadataBroker(broker.node_id, "127.0.0.1", broker.port)]
        topics = []
        if asked.topics:
            found = left.pop(0) if len(left) > 1 else left[0]
            if found is None:
                topics = [MetadataTopic(UNKNOWN_TOPIC, "orders")]
            else:
                partitions = [MetadataPartition(0, each, 1, 0, [1], [1], []) for each in range(found[1])]
                topics = [MetadataTopic(0, "orders", found[0].bytes, False, partitions)]
        return MetadataResponse(0, nodes, "fake", broker.node_id, topics)

    broker.handlers["Metadata"] = metadata


def told(kind: str, broker: FakeBroker, directory: Path, change: str) -> Any:
    journal = ClientJournal(directory)
    with driver(kind, broker.address, backoff=0.001, backoff_max=0.001, journal=journal) as admin:
        if change == "create":
            admin.create_topics([NewTopic("orders", 2, 1)]).raise_for_failures()
        else:
            admin.create_partitions({"orders": 3}).raise_for_failures()
    (line,) = read_journal(directory, "fake").changes
    return json.loads(line["after"])


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_topic_is_recorded_once_the_broker_shows_it(kind: str, broker: FakeBroker, tmp_path: Path) -> None:
    shown(broker, None, None, (OLD, 9), (NEW, 2))

    assert told(kind, broker, tmp_path, "create") == {"id": encode_id(NEW), "replicas": [[1], [1]]}


@pytest.mark.parametrize("kind", KINDS)
def test_each_config_of_a_new_topic_is_recorded_as_set(kind: str, broker: FakeBroker, tmp_path: Path) -> None:
    shown(broker, (NEW, 2))
    configs = [("cleanup.policy", "compact"), ("retention.ms", "5")]
    with driver(kind, broker.address, journal=ClientJournal(tmp_path)) as admin:
        admin.create_topics([NewTopic("orders", 2, 1, configs=configs)]).raise_for_failures()

    topic, *lines = read_journal(tmp_path, "fake").changes
    assert (topic["op"], topic["key"]) == ("create", "")
    assert [(line["op"], line["key"], line["before"], line["after"]) for line in lines] == [
        ("set", "cleanup.policy", None, "compact"),
        ("set", "retention.ms", None, "5"),
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_new_partitions_are_recorded_once_the_broker_shows_them(kind: str, broker: FakeBroker, tmp_path: Path) -> None:
    shown(broker, (NEW, 2), (NEW, 2), (NEW, 3))

    assert told(kind, broker, tmp_path, "grow") == {"id": encode_id(NEW), "replicas": [[1], [1], [1]]}


@pytest.mark.parametrize("kind", KINDS)
def test_a_request_that_a_broker_cannot_serve_is_recorded_as_refused(
    kind: str, broker: FakeBroker, tmp_path: Path
) -> None:
    shown(broker, None)
    del broker.versions[CREATE_TOPICS]
    with (
        driver(kind, broker.address, journal=ClientJournal(tmp_path)) as admin,
        pytest.raises(UnsupportedVersion),
    ):
        admin.create_topics(["orders"])

    found = read_journal(tmp_path, "fake")
    assert (found.changes, found.unknown) == ([], [])
    assert [(each["resource_name"], each["error"]) for each in found.attempts] == [("orders", 35)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_request_without_a_response_has_an_unknown_outcome(kind: str, broker: FakeBroker, tmp_path: Path) -> None:
    shown(broker, None)
    broker.handlers["CreateTopics"] = lambda *_: CLOSE
    with driver(kind, broker.address, journal=ClientJournal(tmp_path)) as admin, pytest.raises(ConnectionFailed):
        admin.create_topics(["orders"])

    found = read_journal(tmp_path, "fake")
    assert (found.changes, found.attempts) == ([], [])
    assert [each["resource_name"] for each in found.unknown] == ["orders"]


@pytest.mark.parametrize("late", [None, (OLD, 9)], ids=["nothing", "the one before it"])
def test_a_topic_that_a_broker_never_shows_is_recorded_from_the_create_response(
    broker: FakeBroker, tmp_path: Path, late: tuple[UUID, int] | None
) -> None:
    shown(broker, late)

    assert told("sync", broker, tmp_path, "create") == {"id": encode_id(NEW), "partitions": 2, "replication": 1}
    looks = [each for each in broker.requests if isinstance(each, MetadataRequest) and each.topics]
    assert len(looks) == MAX_READS


def test_a_topic_is_recorded_from_the_create_response_if_reading_it_fails(broker: FakeBroker, tmp_path: Path) -> None:
    """The connection is lost after the topic was created, and the broker no longer has the API that describes it."""
    shown(broker, (NEW, 2))
    readable = broker.handlers["Metadata"]

    def metadata(asked: Any, version: int) -> Any:
        if not asked.topics:
            return readable(asked, version)
        broker.versions.pop(METADATA, None)
        return CLOSE

    broker.handlers["Metadata"] = metadata

    assert told("sync", broker, tmp_path, "create") == {"id": encode_id(NEW), "partitions": 2, "replication": 1}


def test_a_topic_is_recorded_as_created_if_the_response_that_describes_it_is_damaged(
    broker: FakeBroker, tmp_path: Path
) -> None:
    shown(broker, (NEW, 2))
    readable = broker.handlers["Metadata"]
    broker.handlers["Metadata"] = lambda asked, version: readable(asked, version) if not asked.topics else b"\xff"

    assert told("sync", broker, tmp_path, "create") == {"id": encode_id(NEW), "partitions": 2, "replication": 1}


def test_a_topic_of_an_old_broker_that_never_shows_it_has_the_counts_that_were_requested(
    broker: FakeBroker, tmp_path: Path
) -> None:
    old = CreatableTopicResult(name="orders", topic_id=UUID(int=0).bytes, num_partitions=-1, replication_factor=-1)
    broker.handlers["CreateTopics"] = lambda *_: CreateTopicsResponse(0, [old])
    shown(broker, None)

    assert told("sync", broker, tmp_path, "create") == {"partitions": 2, "replication": 1}


def test_each_of_many_topics_has_its_id_while_the_broker_shows_only_the_first(
    broker: FakeBroker, tmp_path: Path
) -> None:
    """520 topics are described by several requests; on a busy machine the metadata of later ones came too late."""
    ids = {f"t{number}": uuid4() for number in range(520)}

    def created(asked: Any, _version: int) -> CreateTopicsResponse:
        made = [CreatableTopicResult(name=each.name, topic_id=ids[each.name].bytes) for each in asked.topics]
        return CreateTopicsResponse(0, made)

    def metadata(asked: Any, _version: int) -> MetadataResponse:
        nodes = [MetadataBroker(broker.node_id, "127.0.0.1", broker.port)]
        partition = MetadataPartition(0, 0, 1, 0, [1], [1], [])
        topics = [
            MetadataTopic(0, each.name, ids[each.name].bytes, False, [partition])
            if int(each.name[1:]) < 250
            else MetadataTopic(UNKNOWN_TOPIC, each.name)
            for each in asked.topics or ()
        ]
        return MetadataResponse(0, nodes, "fake", broker.node_id, topics)

    broker.handlers |= {"CreateTopics": created, "Metadata": metadata}
    with driver("sync", broker.address, backoff=0.001, backoff_max=0.001, journal=ClientJournal(tmp_path)) as admin:
        admin.create_topics([NewTopic(name, 1, 1) for name in ids]).raise_for_failures()

    lines = read_journal(tmp_path, "fake").changes
    assert {line["resource_name"]: json.loads(line["after"])["id"] for line in lines} == {
        name: encode_id(each) for name, each in ids.items()
    }


@pytest.mark.parametrize("kind", KINDS)
def test_the_offsets_between_which_a_change_was_committed_are_recorded(
    kind: str, broker: FakeBroker, tmp_path: Path
) -> None:
    ends = [40, 43]
    broker.handlers["DescribeQuorum"] = lambda *_: DescribeQuorumResponse(
        0, None, [QuorumTopic("__cluster_metadata", [QuorumPartition(0, 0, None, 1, 1, ends.pop(0))])]
    )
    shown(broker, (NEW, 2))

    told(kind, broker, tmp_path, "create")

    (line,) = read_journal(tmp_path, "fake").changes
    assert (line["log_begin"], line["log_end"]) == (40, 43)
    names = [name for name, _ in broker.asked if name != "Metadata"]
    assert names[names.index("CreateTopics") - 1] == names[names.index("CreateTopics") + 1] == "DescribeQuorum"


def test_a_client_without_the_right_to_read_log_offsets_records_only_times(broker: FakeBroker, tmp_path: Path) -> None:
    shown(broker, (NEW, 2))

    told("sync", broker, tmp_path, "create")

    (line,) = read_journal(tmp_path, "fake").changes
    assert line["answered"] >= line["time"]
    assert "log_begin" not in line
    assert [name for name, _ in broker.asked].count("DescribeQuorum") == 1
