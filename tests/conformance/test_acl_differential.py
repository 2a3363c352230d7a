"""Compares authorization with a real broker with StandardAuthorizer: the same ACLs and requests, from a fixed seed.

Each round creates the same random ACLs on both servers and sends the same requests as a logged-in user: for single and
all resources, visible and hidden, existing and missing. Intended differences are listed in ACCEPTED with their reasons;
a run fails if one of them is never used.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from kconf import AclBinding, AclFilter, SyncAdminClient
from kconf.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsTopic
from kconf.protocol.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from lab.broker import KafkaBroker
from tests.conformance.acl_questions import (
    PROPERTIES,
    TOPICS,
    USERS,
    Question,
    Side,
    User,
    drawn_acls,
    questions,
)
from tests.conformance.consumer_groups import consumed, forget
from tests.conformance.differential.compare import tree
from tests.conformance.differential.scenarios.data_plane import await_coordinators
from tests.conformance.differential.side import Side as LabSide
from tests.support.process import KconfProcess

SEED = 7
ROUNDS = 60
REAL = "reader"


class Accepted(NamedTuple):
    """An intended difference: `applies` gets the results of Kafka and kconf."""

    apis: tuple[str, ...]
    applies: Callable[[Any, Any], bool]
    why: str


ALTERING = ("AlterConfigs", "IncrementalAlterConfigs")


def _one_code(kafka: Any, ours: Any, name: str, codes: tuple[int, int]) -> bool:
    """Both are equal except for one broker, with these two codes."""
    rest = [[each for each in said if each[:2] != (4, name)] for said in (kafka, ours)]
    return rest[0] == rest[1] and (4, name, codes[0]) in kafka and (4, name, codes[1]) in ours


ACCEPTED = [
    Accepted(
        ("DescribeUserScramCredentials",),
        lambda kafka, ours: kafka == [31, ("", 31)] and ours == [31],
        "4.3.1 adds one result for a user without a name to a refusal; there is no such user",
    ),
    Accepted(
        ALTERING,
        lambda kafka, ours: _one_code(kafka, ours, "", (42, 31)),
        "Kafka checks the values of brokers before rights, and its errors contain those in force; kconf checks rights "
        "first",
    ),
    Accepted(
        ALTERING,
        lambda kafka, ours: _one_code(kafka, ours, "1", (0, 31)),
        "for Kafka the right to alter the cluster's configs includes those that decide who somebody is, and with it "
        "all other rights; for kconf only super users may change them, unless a setting restores Kafka's rule",
    ),
]


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaBroker]:
    with KafkaBroker(properties=PROPERTIES, listeners={"SASL_PLAINTEXT": "SASL_PLAINTEXT"}) as broker:
        yield broker


@pytest.fixture(scope="module")
def sides(kafka: KafkaBroker) -> Iterator[tuple[Side, Side]]:
    with KconfProcess(properties=PROPERTIES, listeners=("PLAINTEXT", "SASL_PLAINTEXT")) as kconf:
        made = tuple(Side(each.address("PLAINTEXT"), each.address("SASL_PLAINTEXT")) for each in (kafka, kconf))
        for side in made:
            with SyncAdminClient(side.plain) as admin:
                admin.create_topics(TOPICS).raise_for_failures()
                _wait(lambda admin=admin: set(admin.list_topics()) >= set(TOPICS))  # type: ignore[misc]
        await_coordinators(LabSide("kafka", kafka.host, kafka.port))
        yield made[0], made[1]


def test_kafka_and_kconf_decide_alike(sides: tuple[Side, Side]) -> None:
    dice = random.Random(SEED)
    used: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    differences = []
    admins = [SyncAdminClient(side.plain) for side in sides]
    users = {name: [User(side, name) for side in sides] for name in USERS}
    for number in range(ROUNDS):
        acls = drawn_acls(dice)
        for admin in admins:
            _replace(admin, acls)
        name = dice.choice(("alice", "alice", "bob"))
        for question in questions(dice):
            kafka, ours = (question.ask(user) for user in users[name])
            asked[question.api] += 1
            if kafka == ours:
                continue
            known = next((each for each in ACCEPTED if question.api in each.apis and each.applies(kafka, ours)), None)
            if known is None:
                differences.append((number, name, acls, question.api, question.fields, kafka, ours))
            else:
                used[known.why] += 1
    for admin in admins:
        _replace(admin, [])
        admin.close()
    assert not differences, "\n".join(map(str, differences))
    assert [each.why for each in ACCEPTED if not used[each.why]] == [], "a line that nothing needs anymore"
    assert asked.total() >= 1000


NEVER_PASSED_ON = ("DeleteRecords", "DescribeDelegationToken", "AlterPartitionReassignments")
WHOLE = ("ListOffsets", "OffsetFetch", "DescribeGroups", "ConsumerGroupDescribe", "FindCoordinator", "ListGroups")
GATEWAY_ROUNDS = 25


def real_group_questions(dice: random.Random) -> Iterator[Question]:
    """Requests about a group that has read `orders` and `payments`: for all topics and for some."""

    def said(answer: Any) -> Any:
        return tree(LabSide("", "", 0), answer)

    names = dice.sample(TOPICS, 2)
    for version in (2, 7):
        topics = dice.choice((None, [OffsetFetchRequestTopic(each, [0]) for each in names]))
        yield Question("OffsetFetch", {"group_id": REAL, "topics": topics}, said, version)
    later = dice.choice((None, [OffsetFetchRequestTopics(each, partition_indexes=[0]) for each in names]))
    groups = [OffsetFetchRequestGroup(REAL, topics=later), OffsetFetchRequestGroup("other", topics=later)]
    yield Question("OffsetFetch", {"groups": groups}, said, 9)
    for version in (0, 3, 6):
        asked = {"groups": [REAL, "other"], "include_authorized_operations": version > 0}
        yield Question("DescribeGroups", asked, said, version)
    asked = {"group_ids": [REAL, "other"], "include_authorized_operations": True}
    yield Question("ConsumerGroupDescribe", asked, said)
    yield Question("ListGroups", {}, said)
    partitions = [ListOffsetsPartition(0, -1, -1)]
    yield Question(
        "ListOffsets", {"replica_id": -1, "topics": [ListOffsetsTopic(each, partitions) for each in names]}, said
    )
    yield Question("DescribeQuorum", {"topics": ()}, lambda answer: answer.error_code)
    yield Question("DescribeTransactions", {"transactional_ids": [REAL, "other"]}, said)


def test_a_gateway_decides_as_its_cluster_does(kafka: KafkaBroker, sides: tuple[Side, Side]) -> None:
    """The same cluster, directly and through a gateway whose own account may do everything."""
    consumed(kafka.bootstrap, REAL, ["orders", "payments"])
    args = ("--upstream", kafka.bootstrap, "--controllers", kafka.address("CONTROLLER"))
    own = {**PROPERTIES, "allow.everyone.if.no.acl.found": "false"}
    dice = random.Random(SEED)
    differences, asked = [], Counter[str]()
    with KconfProcess(properties=own, args=args, listeners=("PLAINTEXT", "SASL_PLAINTEXT")) as process:
        front = Side(process.address("PLAINTEXT"), process.address("SASL_PLAINTEXT"))
        with SyncAdminClient(sides[0].plain) as direct, SyncAdminClient(front.plain) as governed:
            users = {name: [User(side, name) for side in (sides[0], front)] for name in USERS}
            for number in range(GATEWAY_ROUNDS):
                acls = drawn_acls(dice)
                _replace(direct, acls)
                _wait(lambda acls=acls: sorted(governed.describe_acls()) == sorted(acls))  # type: ignore[misc]
                name = dice.choice(USERS)
                for question in (*questions(dice), *real_group_questions(dice)):
                    theirs, ours = (question.ask(user) for user in users[name])
                    asked[question.api] += 1
                    is_known = any(question.api in each.apis and each.applies(theirs, ours) for each in ACCEPTED)
                    if theirs != ours and not is_known and question.api not in NEVER_PASSED_ON:
                        differences.append((number, name, acls, question.api, question.fields, theirs, ours))
            _replace(direct, [])
    forget(kafka.bootstrap, REAL)
    assert not differences, "\n".join(map(str, differences))
    assert min(asked[each] for each in WHOLE) >= GATEWAY_ROUNDS


def _replace(admin: SyncAdminClient, acls: list[AclBinding]) -> None:
    """Replace all ACLs, and wait until a real broker has them from its controller."""
    admin.delete_acls([AclFilter()]).raise_for_failures()
    if acls:
        admin.create_acls(acls).raise_for_failures()
    _wait(lambda: sorted(admin.describe_acls()) == sorted(acls))


def _wait(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)
