"""What a gateway without controllers detects as a change. Each test simulates the brokers and runs the polls."""

from __future__ import annotations

import http.client
from collections.abc import Callable, Collection

import pytest

from kconf.errors import (
    ApiError,
    ConnectionFailed,
    ErrorCode,
    KconfError,
    LocalProtocolError,
    NotAuthorized,
    RemoteProtocolError,
    StoreUnavailable,
)
from kconf.model.journal import Change, ChangeKind, RequestContext, Revision
from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource, ResourceType
from kconf.model.snapshot import Snapshot
from kconf.store.upstream.authors.in_flight import KeysInFlight
from kconf.store.upstream.authors.matching import ExpectedChanges, with_authors
from kconf.store.upstream.polling import poller as polling
from kconf.store.upstream.polling.polled_state import shown_value
from kconf.store.upstream.polling.poller import Poller, RecordedState
from kconf.store.upstream.polling.reading import HIDDEN, Reading
from kconf.store.upstream.source import Shown
from tests.unit.store.upstream.polling.cluster import FakeCluster, FakeReader

ORDERS = Resource.topic("orders")
KEY = "retention.ms"
RETENTION = KeysInFlight(keys={(ORDERS, KEY)})
ALICE = RequestContext("User:alice", reason="A-1")


@pytest.fixture
def cluster() -> FakeCluster:
    cluster = FakeCluster([1, 2])
    cluster.create("orders", 1, retention_ms="1")
    return cluster


def started(cluster: FakeCluster, recorded: RecordedState | None = None) -> Poller:
    """A poller that has found its broker, without its thread."""
    poller = Poller(FakeReader(cluster), "cluster", recorded, 3600.0)  # type: ignore[arg-type]
    poller._find_broker()
    return poller


def seen(revisions: list[Revision]) -> list[tuple[str, str, str | None, str | None]]:
    return [
        (str(change.resource), change.key or change.op, change.before, change.after)
        for each in revisions
        for change in each.changes
        if change.kind is ChangeKind.CONFIG
    ]


def expecting(
    value: str | None, before: str | None = "1", *, key: str = KEY, sensitive: bool = False
) -> ExpectedChanges:
    change = Change(ChangeKind.CONFIG, ORDERS, key, before, value, "set", sensitive)
    return ExpectedChanges([PendingCommit(ALICE, 0, [change], {})], shown=shown_value)


def test_later_differences_are_changes_with_time_bounds_and_without_author(cluster: FakeCluster) -> None:
    poller = started(cluster)
    snapshot, found = poller.take_all()
    assert (snapshot.revision, dict(snapshot.overrides(ORDERS)), found) == (1, {KEY: "1"}, [])
    begun = poller.polled
    cluster.set(ORDERS, KEY, "2")
    poller._step()
    (revision,) = poller.take()
    assert (revision.number, revision.origin, revision.caller.principal) == (2, "outside", "")
    assert revision.not_before == begun
    assert revision.time >= begun
    assert seen([revision]) == [("topic:orders", KEY, "1", "2")]


def test_a_change_on_a_lagging_broker_is_reported_once_when_it_appears(cluster: FakeCluster) -> None:
    poller = started(cluster)
    cluster.lagging.add(1)
    cluster.set(ORDERS, KEY, "2")
    poller._step()
    assert poller.take() == []
    cluster.lagging.clear()
    poller._step()
    poller._step()
    assert seen(poller.take()) == [("topic:orders", KEY, "1", "2")]


def test_a_recreated_topic_is_reported_as_deleted_and_created(cluster: FakeCluster) -> None:
    poller = started(cluster)
    cluster.delete("orders")
    cluster.create("orders", 2, retention_ms="1")
    poller._step()
    found = poller.take()
    assert [[(each.kind, each.op) for each in revision.changes] for revision in found] == [
        [("config", "delete"), ("topic", "delete")],
        [("topic", "create")],
        [("config", "set")],
    ]
    assert poller._snapshot.topics["orders"].id.int == 2


