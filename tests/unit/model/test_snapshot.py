"""Snapshots: applying committed changes, and applying them again."""

from __future__ import annotations

from uuid import UUID

from kconf.model.journal import Change, ChangeKind
from kconf.model.resource import Resource, ResourceType, Topic
from kconf.model.snapshot import Snapshot, decode_id, encode_id, replay, topic_from_json, topic_to_json

ORDERS = Resource.topic("orders")
SMALL = Topic("orders", UUID(int=1), ((1, 2),))
GROWN = Topic("orders", UUID(int=1), ((1, 2), (2, 1)))


def put(resource: Resource, key: str, after: str | None) -> Change:
    return Change(ChangeKind.CONFIG, resource, key, None, after, "SET")


def turn(topic: Topic, *, gone: bool = False) -> Change:
    return Change(ChangeKind.TOPIC, topic.resource, "", None, None if gone else topic_to_json(topic), "CREATE")


def test_apply_returns_a_new_snapshot_and_does_not_change_the_old_one() -> None:
    first = Snapshot.EMPTY.apply([put(ORDERS, "a", "1")], 1)
    second = first.apply([put(ORDERS, "a", "2"), put(ORDERS, "b", "3")], 2)

    assert Snapshot.EMPTY.overrides(ORDERS) == {}
    assert (first.revision, first.overrides(ORDERS), first.changed[ORDERS]) == (1, {"a": "1"}, 1)
    assert (second.revision, second.overrides(ORDERS), second.changed[ORDERS]) == (2, {"a": "2", "b": "3"}, 2)


def test_unchanged_values_are_shared() -> None:
    brokers = Resource.brokers()
    first = Snapshot.EMPTY.apply([put(ORDERS, "a", "1"), put(brokers, "b", "1")], 1)
    second = first.apply([put(ORDERS, "a", "2")], 2)

    assert second.configs[brokers] is first.configs[brokers]
    assert second.changed[brokers] == 1


def test_a_resource_that_lost_its_last_override_keeps_its_revision() -> None:
    after = replay([(1, [put(ORDERS, "a", "1")]), (2, [put(ORDERS, "a", None)])])

    assert ORDERS not in after.configs
    assert after.changed[ORDERS] == 2


def test_removing_an_unset_override_has_no_effect() -> None:
    assert Snapshot.EMPTY.apply([put(ORDERS, "a", None)], 1).overrides(ORDERS) == {}


def test_topics_are_found_by_name_and_by_id_until_deleted() -> None:
    made = Snapshot.EMPTY.apply([turn(SMALL)], 1)
    grown = made.apply([turn(GROWN)], 2)
    gone = grown.apply([turn(GROWN, gone=True)], 3)

    assert made.topics["orders"] == SMALL
    assert (grown.topics["orders"], grown.topic_ids[UUID(int=1)]) == (GROWN, "orders")
    assert (len(gone.topics), len(gone.topic_ids), gone.changed[ORDERS]) == (0, 0, 3)


def test_a_recreated_topic_has_only_its_new_id() -> None:
    new = Topic("orders", UUID(int=9), ((1,),))
    after = replay([(1, [turn(SMALL)]), (2, [turn(SMALL, gone=True), turn(new)])])

    assert dict(after.topic_ids) == {UUID(int=9): "orders"}


def test_growing_a_topic_keeps_its_overrides() -> None:
    after = Snapshot.EMPTY.apply([turn(SMALL), put(ORDERS, "a", "1")], 1).apply([turn(GROWN)], 2)

    assert after.overrides(ORDERS) == {"a": "1"}


def test_replay_continues_from_a_snapshot() -> None:
    history = [(number, [put(ORDERS, f"k{number % 3}", str(number))]) for number in range(1, 10)]

    assert replay(history[4:], replay(history[:4])) == replay(history)


def test_a_snapshot_from_stored_parts_equals_the_applied_one() -> None:
    topics = [Topic(name, UUID(int=place), ((1,),)) for place, name in enumerate(["a.b", "a_b", "c"])]
    applied = Snapshot.EMPTY.apply([turn(each) for each in topics], 1)

    assert Snapshot.of(1, applied.topics, applied.configs, applied.changed) == applied


def test_names_lists_the_resources_of_a_type_that_have_overrides() -> None:
    after = Snapshot.EMPTY.apply([put(Resource.topic(name), "a", "1") for name in "ba"], 1)
    after = after.apply([put(Resource.group("g"), "a", "1"), put(Resource.topic("b"), "a", None)], 2)

    assert after.names(ResourceType.TOPIC) == ["a"]
    assert after.names(ResourceType.GROUP) == ["g"]
    assert after.names(ResourceType.BROKER) == []


def test_a_topic_round_trips_through_json() -> None:
    assert topic_from_json("orders", topic_to_json(GROWN)) == GROWN


def test_ids_are_written_as_kafka_writes_them() -> None:
    identity = UUID("8300c4dd-022e-4b8a-adf6-3a20769ff54b")

    assert encode_id(identity) == "gwDE3QIuS4qt9jogdp_1Sw"
    assert decode_id("gwDE3QIuS4qt9jogdp_1Sw") == identity
