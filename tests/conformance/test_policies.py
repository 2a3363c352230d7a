"""Compares the input of kconf's Python policy with that of a Java policy in a real broker, for the same requests.

lab/java/PolicyRecorder.java and tests/policies/recorder.py record the same data and refuse the same names. Sixty random
requests from a fixed seed go to both servers; codes, refusals and policy input must be equal.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kconf.protocol.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig
from lab.broker import KafkaBroker
from tests.policies import recorder
from tests.policies.conftest import STATIC, classes
from tests.support.admin import (
    APPEND,
    BROKER,
    CLIENT_METRICS,
    DELETE,
    GROUP,
    SET,
    SUBTRACT,
    TOPIC,
    Admin,
    Place,
    codes,
)

REQUESTS = 60
GIVEN = {
    "alter": ("kind", "resource", "changed"),
    "create": ("kind", "resource", "partitions", "factor", "assignments", "configs"),
}
PLACES: list[Place] = [
    (TOPIC, "plain"),
    (TOPIC, "other"),
    (TOPIC, "plain.alter.REFUSE"),
    (TOPIC, "missing.alter.REFUSE"),
    (BROKER, "1"),
    (BROKER, ""),
    (GROUP, "readers"),
    (GROUP, "readers.alter.REFUSE"),
    (CLIENT_METRICS, "often"),
    (CLIENT_METRICS, "often.alter.REFUSE"),
]
KEYS: dict[int, dict[str, list[str]]] = {
    TOPIC: {
        "cleanup.policy": ["delete", "compact", "delete,compact", ""],
        "retention.ms": ["5000", " 5000 ", "-1", "nonsense"],
        "flush.ms": ["7", "8"],
        "compression.type": ["gzip", "zstd"],
        "follower.replication.throttled.replicas": ["0:1", "*"],
        "no.such.key": ["1"],
    },
    BROKER: {
        "log.cleaner.backoff.ms": ["111", "222", recorder.REFUSED_VALUE],
        "background.threads": ["10", "12"],
        "log.cleanup.policy": ["delete", "compact"],
        "process.roles": ["broker"],
    },
    GROUP: {
        "consumer.session.timeout.ms": ["46000", "47000", "1"],
        "consumer.heartbeat.interval.ms": ["6000", "nonsense"],
    },
    CLIENT_METRICS: {
        "interval.ms": ["1000", "5000", "1"],
        "metrics": ["a,b", "c", ""],
        "match": ["client_id=x"],
    },
}


@dataclass
class Side:
    """A server, and the file that its policies write to."""

    admin: Admin
    file: Path
    read: int = 0

    def asked(self) -> list[tuple[Any, ...]]:
        """New records since the last call; a request's resources have no order in Kafka."""
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        fresh, self.read = lines[self.read :], len(lines)
        questions = [json.loads(line) for line in fresh]
        return sorted((tuple(each[name] for name in GIVEN[each["kind"]]) for each in questions), key=repr)


@dataclass
class Sides:
    kconf: Side
    kafka: Side

    def check(self, request: Request) -> tuple[list[int], list[tuple[Any, ...]]]:
        """Compare codes, refusal messages and policy input of both servers."""
        ours, theirs = request.on(self.kconf.admin), request.on(self.kafka.admin)
        assert codes(ours) == codes(theirs), (request, ours, theirs)
        refusals = [[each.error_message for each in said if each.error_code == 44] for said in (ours, theirs)]
        assert refusals[0] == refusals[1], request
        asked = self.kconf.asked()
        assert asked == self.kafka.asked(), request
        return codes(ours), asked


@dataclass(frozen=True)
class Request:
    """One request: AlterConfigs (`replace`), IncrementalAlterConfigs or CreateTopics."""

    requests: list[tuple[Place, list[tuple[str, int, str | None]]]]
    replace: bool = False
    dry: bool = False
    topics: tuple[CreatableTopic, ...] = ()

    def on(self, admin: Admin) -> list[Any]:
        if self.topics:
            found = admin.create_topics(self.topics, dry=self.dry)
            return sorted(found, key=lambda each: str(each.name))
        if self.replace:
            said = admin.replace(
                [(place, {key: value for key, _, value in ops}) for place, ops in self.requests], dry=self.dry
            )
        else:
            said = admin.alter_all(self.requests, dry=self.dry)
        return sorted(said, key=lambda each: (each.resource_type, each.resource_name))


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sides]:
    file = tmp_path_factory.mktemp("policy") / "asked.jsonl"
    named = {
        "alter.config.policy.class.name": "PolicyRecorder$Alter",
        "create.topic.policy.class.name": "PolicyRecorder$Create",
        "lab.policy.file": str(file),
    }
    with (
        classes("Both", "Both") as kconf,
        KafkaBroker("4.3.1", properties={**STATIC, **named}) as kafka,
        Admin(kconf.bootstrap) as ours,
        Admin(kafka.bootstrap) as theirs,
    ):
        made = Sides(Side(ours, kconf.directory / recorder.FILE), Side(theirs, file))
        topics = tuple(_topic(name, 2, 1) for kind, name in PLACES if kind == TOPIC and not name.startswith("missing"))
        assert made.check(Request([], topics=topics))[0] == [0] * len(topics)
        yield made


