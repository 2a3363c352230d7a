"""`apply` returns when every broker shows the changes, or reports that a broker does not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from kconf.client.contexts.context import Context
from kconf.engine.access.acls import key_of, pattern_of
from kconf.engine.declarative.diff import Difference, shape_text
from kconf.errors import ApiError, ConnectionFailed, ErrorCode
from kconf.model.acl import AclBinding, AclType, Operation
from kconf.model.cluster_state import ClusterState, MissingPart, TopicShape
from kconf.model.entry import Entry, Source, ValueType, View
from kconf.model.journal import ChangeKind
from kconf.model.quota import QuotaEntity
from kconf.model.resource import Resource, ResourceType
from kconf.model.scram import CredentialInfo, Mechanism
from kconf.operations.declarative import visibility
from kconf.operations.declarative.visibility import wait_until_visible
from kconf.operations.errors import NotVisible
from kconf.operations.target import Target

ORDERS = Resource.topic("orders")
ALICE = QuotaEntity.of({"user": "alice"})
ACL = AclBinding(AclType.TOPIC, "orders", "User:alice", Operation.READ)
USER = Resource(ResourceType.SCRAM, "alice")
MADE = [
    Difference(ChangeKind.TOPIC, ORDERS, "create", "", None, shape_text(2, None)),
    Difference(ChangeKind.CONFIG, ORDERS, "set", "retention.ms", None, "5"),
    Difference(ChangeKind.CONFIG, ALICE.resource, "set", "request_percentage", None, "12.5"),
    Difference(ChangeKind.CONFIG, USER, "set", "SCRAM-SHA-256", None, "iterations=4096", sensitive=True),
    Difference(ChangeKind.CONFIG, pattern_of(ACL).resource, "set", key_of(ACL), None, ""),
]
RETENTION = View((Entry("retention.ms", "5", Source.TOPIC, ValueType.LONG),))
EVERYTHING: dict[str, Any] = {
    "topics": {"orders": TopicShape(ORDERS, 2, 1)},  # type: ignore[arg-type]
    "configs": {ORDERS: RETENTION},
    "quotas": {ALICE: {"request_percentage": 12.5}},
    "users": {"alice": [CredentialInfo(Mechanism.SCRAM_SHA_256, 4096)]},
    "acls": [ACL],
}


class Time:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def waited(
    monkeypatch: pytest.MonkeyPatch,
    looks: dict[str, list[ClusterState | Exception]],
    found: Sequence[Difference] = MADE,
    limit: float = 30,
) -> tuple[list[str], float]:
    """The final message, and the seconds until then. A broker repeats its last response."""

    def read(target: Target, _: Sequence[Difference]) -> ClusterState:
        seen = looks[target.context.bootstrap]
        look = seen.pop(0) if len(seen) > 1 else seen[0]
        if isinstance(look, Exception):
            raise look
        return look

    brokers = [Target(Context("here", each)) for each in looks]
    monkeypatch.setattr(visibility, "read_again", read)
    monkeypatch.setattr(visibility, "_brokers", lambda _: brokers)
    time = Time()
    return wait_until_visible(brokers[0], found, limit, clock=time, sleep=time.sleep), time.now


def test_apply_does_not_wait_for_changes_that_are_already_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    assert waited(monkeypatch, {"a:1": [ClusterState(**EVERYTHING)]}) == ([], 0.0)


@pytest.mark.parametrize("part", EVERYTHING)
def test_apply_waits_until_changes_of_every_kind_are_visible(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    without = {**EVERYTHING, part: [] if part == "acls" else {}}

    _, seconds = waited(monkeypatch, {"a:1": [ClusterState(**without), ClusterState(**EVERYTHING)]})
    assert seconds > 0
    with pytest.raises(NotVisible, match="after 30 s a:1 does not show the changes to"):
        waited(monkeypatch, {"a:1": [ClusterState(**without)]})


def test_apply_waits_until_every_broker_shows_the_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    late: list[ClusterState | Exception] = [ConnectionFailed("gone"), ClusterState(), ClusterState(**EVERYTHING)]
    ready = ClusterState(**EVERYTHING)

    _, seconds = waited(monkeypatch, {"a:1": [ready], "b:1": late})
    assert seconds > 0
    with pytest.raises(NotVisible, match="after 30 s b:1 does not show the changes to topic:orders, "):
        waited(monkeypatch, {"a:1": [ready], "b:1": [ClusterState()]})


def test_apply_waits_until_removed_values_are_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = [each._replace(op="delete", before=each.after, after=None) for each in MADE]

    _, seconds = waited(monkeypatch, {"a:1": [ClusterState(**EVERYTHING), ClusterState()]}, gone)
    assert seconds > 0


def test_apply_waits_for_more_partitions_and_for_changed_values(monkeypatch: pytest.MonkeyPatch) -> None:
    grown = [
        Difference(ChangeKind.TOPIC, ORDERS, "grow", "", shape_text(1, 1), shape_text(2, 1)),
        Difference(ChangeKind.CONFIG, ORDERS, "set", "retention.ms", "4", "5"),
    ]
    before = {
        "topics": {"orders": TopicShape(ORDERS, 1, 1)},  # type: ignore[arg-type]
        "configs": {ORDERS: View((Entry("retention.ms", "4", Source.TOPIC, ValueType.LONG),))},
    }

    _, seconds = waited(monkeypatch, {"a:1": [ClusterState(**before), ClusterState(**EVERYTHING)]}, grown)  # type: ignore[arg-type]
    assert seconds > 0


def test_unreadable_resources_are_reported_without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = [MissingPart("users", ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED))]
    state = ClusterState(**{**EVERYTHING, "users": {}}, missing=missing)

    assert waited(monkeypatch, {"a:1": [state]}) == (["users"], 0.0)