def test_a_key_in_flight_is_not_reported_as_changed_outside(cluster: FakeCluster) -> None:
    """A poll during the request sees the new value, but the request records it."""
    poller = started(cluster)
    poller.begin_requests(RETENTION)
    cluster.set(ORDERS, KEY, "2")
    cluster.set(Resource.brokers(), "log.retention.ms", "5")
    poller._step()
    assert seen(poller.take()) == [("brokers", "log.retention.ms", None, "5")]
    assert poller.wait_for(expecting("2"), 10) is Shown.SHOWN
    taken = poller.take()
    claims, done = expecting("2").claims(taken)
    found = with_authors(taken, claims)
    assert [(each.caller, each.origin, each.not_before) for each in found] == [(ALICE, "kconf", None)]
    assert done == {ORDERS}
    poller.end_requests()
    poller._step()
    assert poller.take() == []


def test_other_keys_of_a_resource_with_a_key_in_flight_are_reported(cluster: FakeCluster) -> None:
    poller = started(cluster)
    poller.begin_requests(RETENTION)
    cluster.set(ORDERS, KEY, "2")
    cluster.set(ORDERS, "retention.bytes", "5")
    poller._step()
    assert seen(poller.take(RETENTION)) == [("topic:orders", "retention.bytes", None, "5")]
    poller.end_requests()
    poller._step()
    assert seen(poller.take()) == [("topic:orders", KEY, "1", "2")]


def test_the_deletion_of_a_topic_with_a_key_in_flight_is_reported_after_the_request(
    cluster: FakeCluster,
) -> None:
    cluster.set(ORDERS, "retention.bytes", "5")
    poller = started(cluster)
    poller.begin_requests(RETENTION)
    cluster.delete("orders")
    poller._step()
    assert (poller.take(), "orders" in poller._snapshot.topics) == ([], True)
    poller.end_requests()
    poller._step()
    assert [len(each.changes) for each in poller.take()] == [3]


def test_a_poll_reports_changes_that_the_store_has_taken_during_the_poll(cluster: FakeCluster) -> None:
    """The store also takes changes while it cleans up, and publishes them when it is called."""
    poller = started(cluster)
    cluster.set(ORDERS, KEY, "2")
    taken: list[Revision] = []
    calls: list[int] = []
    poller.on_change = lambda: calls.append(len(taken))
    completed = poller._completed

    def take_first(begun: int, begun_at: float) -> None:
        taken.extend(poller.take())
        completed(begun, begun_at)

    poller._completed = take_first  # type: ignore[method-assign]
    poller._step()
    assert (len(taken), calls) == (1, [1])


def test_changes_of_others_since_the_last_poll_are_seen_before_a_request_is_sent(cluster: FakeCluster) -> None:
    poller = started(cluster)
    cluster.set(ORDERS, KEY, "9")
    poller.begin_requests(RETENTION)
    assert seen(poller.take()) == [("topic:orders", KEY, "1", "9")]


