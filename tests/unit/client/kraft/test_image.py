"""Metadata records: the change that each one makes, and the resulting image."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kconf.client.kraft.checkpoint import Checkpoint
from kconf.client.kraft.image import MetadataImage
from kconf.client.kraft.image_difference import difference
from kconf.model.journal import Change, Revision
from kconf.model.resource import Resource, ResourceType
from kconf.protocol.records import metadata
from kconf.protocol.records.batches import read_batches
from tests.unit.client.kraft.log import batch, new_topic, topic_config, topic_id

ORDERS = Resource.topic("orders")


def apply(image: MetadataImage, base: int, *records: Any) -> list[Revision]:
    (one,) = read_batches(batch(base, records))
    return image.apply(one)


def short(revisions: list[Revision]) -> list[tuple[int, str, str, str | None, str | None]]:
    return [
        (each.number, change.op, change.key, change.before, change.after)
        for each in revisions
        for change in each.changes
        if change.kind == "config"
    ]


def test_a_new_topic_is_one_change_and_each_of_its_configs_another() -> None:
    image = MetadataImage()

    made = apply(image, 10, *new_topic("orders", 1, 3), topic_config("orders", "retention.ms", "5"))

    assert [each.number for each in made] == [10, 14]
    assert (made[0].changes[0].op, made[0].changes[0].kind) == ("create", "topic")
    assert json.loads(made[0].changes[0].after or "")["replicas"] == [[1], [1], [1]]
    assert made[1].changes == (Change("config", ORDERS, "retention.ms", None, "5", "set"),)  # type: ignore[arg-type]


def test_two_values_in_one_batch_are_two_changes() -> None:
    """Two requests may share a batch: a value that was set and replaced within 25 ms is not lost."""
    image = MetadataImage()
    apply(image, 0, *new_topic("orders", 1))

    made = apply(image, 2, topic_config("orders", "retention.ms", "1"), topic_config("orders", "retention.ms", "2"))

    assert [(each.number, change.before, change.after) for each in made for change in each.changes] == [
        (2, None, "1"),
        (3, "1", "2"),
    ]


def test_removing_a_topic_removes_its_configs() -> None:
    image = MetadataImage()
    apply(image, 0, *new_topic("orders", 1), topic_config("orders", "retention.ms", "5"))

    (removed,) = apply(image, 5, metadata.RemoveTopicRecord(topic_id(1)))

    assert [(each.kind, each.op, each.key, each.after) for each in removed.changes] == [
        ("config", "delete", "retention.ms", None),
        ("topic", "delete", "", None),
    ]
    assert (image.topics, image.configs) == ({}, {})


def test_a_topic_created_again_has_no_configs_of_the_old_one() -> None:
    image = MetadataImage()
    apply(image, 0, *new_topic("orders", 1), topic_config("orders", "retention.ms", "5"))

    made = apply(image, 4, metadata.RemoveTopicRecord(topic_id(1)), *new_topic("orders", 2))

    assert [change.op for each in made for change in each.changes] == ["delete", "delete", "create"]
    assert image.overrides(ORDERS) == {}
    assert image.topics["orders"].id.bytes == topic_id(2)


def test_a_contradictory_log_is_read_without_an_error() -> None:
    """A name that gets another ID without a removal; Kafka never writes that."""
    image = MetadataImage()
    apply(image, 0, *new_topic("orders", 1))
    apply(image, 2, *new_topic("orders", 2))

    assert apply(image, 4, metadata.RemoveTopicRecord(topic_id(1))) == []
    assert [each.op for each in apply(image, 5, metadata.RemoveTopicRecord(topic_id(2)))[0].changes] == ["delete"]
    assert dict(image.skipped) == {"removal of a topic whose name belongs to another topic": 1}


def test_growth_and_reassignment_are_distinguished() -> None:
    image = MetadataImage()
    apply(image, 0, *new_topic("orders", 1, 1))

    (grown,) = apply(image, 2, metadata.PartitionRecord(1, topic_id(1), [2]))
    (moved,) = apply(image, 3, metadata.PartitionChangeRecord(0, topic_id(1), replicas=[3]))
    unmoved = apply(image, 4, metadata.PartitionChangeRecord(0, topic_id(1), isr=[3], leader=3))

    assert (grown.changes[0].op, moved.changes[0].op, unmoved) == ("grow", "reassign", [])
    assert image.topics["orders"].replicas == ((3,), (2,))


def test_transactions_take_effect_at_their_end_and_not_if_aborted() -> None:
    image = MetadataImage()
    begin, end = metadata.BeginTransactionRecord(), metadata.EndTransactionRecord()
    apply(image, 0, *new_topic("orders", 1))

    during = apply(image, 2, begin, topic_config("orders", "retention.ms", "1"))
    at_end = apply(image, 4, topic_config("orders", "segment.ms", "2"), end)
    apply(image, 6, begin, topic_config("orders", "flush.ms", "3"))
    aborted = apply(image, 8, metadata.AbortTransactionRecord())

    assert during == []
    assert short(at_end) == [(3, "set", "retention.ms", None, "1"), (4, "set", "segment.ms", None, "2")]
    assert (aborted, image.overrides(ORDERS)) == ([], {"retention.ms": "1", "segment.ms": "2"})


def test_no_secret_is_in_a_change_an_image_or_a_checkpoint() -> None:
    image = MetadataImage()
    listener = "listener.name.x.ssl.truststore.password"
    scram = metadata.UserScramCredentialRecord("bob", 1, b"SALTSALT", b"STOREDKEY", b"SERVERKEY", 8192)

    made = apply(
        image,
        0,
        metadata.ConfigRecord(4, "1", listener, "hunter2"),
        metadata.ConfigRecord(4, "", "my.own.key", "hunter3"),
        metadata.ConfigRecord(4, "", "log.retention.ms", "77"),
        scram,
    )

    assert short(made) == [
        (0, "set", listener, None, "log:0"),
        (1, "set", "my.own.key", None, "log:1"),
        (2, "set", "log.retention.ms", None, "77"),
        (3, "set", "SCRAM-SHA-256", None, "iterations=8192 log:3"),
    ]
    assert [change.sensitive for each in made for change in each.changes] == [True, True, False, True]
    told = json.dumps(Checkpoint("c", 4, 1, image).to_json()) + repr(vars(image)) + repr(made)
    assert not [each for each in ("hunter", "SALT", "STORED", "SERVER", b"SALT".hex()) if each in told]


def test_the_same_secret_again_is_a_rewrite_and_another_is_not() -> None:
    image = MetadataImage()
    key = "listener.name.x.ssl.keystore.password"
    apply(image, 0, metadata.ConfigRecord(4, "1", key, "one"))

    again = apply(image, 1, metadata.ConfigRecord(4, "1", key, "one"))
    other = apply(image, 2, metadata.ConfigRecord(4, "1", key, "two"))

    assert short(again) == [(1, "rewrite", key, "log:0", "log:0")]
    assert short(other) == [(2, "set", key, "log:0", "log:2")]


def test_quotas_and_acls_are_set_and_deleted() -> None:
    image = MetadataImage()
    entity = [metadata.EntityData("user", "bob"), metadata.EntityData("client-id", None)]
    acl = metadata.AccessControlEntryRecord(topic_id(9), 2, "orders", 4, "User:bob", "*", 3, 3)

    made = apply(image, 0, metadata.ClientQuotaRecord(entity, "producer_byte_rate", 1024.0, False), acl)
    gone = apply(
        image,
        2,
        metadata.ClientQuotaRecord(entity, "producer_byte_rate", 0.0, True),
        metadata.RemoveAccessControlEntryRecord(topic_id(9)),
    )

    assert [each.changes[0].resource for each in made] == [
        Resource(ResourceType.QUOTA, '{"client-id":null,"user":"bob"}'),
        Resource(ResourceType.ACL, "2:4:orders"),
    ]
    assert short(made)[0] == (0, "set", "producer_byte_rate", None, "1024")
    assert [each[1] for each in short(gone)] == ["delete", "delete"]
    assert image.configs == {}


def test_unknown_records_are_only_counted() -> None:
    image = MetadataImage()
    (one,) = read_batches(
        batch(
            0, [(None, b"\1\x6f\0"), metadata.RemoveTopicRecord(topic_id(4)), metadata.ConfigRecord(99, "x", "y", "z")]
        )
    )

    assert image.apply(one) == []
    assert dict(image.skipped) == {"111 v0": 1, "removal of an unknown topic": 1, "config of type 99": 1}


@pytest.mark.parametrize(
    ("key", "version", "unreadable"),
    [(111, 0, (111, 0)), (4, 1, (4, 1)), (0, 9, None)],
    ids=["unknown type", "newer config", "newer broker registration"],
)
def test_unknown_records_make_the_image_uncertain_unless_they_cannot_change_it(
    key: int, version: int, unreadable: tuple[int, int] | None
) -> None:
    image = MetadataImage()
    (one,) = read_batches(batch(0, [(None, bytes([1, key, version]))]))
    assert image.apply(one) == []
    assert image.unreadable == unreadable


def test_a_checkpoint_restores_the_image() -> None:
    image = MetadataImage()
    acl = metadata.AccessControlEntryRecord(topic_id(9), 2, "orders", 3, "User:bob", "*", 3, 3)
    apply(image, 0, *new_topic("orders", 1, 2), topic_config("orders", "retention.ms", "5"), acl)
    apply(image, 5, metadata.ConfigRecord(4, "1", "my.own.key", "hunter2"))

    restored = Checkpoint.from_json(json.loads(json.dumps(Checkpoint("c", 6, 1, image).to_json())))
    (removed,) = apply(restored.image, 6, metadata.RemoveTopicRecord(topic_id(1)))
    (acl_gone,) = apply(restored.image, 7, metadata.RemoveAccessControlEntryRecord(topic_id(9)))

    assert (restored.cluster, restored.offset, restored.epoch) == ("c", 6, 1)
    assert [each.op for each in removed.changes] == ["delete", "delete"]
    assert acl_gone.changes[0].op == "delete"


def test_the_difference_of_two_images_has_the_changes_and_no_secrets_that_cannot_be_compared() -> None:
    old, new = MetadataImage(), MetadataImage()
    secret = metadata.ConfigRecord(4, "1", "my.own.key", "hunter2")
    apply(
        old,
        0,
        *new_topic("a", 1),
        *new_topic("b", 2),
        topic_config("a", "retention.ms", "1"),
        topic_config("b", "segment.ms", "2"),
        secret,
    )
    apply(new, 0, *new_topic("a", 1), *new_topic("c", 3), topic_config("a", "retention.ms", "9"), secret)

    found = [(str(each.resource), each.op, each.key) for each in difference(old, new)]

    assert found == [
        ("topic:a", "set", "retention.ms"),
        ("topic:b", "delete", "segment.ms"),
        ("topic:b", "delete", ""),
        ("topic:c", "create", ""),
    ]


def test_a_topic_that_was_recreated_in_a_gap_has_only_the_values_of_the_new_one() -> None:
    old, new = MetadataImage(), MetadataImage()
    apply(old, 0, *new_topic("a", 1), topic_config("a", "retention.ms", "1"), topic_config("a", "segment.ms", "2"))
    apply(new, 0, *new_topic("a", 2), topic_config("a", "retention.ms", "1"))

    assert [(each.op, each.key, each.after is not None) for each in difference(old, new)] == [
        ("delete", "retention.ms", False),
        ("delete", "segment.ms", False),
        ("delete", "", False),
        ("create", "", True),
        ("set", "retention.ms", True),
    ]
