"""Requests to the cluster: merged, limited in size, and never sent twice."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from kconf.client.calls.base import Call, CallResult, NodeVersions
from kconf.client.calls.cluster import ClusterNodes, ListNodes
from kconf.client.retries import RetryPolicy
from kconf.client.settings import Address, Bootstrap, ClientSettings
from kconf.client.transport.call_runner import run_call
from kconf.client.transport.metadata import ClusterMetadata
from kconf.client.transport.requests import NodeRequest, Reply, SendBatch
from kconf.engine.access.acls import key_of, plan_create_acls, plan_delete_acls
from kconf.errors import (
    ApiError,
    ConnectionFailed,
    ErrorCode,
    LocalProtocolError,
    RemoteProtocolError,
    RequestTimedOut,
)
from kconf.model.acl import AclBinding, AclFilter, AclType, Operation, Permission
from kconf.model.alteration import (
    AlterConfigOp,
    DeletedAcl,
    DeletedTopic,
    NewAcl,
    NewPartitions,
    NewTopic,
    OpType,
    ResourceAlterations,
)
from kconf.model.cluster import Node
from kconf.model.journal import RequestContext, Revision
from kconf.model.resource import Resource
from kconf.model.results import Results
from kconf.model.scram import Mechanism, UserScramCredentialUpsertion
from kconf.model.snapshot import Snapshot
from kconf.store.upstream.authors.matching import ExpectedChanges
from kconf.store.upstream.authors.outcomes import sent_outcome
from kconf.store.upstream.journal import IntentOutcome
from kconf.store.upstream.merging import MAX_BYTES, MAX_OPERATIONS, MAX_RESOURCES
from kconf.store.upstream.requests import UNAVAILABLE, send

CHECK = "whether the change was made is unknown; check before you try again"
UNKNOWN = ApiError(ErrorCode.REQUEST_TIMED_OUT, f"the cluster did not respond: {CHECK}")


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


def test_values_are_sent_as_the_client_has_written_them() -> None:
    """For Kafka, 5e-1 and 0.5 are the same number. It stores the text, by which the gateway finds its change."""
    key, value = "min.cleanable.dirty.ratio", "5e-1"
    cluster = Cluster()
    changed = ResourceAlterations(Resource.topic("t"), [AlterConfigOp(OpType.SET, key, value)])
    send(cluster, [[changed, NewTopic("new", 1, 1, (), [(key, value)])]])
    messages: list[Any] = [each.write(NodeVersions("broker", {}), each.api.max, each.items) for each in cluster.calls]
    created, altered_configs = messages
    assert [(one.name, one.value) for each in created.topics for one in each.configs] == [(key, value)]
    assert [(one.name, one.value) for each in altered_configs.resources for one in each.configs] == [(key, value)]


def test_merged_requests_are_limited_in_resources_and_operations() -> None:
    cluster = Cluster()
    send(cluster, [[altered(number)] for number in range(MAX_RESOURCES + 1)])
    assert [len(each.items) for each in cluster.calls] == [MAX_RESOURCES, 1]
    cluster = Cluster()
    send(cluster, [[altered(number, 40)] for number in range(2 * MAX_OPERATIONS // 40)])
    assert [len(each.items) for each in cluster.calls] == [MAX_OPERATIONS // 40] * 2


def test_large_values_do_not_share_a_request_with_many_others() -> None:
    """A request larger than socket.request.max.bytes closes the connection, and its changes have an unknown outcome."""
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
    assert answers.refused == {topics[1]: failure, topics[2]: failure._replace(message=CHECK)}
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
    """They may have been created by the request that failed: its intent is compared with the log later."""
    cluster = FailingOnce(made)
    answers = send(cluster, [[change(f"t{number}")] for number in range(3)])
    assert [len(each.items) for each in cluster.calls] == [3, 1, 1, 1]
    first, second = Resource.topic("t0"), Resource.topic("t1")
    assert answers.refused == {
        first: ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, CHECK),
        second: ApiError(ErrorCode.INVALID_REQUEST),
    }
    assert answers.unknown == {first}


def test_an_append_is_sent_again_after_error_minus_1() -> None:
    """An append skips items that the list already has."""
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


class Brokers:
    """Two brokers behind the real client. `answer` responds to a request."""

    def __init__(self, answer: Callable[[NodeRequest], Reply]) -> None:
        self.requests: list[NodeRequest] = []
        self._answer = answer

    def __call__(self, call: Call[Any, Any, Any]) -> Results[Any, Any]:
        settings = ClientSettings(
            Bootstrap((Address("a", 1),)), retries=RetryPolicy(backoff=0.0, backoff_max=0.0, lost_attempts=3)
        )
        steps = run_call(call, ClusterMetadata(settings), time.monotonic() + 25, time.monotonic, lambda: 0.5)
        try:
            step = next(steps)
            while True:
                step = steps.send(list(map(self._reply, step.requests)) if isinstance(step, SendBatch) else ())
        except StopIteration as done:
            found: Results[Any, Any] = done.value
            return found

    def _reply(self, request: NodeRequest) -> Reply:
        if isinstance(request.call, ListNodes):
            return CallResult({None: ClusterNodes({1: Node(1, "a", 1), 2: Node(2, "b", 2)}, 1)})
        self.requests.append(request)
        return self._answer(request)


def accepted(request: NodeRequest) -> Reply:
    return CallResult(dict.fromkeys(request.items))


def lost(_request: NodeRequest) -> Reply:
    error = ConnectionFailed("the connection was lost")
    error.sent = True
    return error


def new_acl(number: int) -> AclBinding:
    return AclBinding(AclType.TOPIC, f"t{number}", "User:alice", Operation.READ, Permission.ALLOW)


@pytest.mark.parametrize(
    "change",
    [
        lambda number: NewTopic(f"t{number}", 1, 1),
        lambda number: NewPartitions(f"t{number}", 2),
        lambda number: DeletedTopic(f"t{number}", uuid4()),
        lambda number: NewAcl(new_acl(number)),
        lambda number: DeletedAcl(new_acl(number)),
        lambda number: UserScramCredentialUpsertion(f"u{number}", Mechanism.SCRAM_SHA_256, 4096, b"s", b"p"),
        altered,
    ],
)
def test_the_changes_of_one_caller_are_one_request(change: Callable[[int], Any]) -> None:
    """Otherwise a part of it could be written although another part is refused."""
    brokers = Brokers(accepted)
    assert not send(brokers, [[change(number) for number in range(1, 1301)]]).refused
    assert [len(each.items) for each in brokers.requests] == [1300]


def test_a_large_merged_request_that_is_refused_as_a_whole_is_sent_again_for_each_caller() -> None:
    def refuse_bad(request: NodeRequest) -> Reply:
        failure = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR) if "bad" in request.items else None
        return CallResult(dict.fromkeys(request.items, failure))

    brokers = Brokers(refuse_bad)
    answers = send(brokers, [*([NewTopic(f"t{number}", 1, 1)] for number in range(400)), [NewTopic("bad", 1, 1)]])
    assert [len(each.items) for each in brokers.requests] == [401, *[1] * 401]
    assert answers.refused == {Resource.topic("bad"): ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)}


def on_broker(number: int) -> ResourceAlterations:
    return ResourceAlterations(Resource.broker(number), [AlterConfigOp(OpType.SET, "log.cleaner.threads", "1")])


def test_the_request_to_one_broker_is_sent_apart_although_that_to_another_broker_was_successful() -> None:
    failure = ApiError(ErrorCode.POLICY_VIOLATION)

    def refuse_t1(request: NodeRequest) -> Reply:
        is_bad = Resource.topic("t1") in request.items
        return CallResult(dict.fromkeys(request.items, failure if is_bad else None))

    brokers = Brokers(refuse_t1)
    answers = send(brokers, [[altered(0), on_broker(2)], [altered(1)]])
    sent = [[each.name for each in request.items] for request in brokers.requests]
    assert sent == [["t0", "t1"], ["2"], ["t0"], ["t1"]]
    assert answers.refused == {Resource.topic("t1"): failure}


def test_a_change_for_an_unreachable_broker_is_not_sent_and_merged_changes_are_made() -> None:
    def refuse_connections(request: NodeRequest) -> Reply:
        return ConnectionFailed("refused") if request.address.port == 2 else accepted(request)

    answers = send(Brokers(refuse_connections), [[altered(0)], [on_broker(2)]])
    assert answers.refused == {Resource.broker(2): UNAVAILABLE}
    assert answers.unknown == set()


@pytest.mark.parametrize("reply", [lost, lambda _: RemoteProtocolError("garbled")])
def test_only_the_changes_of_a_request_without_a_valid_response_are_unknown(
    reply: Callable[[NodeRequest], Reply],
) -> None:
    brokers = Brokers(lambda request: reply(request) if request.address.port == 2 else accepted(request))
    answers = send(brokers, [[altered(0)], [on_broker(2)]])
    assert answers.refused == {Resource.broker(2): UNKNOWN}
    assert answers.unknown == {Resource.broker(2)}


def test_a_request_that_was_not_sent_is_not_unknown_if_another_one_is() -> None:
    brokers = Brokers(lambda request: ConnectionFailed("refused") if request.address.port == 2 else lost(request))
    answers = send(brokers, [[altered(0)], [on_broker(2)]])
    assert answers.refused == {Resource.topic("t0"): UNKNOWN, Resource.broker(2): UNAVAILABLE}
    assert answers.unknown == {Resource.topic("t0")}


def test_a_change_that_cannot_be_encoded_is_refused_alone() -> None:
    """For example because one of its texts has more than 32,767 bytes."""

    def encode(request: NodeRequest) -> Reply:
        is_bad = Resource.topic("t1") in request.items
        return LocalProtocolError("a string of 36000 bytes is too long") if is_bad else accepted(request)

    answers = send(Brokers(encode), [[altered(0)], [altered(1)], [altered(2)]])
    refusal = ApiError(ErrorCode.INVALID_REQUEST, "a string of 36000 bytes is too long")
    assert answers.refused == {Resource.topic("t1"): refusal}
    assert answers.unknown == set()


@pytest.mark.parametrize("error", [RemoteProtocolError("garbled"), ValueError("a bug"), OSError("no such file")])
def test_an_unexpected_error_of_a_request_makes_its_changes_unknown(error: Exception) -> None:
    class Failing(Cluster):
        def __call__(self, call: Call[Any, Any, Any]) -> Results[Any, None]:
            if call.name == "CreateTopics":
                raise error
            return super().__call__(call)

    answers = send(Failing(), [[altered(0), NewTopic("new", 1, 1)]])
    assert answers.refused == {Resource.topic("new"): UNKNOWN}
    assert answers.unknown == {Resource.topic("new")}


def not_sent() -> Exception:
    error = RequestTimedOut("earlier requests took too long")
    error.sent = False
    return error


@pytest.mark.parametrize(
    "second",
    [
        not_sent(),
        ConnectionFailed("refused"),
        ApiError(ErrorCode.THROTTLING_QUOTA_EXCEEDED),
        ApiError(ErrorCode.NOT_CONTROLLER),
        ApiError(ErrorCode.BROKER_NOT_AVAILABLE),
        ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_a_change_that_may_have_been_made_stays_unknown_if_the_second_request_does_not_show_it(
    second: Exception | ApiError,
) -> None:
    class Busy(Cluster):
        def __call__(self, call: Call[Any, Any, Any]) -> Results[Any, None]:
            self.calls.append(call)
            if len(self.calls) == 1:
                return Results(dict.fromkeys(call.items, ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)))
            if isinstance(second, Exception):
                raise second
            return Results(dict.fromkeys(call.items, second))

    answers = send(Busy(), [[altered(0)], [altered(1)]])
    topics = {Resource.topic("t0"), Resource.topic("t1")}
    assert answers.refused == dict.fromkeys(topics, ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, CHECK))
    assert answers.unknown == topics


@pytest.mark.parametrize("error", [RequestTimedOut("silence"), RemoteProtocolError("garbled")])
def test_a_dry_run_without_a_response_has_changed_nothing(error: Exception) -> None:
    answers = send(Cluster(error=error), [[altered(0)]], validate_only=True)
    assert answers.refused == {
        Resource.topic("t0"): ApiError(
            ErrorCode.REQUEST_TIMED_OUT,
            "the cluster did not respond; a dry run changes nothing; try again later",
        )
    }
    assert answers.unknown == set()