def test_a_change_waits_until_the_broker_shows_it(cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    poller = started(cluster)
    poller.begin_requests(RETENTION)
    cluster.lagging.add(1)
    cluster.set(ORDERS, KEY, "2")
    looks = on_sleep(monkeypatch, lambda count: cluster.lagging.discard(1) if count == 3 else None)
    assert poller.wait_for(expecting("2"), 3600) is Shown.SHOWN
    assert len(looks) == 3


def test_a_change_that_the_broker_does_not_show_in_time_is_not_acknowledged(cluster: FakeCluster) -> None:
    poller = started(cluster)
    poller.begin_requests(RETENTION)
    cluster.lagging.add(1)
    cluster.set(ORDERS, KEY, "2")
    assert poller.wait_for(expecting("2"), -1) is not Shown.SHOWN
    assert "broker 1 does not show it" in str(poller.unshown(Shown.DIFFERENT))
    assert poller.take() == []


def test_the_wait_for_a_value_ends_early_if_the_broker_shows_another_one(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    poller = started(cluster)
    poller.begin_requests(RETENTION)
    cluster.set(ORDERS, KEY, "3")
    monkeypatch.setattr(polling, "_OVERTAKEN", 0.0)
    on_sleep(monkeypatch, lambda _: None)
    assert poller.wait_for(expecting("2"), 3600) is not Shown.SHOWN
    assert seen(poller.take()) == [("topic:orders", KEY, "1", "3")]


class Counted(Resource):
    """Counts comparisons."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return super().__eq__(other)

    __hash__ = Resource.__hash__


def test_the_check_for_other_values_takes_linear_time(cluster: FakeCluster) -> None:
    count = 200
    poller = started(cluster)
    topics = [Counted(ResourceType.TOPIC, f"t{n}") for n in range(count)]
    changes = [Change(ChangeKind.CONFIG, topic, KEY, None, "7", "set") for topic in topics]
    expected = ExpectedChanges([PendingCommit(ALICE, 0, changes, {})])
    again = [Counted(ResourceType.TOPIC, f"t{n}") for n in range(count)]
    poller._revisions = [
        Revision(n, 0, ALICE, (Change(ChangeKind.CONFIG, topic, KEY, None, "7", "set"),))
        for n, topic in enumerate(again)
    ]
    Counted.compared = 0
    assert not poller._is_overtaken(expected)
    assert Counted.compared <= 4 * count
    poller._revisions[-1] = Revision(count, 0, ALICE, (Change(ChangeKind.CONFIG, again[-1], KEY, None, "8", "set"),))
    assert poller._is_overtaken(expected)


def test_a_value_is_recognized_in_the_form_that_the_broker_shows(cluster: FakeCluster) -> None:
    poller = started(cluster)
    poller.begin_requests(RETENTION)
    cluster.set(ORDERS, KEY, "7")
    assert poller.wait_for(expecting("007"), 10) is Shown.SHOWN


def test_replacing_a_secret_is_a_change_only_if_this_gateway_did_it(cluster: FakeCluster) -> None:
    secret = "sasl.jaas.config"
    cluster.set(ORDERS, secret, HIDDEN)
    poller = started(cluster)
    poller._step()
    assert poller.take() == []
    poller.begin_requests(RETENTION)
    assert poller.wait_for(expecting("new", "", key=secret, sensitive=True), 10) is Shown.SHOWN
    ((change,),) = [each.changes for each in poller.take()]
    assert (change.before, change.after, change.sensitive) == (HIDDEN, HIDDEN, True)


def test_a_credential_with_other_iterations_is_a_change(cluster: FakeCluster) -> None:
    user = Resource(ResourceType.SCRAM, "bob")
    cluster.set(user, "SCRAM-SHA-256", f"iterations=4096 {HIDDEN}")
    poller = started(cluster)
    cluster.set(user, "SCRAM-SHA-256", f"iterations=8192 {HIDDEN}")
    poller._step()
    ((change,),) = [each.changes for each in poller.take()]
    assert (change.sensitive, change.after) == (True, f"iterations=8192 {HIDDEN}")


def test_another_broker_is_read_when_the_first_is_lost(cluster: FakeCluster) -> None:
    poller = started(cluster)
    cluster.set(ORDERS, KEY, "2")
    cluster.unreachable.add(1)
    poller._step()
    assert not poller.is_current
    poller._step()
    assert poller.is_current
    assert poller.polling.broker == 2
    assert seen(poller.take()) == [("topic:orders", KEY, "1", "2")]
    cluster.reads.clear()
    poller._step()
    assert {node for node, _ in cluster.reads} == {2}


def test_a_broker_that_lags_is_not_used(cluster: FakeCluster) -> None:
    """It shows an older value than the current state: the state does not change, and is marked stale."""
    poller = started(cluster)
    cluster.lagging.add(2)
    cluster.catch_up(2)
    cluster.set(ORDERS, KEY, "2")
    cluster.create("new", 3)
    poller._step()
    poller.take()
    cluster.unreachable.add(1)
    for _ in range(3):
        poller._step()
        assert not poller.is_current
    assert poller.take() == []
    with pytest.raises(StoreUnavailable):
        poller.begin_requests(RETENTION)
    cluster.lagging.clear()
    poller._step()
    assert poller.is_current
    assert poller.take() == []


def test_another_cluster_at_the_same_address_is_not_recorded_as_changes(cluster: FakeCluster) -> None:
    """Its topics would look deleted, and others created."""
    poller = started(cluster)
    cluster.id = "other"
    cluster.set(ORDERS, KEY, "9")
    for _ in range(2):
        poller._step()
        assert (poller.is_current, poller.take()) == (False, [])
    assert "belong to cluster other, not to cluster" in str(poller._error)
    cluster.id = "cluster"
    poller._step()
    assert poller.is_current
    assert seen(poller.take()) == [("topic:orders", KEY, "1", "9")]


def test_changes_made_while_a_broker_was_unreachable_are_reported_when_it_is_back(cluster: FakeCluster) -> None:
    """The broker is up to date when it responds again, so a value that was there before is a new change."""
    cluster.nodes = [1]
    poller = started(cluster)
    cluster.set(ORDERS, KEY, "2")
    poller._step()
    assert len(poller.take()) == 1
    cluster.unreachable.add(1)
    poller._step()
    cluster.unreachable.clear()
    cluster.set(ORDERS, KEY, "1")
    poller._step()
    assert poller.is_current
    assert seen(poller.take()) == [("topic:orders", KEY, "2", "1")]


def test_a_resource_type_that_the_broker_refuses_is_unknown_and_not_empty(cluster: FakeCluster) -> None:
    refusal = ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "no")
    cluster.refused[ResourceType.ACL] = refusal
    poller = started(cluster)
    poller._step()
    assert poller.unknown.kinds == {ResourceType.ACL: refusal}
    assert poller.is_current
    assert poller.unknown.of(Resource(ResourceType.ACL, "2:3:orders")) == refusal
    assert poller.unknown.of(ORDERS) is None


def test_a_resource_type_that_the_broker_refuses_later_makes_the_state_stale(cluster: FakeCluster) -> None:
    cluster.set(Resource(ResourceType.ACL, "2:3:orders"), "[]", "")
    poller = started(cluster)
    cluster.refused[ResourceType.ACL] = ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "no")
    poller._step()
    poller._step()
    assert not poller.is_current
    assert poller.take() == []
    assert poller._snapshot.overrides(Resource(ResourceType.ACL, "2:3:orders"))
    cluster.refused.clear()
    poller._step()
    assert poller.is_current


def test_brokers_that_do_not_show_their_configs_prevent_the_start(cluster: FakeCluster) -> None:
    cluster.refused[ResourceType.BROKER] = ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "no")
    with pytest.raises(NotAuthorized):
        started(cluster)


def test_a_topic_whose_configs_are_refused_is_unknown_and_others_are_not(cluster: FakeCluster) -> None:
    refusal = ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    cluster.create("others", 2)
    cluster.refused[ORDERS] = refusal
    poller = started(cluster)
    assert poller.unknown.resources == {ORDERS: refusal}
    assert poller.unknown.of(Resource.topic("others")) is None
    cluster.refused.clear()
    poller._step()
    assert poller.unknown.resources == {}
    assert seen(poller.take()) == [("topic:orders", KEY, None, "1")]


def recorded(poller: Poller, unknown: frozenset[ResourceType] = frozenset(), broker: int = 1) -> RecordedState:
    snapshot: Snapshot = poller._snapshot
    return RecordedState(snapshot, unknown, 12_345, broker, poller.take(), snapshot.revision)


def test_changes_found_after_a_restart_were_made_after_the_last_poll(cluster: FakeCluster) -> None:
    before = recorded(started(cluster))
    cluster.set(ORDERS, KEY, "2")
    poller = started(cluster, before)
    (revision,) = poller.take()
    assert (revision.number, revision.not_before) == (2, 12_345)
    assert seen([revision]) == [("topic:orders", KEY, "1", "2")]


def test_resources_that_become_readable_are_not_reported_as_changes(cluster: FakeCluster) -> None:
    acl = Resource(ResourceType.ACL, "2:3:orders")
    cluster.refused[ResourceType.ACL] = ApiError(ErrorCode.SECURITY_DISABLED)
    before = recorded(started(cluster), frozenset({ResourceType.ACL}))
    cluster.refused.clear()
    cluster.set(acl, "[]", "")
    poller = started(cluster, before)
    snapshot, found = poller.take_all()
    assert (dict(snapshot.overrides(acl)), found) == ({"[]": ""}, [])


def test_a_broker_that_lags_is_not_used_after_a_restart_either(cluster: FakeCluster) -> None:
    poller = started(cluster)
    cluster.set(ORDERS, KEY, "2")
    poller._step()
    before = recorded(poller)
    cluster.set(ORDERS, KEY, "1")
    assert seen(started(cluster, before).take()) == [("topic:orders", KEY, "2", "1")]
    cluster.nodes = [2]
    with pytest.raises(StoreUnavailable, match="broker 2 lags"):
        started(cluster, before)


def on_sleep(monkeypatch: pytest.MonkeyPatch, act: Callable[[int], object]) -> list[float]:
    """Called instead of waiting between two reads of a broker."""
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        act(len(slept))

    monkeypatch.setattr("kconf.store.upstream.polling.poller.time.sleep", sleep)
    return slept


def test_an_unexpected_error_makes_the_state_stale_until_a_broker_is_read_again(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    poller = started(cluster)
    listed = FakeReader.list_topics

    def fail(*_: object) -> object:
        raise http.client.BadStatusLine("from an HTTP server")

    monkeypatch.setattr(FakeReader, "list_topics", fail)
    poller._step()
    assert "internal error, BadStatusLine; see the log" in str(poller.stale_reason)
    assert {each.exc_info[0] for each in caplog.records if each.exc_info} == {http.client.BadStatusLine}

    monkeypatch.setattr(FakeReader, "list_topics", listed)
    cluster.set(ORDERS, KEY, "2")
    poller._step()
    assert poller.stale_reason is None
    assert seen(poller.take()) == [("topic:orders", KEY, "1", "2")]


INVALID = ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION)


def test_refusals_of_names_that_clients_choose_are_not_remembered(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise clients could fill the memory of a gateway."""
    poller = started(cluster)
    read = FakeReader.some
    others = [Resource.topic("not!valid"), Resource(ResourceType.GROUP, "g")]

    def some(reader: FakeReader, node: int, resources: Collection[Resource]) -> Reading:
        found = read(reader, node, [each for each in resources if each not in others])
        return found._replace(refused={**found.refused, **dict.fromkeys(others, INVALID)})

    monkeypatch.setattr(FakeReader, "some", some)
    cluster.refused[ORDERS] = ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    poller.refresh([ORDERS, *others])
    assert poller.unknown.resources == {ORDERS: cluster.refused[ORDERS]}


@pytest.mark.parametrize(
    ("error", "is_stale"),
    [
        (LocalProtocolError("a string of 36000 bytes is too long"), False),
        (NotAuthorized("no"), False),
        (ConnectionFailed("lost"), True),
        (RemoteProtocolError("truncated"), True),
    ],
)
def test_only_an_error_of_the_broker_makes_the_state_stale(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch, error: KconfError, is_stale: bool
) -> None:
    poller = started(cluster)

    def some(*_: object) -> Reading:
        raise error

    monkeypatch.setattr(FakeReader, "some", some)
    poller.refresh([ORDERS])
    assert (poller.stale_reason is not None) is is_stale
