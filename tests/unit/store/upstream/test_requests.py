"""Requests to the cluster: merged, limited in size, and never sent twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from kconf.client.calls.base import Call
from kconf.engine.access.acls import key_of, plan_create_acls, plan_delete_acls
from kconf.errors import ApiError, ConnectionFailed, ErrorCode
from kconf.model.acl import AclBinding, AclFilter, AclType, Operation, Permission
from kconf.model.alteration import (
    AlterConfigOp,
    DeletedTopic,
    NewPartitions,
    NewTopic,
    OpType,
    ResourceAlterations,
)
from kconf.model.journal import RequestContext, Revision
from kconf.model.resource import Resource
from kconf.model.results import Results
from kconf.model.snapshot import Snapshot
from kconf.store.upstream.authors.matching import ExpectedChanges
from kconf.store.upstream.authors.outcomes import sent_outcome
from kconf.store.upstream.journal import IntentOutcome
from kconf.store.upstream.merging import MAX_BYTES, MAX_OPERATIONS, MAX_RESOURCES
from kconf.store.upstream.requests import send


class Cluster:
    """Returns scripted responses and records the calls."""

    def __init__(self, refused: dict[Any, ApiError] | None = None, error: Exception | None = None) -> None:
        self.calls: list[Call[Any, Any, Any]] = []
        self._refused, self._error = refused or {}, error

    def __call__(self, call: Call[Any, Any, Any]) -> Results[Any, None]:
        self.calls.append(call)
        if self._error is not None:
            raise self._error
        return Results({item: self._refused.get(item) for item in call.items})


def altered(number: int, ops: int = 1) -> ResourceAlterations:
    alterations = [AlterConfigOp(OpType.SET, f"key{each}", "1") for each in range(ops)]
    return ResourceAlterations(Resource.topic(f"t{number}"), alterations)


def test_many_callers_share_one_request() -> None:
    cluster = Cluster()
    send(cluster, [[altered(number)] for number in range(64)])
    assert [len(each.items) for each in cluster.calls] == [64]
    assert not cluster.calls[0].repeatable


def test_merged_requests_are_limited_in_resources_and_operations() -> None:
    cluster = Cluster()
    send(cluster, [[altered(number)] for number in range(MAX_RESOURCES + 1)])
    assert [len(each.items) for each in cluster.calls] == [MAX_RESOURCES, 1]
    cluster = Cluster()
    send(cluster, [[altered(number, 40)] for number in range(2 * MAX_OPERATIONS // 40)])
    assert [len(each.items) for each in cluster.calls] == [MAX_OPERATIONS // 40] * 2


def test_large_values_do_not_share_a_request_with_many_others() -> None:
    """A request beyond socket.request.max.bytes closes the connection, which leaves all its changes unknown."""
    value = "x" * 32_767

    def large(number: int) -> ResourceAlterations:
        return ResourceAlterations(Resource.topic(f"t{number}"), [AlterConfigOp(OpType.SET, "key", value)])

    per_request = MAX_BYTES // (len(value) + 100)
    cluster = Cluster()
    send(cluster, [[large(number)] for number in range(2 * per_request)])
    assert [len(each.items) for each in cluster.calls] == [per_request] * 2

    topics = [NewTopic(f"t{number}", 1, 1, (), [("key", value)]) for number in range(2 * per_request)]
    cluster = Cluster()
    send(cluster, [[each] for each in topics])
    assert [len(each.items) for each in cluster.calls] == [per_request] * 2


def test_the_changes_of_one_caller_are_never_split() -> None:
    """Kafka writes those of one request together or not at all."""
    cluster = Cluster()
    many = [altered(number) for number in range(2 * MAX_RESOURCES)]
    send(cluster, [[altered(-1)], many, [altered(-2)], [altered(-3)]])
    assert [len(each.items) for each in cluster.calls] == [1, 2 * MAX_RESOURCES, 2]


def test_topics_count_by_their_partitions_towards_the_limit_of_a_request() -> None:
    """The controller refuses requests with more than 10,000 records, one for each partition."""
    cluster = Cluster()
    send(cluster, [[NewTopic(f"t{number}", 3000, 1)] for number in range(4)])
    assert [len(each.items) for each in cluster.calls] == [1, 1, 1, 1]
    cluster = Cluster()
    send(cluster, [[NewPartitions(f"t{number}", 2000)] for number in range(4)])
    assert [len(each.items) for each in cluster.calls] == [2, 2]


class StrictCluster(Cluster):
    """Refuses requests that contain `bad` as a whole."""

    def __init__(self, bad: Resource, failure: ApiError) -> None:
        super().__init__()
        self._bad, self._failure = bad, failure

    def __call__(self, call: Call[Any, Any, Any]) -> Results[Any, None]:
        self.calls.append(call)
        return Results(dict.fromkeys(call.items, self._failure if self._bad in call.items else None))


def test_a_request_that_is_refused_as_a_whole_is_sent_again_for_each_caller() -> None:
    failure = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
    cluster = StrictCluster(Resource.topic("t1"), failure)
    answers = send(cluster, [[altered(0)], [altered(1), altered(2)], [altered(3)]])
    assert [len(each.items) for each in cluster.calls] == [4, 1, 2, 1]
    assert answers.refused == {Resource.topic("t1"): failure, Resource.topic("t2"): failure}


def test_a_change_that_cannot_be_repeated_is_not_sent_again_after_error_minus_1() -> None:
    """With this error, Kafka does not say whether it made the changes. The intents stay open."""
    failure = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
    cluster = StrictCluster(Resource.topic("t1"), failure)
    added = ResourceAlterations(Resource.topic("t2"), [AlterConfigOp(OpType.SUBTRACT, "key", "1")])
    topics = [Resource.topic(f"t{number}") for number in range(3)]

    answers = send(cluster, [[altered(0)], [altered(1)], [added]])

    assert [list(each.items) for each in cluster.calls] == [topics, [topics[0]], [topics[1]]]
    assert answers.refused == dict.fromkeys(topics[1:], failure)
    assert answers.unknown == set(topics[1:])


class FailingOnce(Cluster):
    """The first request gets error -1, although some of its changes were made. `made` is the error for these."""

    def __init__(self, made: ErrorCode) -> None:
        super().__init__()
        self._made = made

    def __call__(self, call: Call[Any, Any, Any]) -> Results[Any, None]:
        self.calls.append(call)
        failures = [ErrorCode.UNKNOWN_SERVER_ERROR, self._made, ErrorCode.INVALID_REQUEST]
        place = len(self.calls) - 1
        return Results(dict.fromkeys(call.items, ApiError(failures[place]) if place < len(failures) else None))


@pytest.mark.parametrize(
    ("change", "made"),
    [
        (lambda name: NewTopic(name, 1, 1), ErrorCode.TOPIC_ALREADY_EXISTS),
        (lambda name: NewPartitions(name, 2), ErrorCode.INVALID_PARTITIONS),
        (lambda name: DeletedTopic(name, uuid4()), ErrorCode.UNKNOWN_TOPIC_ID),
    ],
)
def test_topics_are_sent_again_after_error_minus_1_and_those_that_were_made_stay_unknown(
    change: Callable[[str], Any], made: ErrorCode
) -> None:
    """It is not known by whom: perhaps by the request that failed. Its intent finds it in the log."""
    cluster = FailingOnce(made)
    answers = send(cluster, [[change(f"t{number}")] for number in range(3)])
    assert [len(each.items) for each in cluster.calls] == [3, 1, 1, 1]
    first, second = Resource.topic("t0"), Resource.topic("t1")
    assert answers.refused == {
        first: ApiError(ErrorCode.UNKNOWN_SERVER_ERROR),
        second: ApiError(ErrorCode.INVALID_REQUEST),
    }
    assert answers.unknown == {first}


def test_an_append_is_sent_again_after_error_minus_1() -> None:
    """It skips items that the list has already."""
    failure = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
    cluster = StrictCluster(Resource.topic("t1"), failure)
    added = ResourceAlterations(Resource.topic("t0"), [AlterConfigOp(OpType.APPEND, "key", "1")])
    answers = send(cluster, [[added], [altered(1)]])
    assert answers.refused == {Resource.topic("t1"): failure}


def test_a_change_that_cannot_be_repeated_is_sent_again_if_nothing_was_changed() -> None:
    failure = ApiError(ErrorCode.POLICY_VIOLATION, "too many")
    cluster = StrictCluster(Resource.topic("t1"), failure)
    added = ResourceAlterations(Resource.topic("t0"), [AlterConfigOp(OpType.APPEND, "key", "1")])

    answers = send(cluster, [[added], [altered(1)]])

    assert len(cluster.calls) == 3
    assert answers.refused == {Resource.topic("t1"): failure}
    assert answers.unknown == set()


@pytest.mark.parametrize("code", [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.CLUSTER_AUTHORIZATION_FAILED])
def test_other_failures_are_not_sent_again(code: ErrorCode) -> None:
    cluster = StrictCluster(Resource.topic("t1"), ApiError(code))
    answers = send(cluster, [[altered(0)], [altered(1)]])
    assert len(cluster.calls) == 1
    assert answers.refused.keys() == {Resource.topic("t0"), Resource.topic("t1")}


def test_a_refusal_affects_only_its_resource() -> None:
    refusal = ApiError(ErrorCode.INVALID_CONFIG, "no")
    answers = send(Cluster({Resource.topic("t1"): refusal}), [[altered(0)], [altered(1)]])
    assert answers.refused == {Resource.topic("t1"): refusal}
    assert answers.unknown == set()


def acl(operation: Operation) -> AclBinding:
    return AclBinding(AclType.TOPIC, "orders", "User:alice", operation, Permission.ALLOW)


@pytest.mark.parametrize("delete", [False, True])
def test_a_refused_acl_does_not_hide_that_another_one_of_the_same_resource_was_changed(delete: bool) -> None:
    refusal = ApiError(ErrorCode.INVALID_REQUEST, "no")
    made, bad = acl(Operation.READ), acl(Operation.WRITE)
    snapshot = Snapshot.EMPTY
    if delete:
        snapshot = snapshot.apply(plan_create_acls(snapshot, [made, bad]).changes, 1)
    filters = [AclFilter(AclType.TOPIC, "orders", operation=each.operation) for each in (made, bad)]
    plan: Any = plan_delete_acls(snapshot, filters) if delete else plan_create_acls(snapshot, [made, bad])
    item = exactly(bad) if delete else bad
    pending = plan.pending(RequestContext("User:root"), 5)

    sent = send(Cluster({item: refusal}), [pending.operations])

    (resource,) = {each.resource for each in plan.changes}
    assert sent.refused == {(resource, key_of(bad)): refusal}
    outcome = plan.outcome_after(sent.refused, snapshot)
    assert outcome == ([[(made, None)], [(bad, refusal)]] if delete else [None, refusal])
    expected = ExpectedChanges([pending], sent.refused.keys())
    assert [each.key for each in expected.changes] == [key_of(made)]
    log = [Revision(7, 1, RequestContext(""), [expected.changes[0]], "log")]
    claims, done = expected.claims(log)
    assert claims == {7: pending.caller}
    assert sent_outcome(pending.changes, sent.refused, done) is IntentOutcome.DONE
    assert sent_outcome(pending.changes[1:], sent.refused, done) is IntentOutcome.REFUSED


def exactly(each: AclBinding) -> AclFilter:
    return AclFilter(
        each.resource_type, each.name, each.principal, each.operation, each.permission, each.pattern, each.host
    )


def test_only_the_acl_without_a_response_is_unknown() -> None:
    lost = ApiError(ErrorCode.REQUEST_TIMED_OUT)
    acls = [acl(Operation.READ), acl(Operation.WRITE), acl(Operation.ALTER)]
    plan = plan_create_acls(Snapshot.EMPTY, acls)
    refusals = {acls[0]: lost, acls[1]: ApiError(ErrorCode.INVALID_REQUEST, "no")}
    sent = send(Cluster(refusals), [plan.operations])
    assert [sent.is_unknown(each) for each in plan.changes] == [True, False, False]


@pytest.mark.parametrize("was_sent", [True, False])
def test_the_outcome_is_unknown_only_if_the_request_was_sent(was_sent: bool) -> None:
    error = ConnectionFailed("gone")
    error.sent = was_sent
    answers = send(Cluster(error=error), [[altered(0)]])
    assert answers.refused[Resource.topic("t0")].code == ErrorCode.REQUEST_TIMED_OUT
    assert answers.unknown == ({Resource.topic("t0")} if was_sent else set())
    assert ("was not sent" in str(answers.refused[Resource.topic("t0")])) is not was_sent


def test_changes_of_several_kinds_are_separate_requests() -> None:
    cluster = Cluster()
    send(cluster, [[altered(0), NewTopic("new", 1, 1)]])
    assert [each.name for each in cluster.calls] == ["CreateTopics", "IncrementalAlterConfigs"]
