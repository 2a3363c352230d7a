"""A refusal is error 44 for its resource only, after all other checks, and is recorded only as an attempt."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from kconf.protocol.messages.alter_config import AddedConfigEntry, AlteredEntity
from tests.policies.conftest import Asked
from tests.policies.recorder import REFUSED_VALUE
from tests.support.admin import (
    APPEND,
    BROKER,
    CLIENT_METRICS,
    DELETE,
    GROUP,
    SET,
    TOPIC,
    Admin,
    Place,
    codes,
    new_topic,
)
from tests.support.process import KconfProcess

REFUSED = "alter.REFUSE"
LOUD = ("flush.ms", SET, "8")


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("dry", [False, True])
def test_a_refused_topic_gets_44_and_the_others_are_processed(
    admin: Admin, topic: str, version: int, dry: bool
) -> None:
    names = [f"{topic}-1", f"{topic}.{REFUSED}", f"{topic}-2"]
    admin.create(*names)

    said = admin.alter_all([((TOPIC, name), [LOUD]) for name in names], version=version, dry=dry)

    assert codes(said) == [0, 44, 0]
    assert [each.error_message for each in said] == [None, f"no: {names[1]}", None]
    left = {} if dry else {"flush.ms": "8"}
    assert [admin.overrides(name) for name in names] == [left, {}, left]


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("dry", [False, True])
def test_a_refused_replacement_changes_nothing(admin: Admin, topic: str, version: int, dry: bool) -> None:
    names = [f"{topic}.{REFUSED}", f"{topic}-1"]
    admin.create(names[1], configs={"retention.ms": "5"})
    admin.create(names[0])

    said = admin.replace([((TOPIC, name), {"flush.ms": "8"}) for name in names], version=version, dry=dry)

    assert codes(said) == [44, 0]
    assert admin.overrides(names[0]) == {}
    assert admin.overrides(names[1]) == ({"retention.ms": "5"} if dry else {"flush.ms": "8"})


@pytest.mark.parametrize("op", [LOUD, ("cleanup.policy", APPEND, "compact"), ("flush.ms", DELETE, None)])
def test_every_operation_can_be_refused(admin: Admin, topic: str, op: tuple[str, int, str | None]) -> None:
    name = f"{topic}.{REFUSED}"
    admin.create(name)

    assert admin.alter((TOPIC, name), op).error_code == 44
    assert admin.overrides(name) == {}


@pytest.mark.parametrize(
    ("place", "key"),
    [
        ((BROKER, "1"), "log.cleaner.backoff.ms"),
        ((BROKER, ""), "log.cleaner.backoff.ms"),
        ((GROUP, f"g.{REFUSED}"), "consumer.session.timeout.ms"),
        ((CLIENT_METRICS, f"m.{REFUSED}"), "interval.ms"),
    ],
)
def test_brokers_groups_and_client_metrics_can_be_refused(admin: Admin, place: Place, key: str) -> None:
    value = REFUSED_VALUE if place[0] == BROKER else "50000"

    assert admin.alter(place, (key, SET, value)).error_code == 44
    assert codes(admin.replace([(place, {key: value})])) == [44]
    assert value not in [entry.value for entry in admin.entries(place).values()]


def test_a_policy_is_called_after_validation_and_not_for_failed_resources(admin: Admin, asked: Asked) -> None:
    """3.21: code 42 for only a truststore password, 40 for -1, 3 for a missing topic, 42 for a repeated resource."""
    names = [f"order-{number}.{REFUSED}" for number in range(3)]
    admin.create(*names)
    asked()

    said = admin.alter_all(
        [
            ((TOPIC, names[0]), [("min.insync.replicas", SET, "-1")]),
            ((TOPIC, names[1]), [("no.such.key", SET, "1")]),
            ((TOPIC, names[2]), [LOUD, LOUD]),
            ((TOPIC, f"missing.{REFUSED}"), [LOUD]),
            ((TOPIC, f"not/a/name.{REFUSED}"), [LOUD]),
            ((BROKER, "1"), [("ssl.truststore.password", SET, REFUSED_VALUE)]),
            ((BROKER, "7"), [("log.cleaner.backoff.ms", SET, REFUSED_VALUE)]),
            ((GROUP, f"g.{REFUSED}"), [("no.such.key", SET, "1")]),
            ((CLIENT_METRICS, f"m.{REFUSED}"), [("interval.ms", SET, "-1")]),
        ]
    )

    assert codes(said) == [40, 40, 42, 3, 17, 42, 42, 40, 42]
    assert asked() == []


def test_no_policy_is_called_for_a_deletion(admin: Admin, asked: Asked) -> None:
    name = f"mortal.{REFUSED}"
    admin.create(name)
    asked()

    assert codes(admin.delete(name)) == [0]
    assert asked() == []


# -- new topics ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dry", [False, True])
@pytest.mark.parametrize("version", [1, 4, 5, 7])
def test_a_refused_topic_is_not_created_and_the_others_are(admin: Admin, topic: str, version: int, dry: bool) -> None:
    names = [f"{topic}-1", f"{topic}.create.REFUSE", f"{topic}-2"]

    said = admin.create(*names, partitions=1, factor=1, version=version, dry=dry)

    assert codes(said) == [0, 44, 0]
    assert said[1].error_message == f"no: {names[1]}"
    made = [0, 3, 0] if not dry else [3, 3, 3]
    assert codes(admin.describe(*[(TOPIC, name) for name in names])) == made


def test_the_create_policy_is_not_called_if_the_alter_policy_refuses_the_configs(
    admin: Admin, asked: Asked, topic: str
) -> None:
    name = f"{topic}.{REFUSED}"

    (said,) = admin.create(name, configs={"flush.ms": "8"})

    assert (said.error_code, said.num_partitions, said.configs) == (44, -1, [])
    assert [each["kind"] for each in asked()] == ["alter"]
    assert codes(admin.create(name)) == [0]  # without configs, the alter policy is not called


def test_creation_is_checked_by_policies_after_validation(admin: Admin, asked: Asked) -> None:
    refused = "late.create.REFUSE"
    admin.create("there")
    asked()

    said = admin.create_topics(
        [
            new_topic("there"),
            new_topic(f"{refused}-1", 0, 1),
            new_topic(f"{refused}-2", 1, 2),
            new_topic(f"{refused}-3", configs={"no.such.key": "1"}),
            new_topic(f"not/a/name.{refused}"),
        ]
    )

    assert codes(said) == [36, 37, 38, 40, 17]
    assert asked() == []


def test_counts_are_checked_between_the_two_policies(admin: Admin, asked: Asked, topic: str) -> None:
    """As in Kafka: the alter policy checks the configs before the replication factor is checked."""
    assert codes(admin.create_topics([new_topic(topic, 1, 2, {"flush.ms": "8"})])) == [38]
    assert [each["kind"] for each in asked()] == ["alter"]


def test_a_thousand_topics_in_a_request_are_checked_individually(admin: Admin, asked: Asked) -> None:
    names = [f"many-{number}{'.alter.REFUSE' if number % 10 == 0 else ''}" for number in range(1000)]
    admin.create(*names, partitions=1, factor=1)
    asked()

    said = admin.alter_all([((TOPIC, name), [LOUD]) for name in names])

    assert codes(said) == [44 if number % 10 == 0 else 0 for number in range(1000)]
    assert [each["resource"] for each in asked()] == [f"topic:{name}" for name in names]


# -- many at once ----------------------------------------------------------------------------------------------------


def test_concurrent_writers_of_one_topic_are_never_refused(server: KconfProcess, admin: Admin) -> None:
    """A policy result is valid for one state: if the topic changes meanwhile, the policy is called again."""
    keys = ["flush.ms", "segment.ms", "retention.ms", "delete.retention.ms", "max.message.bytes", "flush.messages"]
    admin.create("contested")

    def write(key: str) -> list[int]:
        with Admin(server.bootstrap) as own:
            return [own.alter((TOPIC, "contested"), (key, SET, str(1000 + number))).error_code for number in range(40)]

    with ThreadPoolExecutor(len(keys)) as threads:
        found = list(threads.map(write, keys))

    assert found == [[0] * 40] * len(keys)
    assert admin.overrides("contested") == dict.fromkeys(keys, "1039")


def test_concurrent_changes_of_broker_configs_refuse_no_topic_change(server: KconfProcess, admin: Admin) -> None:
    """Inherited values are part of the policy's input, so the policy is called again."""
    names = [f"inheriting-{number}" for number in range(4)]
    admin.create(*names)

    def write(place: Place) -> list[int]:
        key = "log.cleaner.backoff.ms" if place[0] == BROKER else "flush.ms"
        with Admin(server.bootstrap) as own:
            return [own.alter(place, (key, SET, str(1000 + number))).error_code for number in range(40)]

    places = [(BROKER, ""), (BROKER, "1"), *((TOPIC, name) for name in names)]
    with ThreadPoolExecutor(len(places)) as threads:
        assert list(threads.map(write, places)) == [[0] * 40] * len(places)
    for place in places[:2]:
        admin.alter(place, ("log.cleaner.backoff.ms", DELETE, None))


def test_kip_21s_own_request_is_checked_by_policies_too(admin: Admin) -> None:
    admin.create(f"kip-21.{REFUSED}", "kip-21")
    requested = [AddedConfigEntry("flush.ms", "8")]
    entities = [AlteredEntity("topic", name, requested, ()) for name in (f"kip-21.{REFUSED}", "kip-21")]

    assert codes(admin.ask("AlterConfig", 0, entities=entities).entities) == [44, 0]