def _topic(name: str, partitions: int, factor: int, *configs: tuple[str, str]) -> CreatableTopic:
    return CreatableTopic(name, partitions, factor, (), [CreatableTopicConfig(*each) for each in configs])


def _alteration(random: Random) -> Request:
    replace = random.random() < 0.3
    requests = []
    for place in random.sample(PLACES, random.randint(1, 4)):
        keys = KEYS[place[0]]
        chosen = random.sample(sorted(keys), random.randint(0, min(3, len(keys))))
        requests.append((place, [_op(random, place, key, keys[key], replace) for key in chosen]))
    return Request(requests, replace, random.random() < 0.3)


def _op(random: Random, place: Place, key: str, values: list[str], replace: bool) -> tuple[str, int, str | None]:
    ops = [SET] if replace else [SET, SET, DELETE, APPEND, SUBTRACT] if "policy" in key else [SET, SET, DELETE]
    op = random.choice(ops)
    return key, op, None if op == DELETE else random.choice(values)


def _creation(random: Random, number: int) -> Request:
    topics = []
    for index, deed in enumerate(random.sample(["", "", "alter.REFUSE", "create.REFUSE"], random.randint(1, 3))):
        configs = [CreatableTopicConfig("flush.ms", "7"), CreatableTopicConfig("cleanup.policy", " compact ")]
        name, some = f"new-{number}-{index}.{deed}x", configs[: random.randint(0, 2)]
        if random.random() < 0.3:
            replicas = [CreatableReplicaAssignment(partition, [1]) for partition in range(random.randint(1, 3))]
            topics.append(CreatableTopic(name, -1, -1, replicas, some))
        else:
            counts = random.choice([-1, 1, 4, 0]), random.choice([-1, 1, 1, 2])
            topics.append(CreatableTopic(name, *counts, (), some))
    return Request([], dry=random.random() < 0.3, topics=tuple(topics))


def test_a_python_policy_gets_the_same_input_as_a_java_policy(sides: Sides) -> None:
    random = Random(133)
    seen: list[int] = []
    questions: list[tuple[Any, ...]] = []

    for number in range(REQUESTS):
        drawn = _creation(random, number) if number % 4 == 3 else _alteration(random)
        told, asked = sides.check(drawn)
        seen += told
        questions += asked

    assert {0, 3, 37, 38, 40, 42, 44} <= set(seen)  # the requests include all kinds
    assert len(questions) > REQUESTS
    assert {each[1].partition(":")[0] for each in questions} == {
        "topic", "broker", "brokers", "group", "client-metrics"
    }  # fmt: skip
    assert any(each[0] == "alter" and each[2] == {} for each in questions)
    assert any(each[0] == "create" and each[4] for each in questions)


@pytest.mark.parametrize(
    ("requests", "codes_"),
    [
        ([((TOPIC, "plain"), [("retention.ms", SET, "5000")])], [0]),
        ([((TOPIC, "plain"), [("retention.ms", SET, "5000"), ("segment.ms", DELETE, None)])], [0]),
        ([((TOPIC, "plain"), [])], [0]),
        ([((BROKER, "1"), [("background.threads", DELETE, None)])], [0]),
        ([((TOPIC, "plain"), [("min.insync.replicas", SET, "-1")])], [40]),
        ([((BROKER, "1"), [("ssl.truststore.password", SET, "x")])], [42]),
        ([((8, "1"), [("org.apache.kafka", DELETE, None)])], None),
    ],
)
def test_the_cases_of_the_specification_hold_on_both(sides: Sides, requests: Any, codes_: list[int] | None) -> None:
    if codes_ is None:  # loggers have other names in kconf; neither server calls the policy
        sides.kafka.admin.alter_all([((8, "1"), [("org.apache.kafka", SET, "INFO")])])
        sides.kconf.admin.alter_all([((8, "1"), [("kconf.service", SET, "INFO")])])
        assert sides.kafka.asked() == sides.kconf.asked() == []
    else:
        assert sides.check(Request(requests))[0] == codes_


@pytest.mark.parametrize(("deed", "theirs"), [("OTHER", 40), ("RAISE", -1)])
def test_a_failing_policy_refuses_for_any_exception(sides: Sides, deed: str, theirs: int) -> None:
    """Intended: Kafka returns the code of any exception; kconf returns 44, to show that a policy refused."""
    name = f"failing.alter.{deed}"
    for side in (sides.kconf, sides.kafka):
        side.admin.create(name)
    requested = [((TOPIC, name), [("flush.ms", SET, "8")])]

    assert codes(sides.kafka.admin.alter_all(requested)) == [theirs]
    assert codes(sides.kconf.admin.alter_all(requested)) == [44]
    assert sides.kconf.asked() == sides.kafka.asked()


def test_a_policy_gets_a_broker_id_without_leading_zeros(sides: Sides) -> None:
    """Intended: a rule about broker:1 cannot be bypassed by writing 01, which Kafka passes to the policy unchanged."""
    requested = [((BROKER, "01"), [("log.cleaner.backoff.ms", SET, "333")])]
    for side in (sides.kconf, sides.kafka):
        assert codes(side.admin.alter_all(requested, dry=True)) == [0]

    assert sides.kconf.asked() == [("alter", "broker:1", {"log.cleaner.backoff.ms": "333"})]
    assert sides.kafka.asked() == [("alter", "broker:01", {"log.cleaner.backoff.ms": "333"})]
