"""Runs calls without a socket: the generator gets scripted responses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import pytest

from kconf import (
    AlterConfigOp,
    ApiError,
    BrokerNotAvailable,
    ConnectionFailed,
    ErrorCode,
    InvalidRequest,
    Mechanism,
    NewTopic,
    Node,
    OpType,
    RequestTimedOut,
    Resource,
    UnsupportedVersion,
    UserScramCredentialUpsertion,
)
from kconf.client.calls.base import Call, CallResult, Unanswered, Unsent
from kconf.client.calls.cluster import ClusterNodes, ListGroups, ListNodes
from kconf.client.calls.configs import DescribeConfigs, IncrementalAlterConfigs
from kconf.client.calls.scram import AlterUserScramCredentials
from kconf.client.calls.topics import CreateTopics, DescribeTopics
from kconf.client.settings import Address, Bootstrap, ClientSettings, RequestLimits
from kconf.client.transport.call_runner import run_call
from kconf.client.transport.metadata import ClusterMetadata
from kconf.client.transport.requests import Backoff, NodeRequest, Reply, SendBatch, not_sent_in_time
from kconf.errors import (
    AuthenticationFailed,
    ConfigurationError,
    KconfError,
    LocalProtocolError,
    RemoteProtocolError,
    ThrottlingQuotaExceeded,
)

A, B = Address("a", 1), Address("b", 2)
NODES = {1: Node(1, "a", 1), 2: Node(2, "b", 2)}
ORDERS = Resource.topic("orders")

Script = Callable[[NodeRequest], Reply]


class World:
    """Responds to requests by a script, advances its own clock, and records the requests."""

    def __init__(self, answer: Script, bootstrap: Sequence[Address] = (A,), batch: int = 250) -> None:
        self.answer = answer
        self.now = 0.0
        self.requests: list[NodeRequest] = []
        self.rounds: list[int] = []
        self.pauses: list[float] = []
        self.controller = 1
        self.lost_metadata = 0
        self.metadata_failure: KconfError | None = None
        self.cluster = ClusterMetadata(ClientSettings(Bootstrap(tuple(bootstrap)), limits=RequestLimits(batch)))

    def run(self, call: Call[Any, Any, Any], timeout: float = 60.0) -> Any:
        steps = run_call(call, self.cluster, self.now + timeout, lambda: self.now, lambda: 0.5)
        try:
            step = next(steps)
            while True:
                if isinstance(step, Backoff):
                    self.pauses.append(step.seconds)
                    self.now += step.seconds
                    step = steps.send(())
                else:
                    step = steps.send(self._send_batch(step))
        except StopIteration as done:
            return done.value

    def _send_batch(self, step: SendBatch) -> list[Reply]:
        self.rounds.append(len(step.requests))
        replies = []
        for request in step.requests:
            self.requests.append(request)
            metadata = isinstance(request.call, ListNodes)
            replies.append(self._nodes(request) if metadata else self.answer(request))
        return replies

    def _nodes(self, request: NodeRequest) -> Reply:
        if self.lost_metadata:
            self.lost_metadata -= 1
            return lost(request)
        if self.metadata_failure is not None:
            return self.metadata_failure
        return CallResult({None: ClusterNodes(NODES, self.controller)})

    @property
    def routed(self) -> list[Address]:
        """The node that got the call itself."""
        return [request.address for request in self.requests if not isinstance(request.call, ListNodes)]


def fine(request: NodeRequest) -> Reply:
    return CallResult(dict.fromkeys(request.items, "done"))


def lost(request: NodeRequest) -> ConnectionFailed:
    error = ConnectionFailed(f"the connection to {request.address} was lost")
    error.sent = True
    return error


def in_turn(*replies: Script) -> Script:
    left = list(replies)
    return lambda request: (left.pop(0) if len(left) > 1 else left[0])(request)


def topics(count: int) -> list[Resource]:
    return [Resource.topic(f"t{number}") for number in range(count)]


def test_one_resource_needs_no_metadata() -> None:
    world = World(fine)

    assert world.run(DescribeConfigs([ORDERS]))[ORDERS] == "done"

    assert [request.call.name for request in world.requests] == ["DescribeConfigs"]


def test_many_resources_are_split_and_spread_over_all_brokers() -> None:
    world = World(fine, batch=500)

    found = world.run(DescribeConfigs(topics(10_000)))

    assert list(found) == topics(10_000)
    assert world.rounds == [1, 20]
    assert [len(request.items) for request in world.requests[1:]] == [500] * 20
    assert sorted(world.routed) == [A] * 10 + [B] * 10


def test_a_resource_given_twice_is_requested_once() -> None:
    world = World(fine)

    world.run(DescribeConfigs([ORDERS, ORDERS]))

    assert list(world.requests[0].items) == [ORDERS]


def test_an_empty_request_is_not_sent() -> None:
    world = World(fine)

    assert len(world.run(DescribeConfigs([]))) == 0
    assert world.requests == []


def test_the_values_of_a_broker_are_requested_from_that_broker() -> None:
    world = World(fine)

    world.run(DescribeConfigs([ORDERS, Resource.broker(2), Resource.logger(1), Resource.brokers()]))

    went = {item: request.address for request in world.requests[1:] for item in request.items}
    assert went == {ORDERS: A, Resource.brokers(): A, Resource.logger(1): A, Resource.broker(2): B}


def test_an_unknown_broker_fails_at_once_and_other_resources_do_not() -> None:
    world = World(fine)

    found = world.run(DescribeConfigs([ORDERS, Resource.broker(7)]))

    assert found[ORDERS] == "done"
    with pytest.raises(BrokerNotAvailable, match="unknown broker 7; the cluster has 1, 2"):
        found[Resource.broker(7)]
    assert world.pauses == []


def test_broker_names_that_are_not_numbers_are_sent_to_any_broker() -> None:
    world = World(fine)

    world.run(DescribeConfigs([Resource.broker(1)._replace(name="x"), Resource.broker(1)._replace(name="-1")]))

    assert world.rounds == [1]


def test_a_request_follows_the_controller_when_it_changes() -> None:
    world = World(fine)

    def not_me(request: NodeRequest) -> Reply:
        world.controller = 2
        return CallResult(dict.fromkeys(request.items, ApiError(ErrorCode.NOT_CONTROLLER)))

    world.answer = in_turn(not_me, fine)
    made = world.run(CreateTopics(["t"], timeout_ms=1))

    assert made["t"] == "done"
    assert world.routed == [A, B]
    assert world.pauses == [0.1]


def test_only_failed_requests_are_retried() -> None:
    def some(request: NodeRequest) -> Reply:
        return CallResult(
            {"a": "done", "b": ApiError(ErrorCode.NOT_CONTROLLER), "c": ApiError(ErrorCode.INVALID_CONFIG)}
        )

    world = World(in_turn(some, fine))
    made = world.run(CreateTopics(["a", "b", "c"], timeout_ms=1))

    assert world.requests[-1].items == ["b"]
    assert (made["a"], made["b"]) == ("done", "done")
    assert made.failures == {"c": ApiError(ErrorCode.INVALID_CONFIG)}


def test_a_request_refused_by_a_mutation_quota_is_repeated_after_the_throttle_time() -> None:
    def throttled(request: NodeRequest) -> Reply:
        return CallResult(dict.fromkeys(request.items, ApiError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)), 2500)

    world = World(in_turn(throttled, fine))

    assert world.run(CreateTopics(["t"], timeout_ms=1))["t"] == "done"
    assert world.pauses == [2.5]


def test_a_call_does_not_wait_longer_for_a_mutation_quota_than_it_may() -> None:
    def throttled(request: NodeRequest) -> Reply:
        return CallResult(dict.fromkeys(request.items, ApiError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)), 2500)

    world = World(in_turn(throttled, fine))
    call = CreateTopics(["t"], timeout_ms=1)
    call.longest_throttle = 2.0

    with pytest.raises(ThrottlingQuotaExceeded):
        world.run(call)
    assert world.pauses == []


def test_a_request_that_stays_throttled_fails_at_the_deadline() -> None:
    def throttled(request: NodeRequest) -> Reply:
        return CallResult(dict.fromkeys(request.items, ApiError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)), 2500)

    with pytest.raises(RequestTimedOut, match="THROTTLING_QUOTA_EXCEEDED"):
        World(throttled).run(CreateTopics(["t"], timeout_ms=1), timeout=10)


def test_a_lost_response_is_requested_from_another_node() -> None:
    world = World(in_turn(lost, fine), bootstrap=[A, B])

    assert world.run(DescribeConfigs([ORDERS]))[ORDERS] == "done"
    assert world.routed == [A, B]


def test_a_possibly_applied_change_is_not_repeated() -> None:
    world = World(in_turn(lost, fine))

    with pytest.raises(ConnectionFailed):
        world.run(CreateTopics(["t"], timeout_ms=1))

    assert len(world.routed) == 1


def test_unsent_requests_are_sent_again() -> None:
    world = World(in_turn(lambda request: ConnectionFailed("refused"), fine))

    assert world.run(CreateTopics(["t"], timeout_ms=1))["t"] == "done"


def test_a_lost_response_is_not_forgotten_when_a_later_attempt_is_not_sent() -> None:
    def lost(request: NodeRequest) -> Reply:
        error = RequestTimedOut("no response")
        error.sent = True
        return error

    world = World(in_turn(lost, not_sent_in_time))
    call = IncrementalAlterConfigs({ORDERS: [AlterConfigOp(OpType.SET, "retention.ms", "1")]})

    with pytest.raises(RequestTimedOut) as raised:
        world.run(call, timeout=0.3)

    assert raised.value.sent, "the first request may have been carried out"


SETTING = {ORDERS: [AlterConfigOp(OpType.SET, "retention.ms", "1")]}


def refused(request: NodeRequest) -> Reply:
    failure = ApiError(ErrorCode.REQUEST_TIMED_OUT, "the request was not sent to the cluster")
    return CallResult(dict.fromkeys(request.items, failure))


def test_a_refused_retry_says_that_the_first_attempt_may_have_been_applied() -> None:
    """The first attempt reaches a gateway whose cluster does not respond, the second one finds it unavailable."""
    result = World(in_turn(lost, refused)).run(IncrementalAlterConfigs(SETTING))

    assert result.failures[ORDERS].message == (
        "the request was not sent to the cluster; an earlier attempt got no response, so the change may have been made"
    )


@pytest.mark.parametrize(
    ("call", "first"),
    [
        (IncrementalAlterConfigs(SETTING), lambda request: ConnectionFailed("refused")),
        (IncrementalAlterConfigs(SETTING, validate_only=True), lost),
        (DescribeConfigs([ORDERS]), lost),
    ],
)
def test_a_refusal_is_unchanged_if_no_earlier_attempt_can_have_been_applied(
    call: Call[Any, Any, Any], first: Script
) -> None:
    result = World(in_turn(first, refused)).run(call)

    assert result.failures[ORDERS].message == "the request was not sent to the cluster"


def test_a_call_times_out_while_another_connection_is_opened() -> None:
    world = World(in_turn(lost, lambda request: ConnectionFailed("no response in time")))

    with pytest.raises(RequestTimedOut, match=r"DescribeConfigs did not succeed in 0 s; last error: no resp") as raised:
        world.run(DescribeConfigs([ORDERS]), timeout=0.2)

    assert raised.value.sent


def test_connections_lost_in_every_attempt_raise_connection_failed() -> None:
    """Before the deadline, after the maximum number of attempts."""
    with pytest.raises(ConnectionFailed):
        World(lost).run(DescribeConfigs([ORDERS]))


def test_a_request_that_was_not_sent_before_the_deadline_is_not_a_lost_response() -> None:
    world = World(not_sent_in_time)

    with pytest.raises(RequestTimedOut, match="CreateTopics was not sent") as raised:
        world.run(CreateTopics(["t"], timeout_ms=1), timeout=0)

    assert not raised.value.sent


def test_a_dry_run_may_always_be_repeated() -> None:
    world = World(in_turn(lost, fine))

    assert world.run(CreateTopics(["t"], timeout_ms=1, validate_only=True))["t"] == "done"


def test_an_alteration_with_an_expected_revision_is_not_repeated() -> None:
    alterations = {ORDERS: [AlterConfigOp(OpType.SET, "a", "b")]}
    world = World(in_turn(lost, fine))

    with pytest.raises(ConnectionFailed):
        world.run(IncrementalAlterConfigs(alterations, expected={ORDERS: 3}))
    assert World(in_turn(lost, fine)).run(IncrementalAlterConfigs(alterations))[ORDERS] == "done"


def test_a_cluster_without_brokers_is_reported_soon() -> None:
    world = World(lambda request: ConnectionFailed(f"cannot connect to {request.address}"), bootstrap=[A, B])

    with pytest.raises(ConnectionFailed, match=r"none of a:1, b:2 can be reached; last error: cannot connect to b:2"):
        world.run(DescribeConfigs([ORDERS]))

    assert world.routed == [A, B, A, B, A, B]
    assert world.now < 1


def test_a_broker_that_was_reached_before_is_retried_until_the_deadline() -> None:
    world = World(fine)
    world.run(DescribeConfigs([ORDERS]))
    world.answer = lambda request: ConnectionFailed("refused")

    with pytest.raises(RequestTimedOut, match=r"DescribeConfigs did not succeed in \d+ s; last error: refused"):
        world.run(DescribeConfigs([ORDERS]))

    assert 58 < world.now <= 60
    assert max(world.pauses) <= 1.2


def test_a_lost_broker_is_reported_soon_if_the_settings_limit_attempts() -> None:
    world = World(fine)
    settings = world.cluster.settings
    world.cluster.settings = settings._replace(retries=settings.retries._replace(lost_attempts=3))
    world.run(DescribeConfigs([ORDERS]))
    world.answer = lambda request: ConnectionFailed("refused")

    with pytest.raises(ConnectionFailed, match="refused"):
        world.run(DescribeConfigs([ORDERS]))

    assert len(world.pauses) == 2
    world.answer = in_turn(*(lambda request: RequestTimedOut("silence") for _ in range(5)), fine)
    world.run(DescribeConfigs([ORDERS]))  # a broker that accepts connections is waited for


def test_answered_parts_of_a_call_are_returned_if_other_parts_time_out() -> None:
    world = World(
        lambda request: fine(request) if request.items[0].name == "t0" else RequestTimedOut("silence"), batch=2
    )

    found = world.run(DescribeConfigs(topics(4)), timeout=5)

    assert found[Resource.topic("t1")] == "done"
    assert {each.name: failure.code for each, failure in found.failures.items()} == {
        "t2": ErrorCode.REQUEST_TIMED_OUT,
        "t3": ErrorCode.REQUEST_TIMED_OUT,
    }


def test_an_api_that_a_broker_does_not_support_is_not_tried_again() -> None:
    world = World(lambda request: UnsupportedVersion("too old"))

    with pytest.raises(UnsupportedVersion):
        world.run(DescribeConfigs([ORDERS]))

    assert world.rounds == [1]


def test_an_item_missing_from_a_response_is_an_error() -> None:
    found = World(lambda request: CallResult({})).run(DescribeConfigs([ORDERS]))

    assert found.failures[ORDERS].code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_cluster_without_controller_is_waited_for() -> None:
    world = World(fine)
    world.controller = -1

    with pytest.raises(RequestTimedOut, match="no controller"):
        world.run(CreateTopics(["t"], timeout_ms=1), timeout=3)


def test_groups_are_requested_from_every_broker() -> None:
    world = World(lambda request: CallResult({each: [] for each in request.items}))

    assert world.run(ListGroups()) == []
    assert world.routed == [A, B]


@pytest.mark.parametrize("call", [ListGroups(), DescribeConfigs([ORDERS])])
def test_a_call_on_any_route_times_out_if_the_cluster_is_lost_until_the_deadline(call: Call[Any, Any, Any]) -> None:
    world = World(lost)
    world.run(ListNodes())
    world.lost_metadata = 1000

    with pytest.raises(RequestTimedOut, match=rf"{call.name} did not succeed in \d+ s; last error: the connection"):
        world.run(call, timeout=5)

    assert 4 < world.now <= 5


def test_a_lost_cluster_is_reported_soon_for_requests_to_every_node_too() -> None:
    world = World(fine)
    settings = world.cluster.settings
    world.cluster.settings = settings._replace(retries=settings.retries._replace(lost_attempts=3))
    world.lost_metadata = 1000

    with pytest.raises(ConnectionFailed, match="was lost"):
        world.run(ListGroups())

    assert len(world.pauses) == 2


def test_groups_are_listed_although_the_first_metadata_request_failed() -> None:
    world = World(lambda request: CallResult({each: [] for each in request.items}))
    world.lost_metadata = 1

    assert world.run(ListGroups()) == []
    assert world.routed == [A, B]


def test_old_metadata_is_requested_again() -> None:
    world = World(fine)
    world.run(DescribeConfigs([Resource.broker(1)]))
    world.run(DescribeConfigs([Resource.broker(1)]))
    world.now += 301
    world.run(DescribeConfigs([Resource.broker(1)]))

    assert [request.call.name for request in world.requests].count("Metadata") == 2


def test_two_credentials_of_a_user_are_sent_in_different_requests() -> None:
    """Kafka refuses a user that a request names twice."""
    kinds = (Mechanism.SCRAM_SHA_256, Mechanism.SCRAM_SHA_512)
    alterations = [UserScramCredentialUpsertion(user, kind, 4096, b"s", b"p") for user in ("a", "b") for kind in kinds]
    world = World(lambda request: CallResult(dict.fromkeys(request.items)))

    done = world.run(AlterUserScramCredentials(alterations))

    assert [[user for user, _ in request.items] for request in world.requests[1:]] == [["a", "b"], ["a", "b"]]
    assert dict(done) == {"a": None, "b": None}


def test_topic_names_and_ids_are_sent_in_different_requests() -> None:
    """A broker ignores names in a request that has IDs."""
    world = World(fine)

    world.run(DescribeTopics(["a", UUID(int=1), "b"]))

    assert [list(request.items) for request in world.requests] == [["a", "b"], [UUID(int=1)]]


def test_duplicates_are_refused_by_the_client() -> None:
    with pytest.raises(InvalidRequest, match="twice: t"):
        CreateTopics([NewTopic("t"), NewTopic("t", 3)], timeout_ms=1)
    with pytest.raises(InvalidRequest, match="topic:orders"):
        IncrementalAlterConfigs({}, expected={ORDERS: 1})


ON_TWO_BROKERS = {
    Resource.broker(1): [AlterConfigOp(OpType.SET, "log.cleaner.threads", "1")],
    Resource.broker(2): [AlterConfigOp(OpType.SET, "log.cleaner.threads", "1")],
}


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (RemoteProtocolError("garbled"), ApiError(ErrorCode.NETWORK_EXCEPTION, "garbled")),
        (LocalProtocolError("too long"), ApiError(ErrorCode.INVALID_REQUEST, "too long")),
        (ConfigurationError("no file"), ApiError(ErrorCode.NETWORK_EXCEPTION, "no file")),
    ],
)
def test_a_request_that_fails_unexpectedly_does_not_hide_the_response_to_another_one(
    error: KconfError, failure: ApiError
) -> None:
    world = World(lambda request: error if request.address == B else fine(request))

    found = world.run(IncrementalAlterConfigs(ON_TWO_BROKERS))

    assert found[Resource.broker(1)] == "done"
    assert found.failures == {Resource.broker(2): failure}


def test_the_only_request_that_fails_unexpectedly_raises_its_error() -> None:
    with pytest.raises(RemoteProtocolError, match="garbled"):
        World(lambda request: RemoteProtocolError("garbled")).run(DescribeConfigs([ORDERS]))


def test_a_failed_search_for_the_controller_does_not_hide_the_results_that_are_known() -> None:
    def some(request: NodeRequest) -> Reply:
        world.answer = fine
        world.cluster.invalidate()
        world.metadata_failure = AuthenticationFailed("expired")
        return CallResult({"a": "done", "b": ApiError(ErrorCode.NOT_CONTROLLER)})

    world = World(some)

    made = world.run(CreateTopics(["a", "b"], timeout_ms=1))

    assert made["a"] == "done"
    assert made.failures == {"b": ApiError(ErrorCode.SASL_AUTHENTICATION_FAILED, "expired")}


def test_a_change_that_was_only_throttled_is_not_possibly_made() -> None:
    def throttled(request: NodeRequest) -> Reply:
        return CallResult(dict.fromkeys(request.items, ApiError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)), 2500)

    with pytest.raises(RequestTimedOut) as raised:
        World(throttled).run(CreateTopics(["t"], timeout_ms=1), timeout=10)

    assert not raised.value.sent


def forwarded(call: Call[Any, Any, Any]) -> Call[Any, Any, Any]:
    call.forwarded, call.repeatable = True, False
    return call


def test_a_forwarded_change_is_one_request() -> None:
    world = World(fine, batch=2)

    world.run(forwarded(CreateTopics([f"t{number}" for number in range(5)], timeout_ms=1)))

    assert [len(request.items) for request in world.requests if request.call.name == "CreateTopics"] == [5]


def test_the_errors_of_a_forwarded_change_show_what_was_sent() -> None:
    world = World(lambda request: lost(request) if request.address == A else ConnectionFailed("refused"))

    failures = world.run(forwarded(IncrementalAlterConfigs(ON_TWO_BROKERS)), timeout=1).failures

    assert {resource.name: type(each) for resource, each in failures.items()} == {"1": Unanswered, "2": Unsent}


def test_a_forwarded_change_that_stays_throttled_gets_the_error_of_the_cluster() -> None:
    def throttled(request: NodeRequest) -> Reply:
        return CallResult(dict.fromkeys(request.items, ApiError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)), 2500)

    with pytest.raises(ThrottlingQuotaExceeded):
        World(throttled).run(forwarded(CreateTopics(["t"], timeout_ms=1)), timeout=10)
