"""The store of a gateway without controllers: responses to callers, and the journal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from kconf.client.admin_sync import SyncAdminClient
from kconf.client.settings import Address, Bootstrap, ClientSettings
from kconf.configdef.catalog import kafka_43
from kconf.engine.configs.alter import AlterTarget, plan_alter
from kconf.engine.configs.resolver import ConfigResolver
from kconf.errors import (
    ConnectionFailed,
    ErrorCode,
    OutcomeUnknown,
    RemoteProtocolError,
    RevisionConflict,
    StaleState,
    StoreUnavailable,
)
from kconf.model.alteration import AlterConfigOp, NewTopic, OpType, ResourceAlterations
from kconf.model.journal import Change, ChangeKind, RequestContext, Revision
from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource
from kconf.model.results import Results
from kconf.store.base import PassedOn
from kconf.store.upstream import exchange
from kconf.store.upstream import journal as journals
from kconf.store.upstream import store as stores
from kconf.store.upstream.authors.intents import ARRIVES_WITHIN
from kconf.store.upstream.broker_watch import BrokerWatch
from kconf.store.upstream.journal import GatewayJournal, Numbering
from kconf.store.upstream.open import recorded_state
from kconf.store.upstream.polling.poller import Poller
from kconf.store.upstream.store import UpstreamStore
from tests.unit.store.upstream.polling.cluster import FakeCluster, FakeReader

ORDERS = Resource.topic("orders")
KEY = "retention.ms"
ALICE = RequestContext("User:alice", reason="A-1")
SETTINGS = ClientSettings(Bootstrap((Address("broker", 1),)))


class Gateway:
    """A store and its poller without the thread: `poll` runs one poll."""

    def __init__(self, cluster: FakeCluster, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cluster, self._url, self._monkeypatch = cluster, f"sqlite:///{path}", monkeypatch
        self.answer: Callable[[], None] = lambda: None
        self.sent: list[str | None] = []
        self.poller: Poller
        facts: dict[str, Any] = {"static": {}, "members": None, "release": "4.3", "elr_version": None, "problem": None}
        self.brokers = brokers = SimpleNamespace(cluster_id="cluster", learn_keys=lambda _hidden: False, **facts)
        monkeypatch.setattr(stores, "UpstreamBrokers", lambda _client: brokers)
        monkeypatch.setattr(BrokerWatch, "start", lambda _watch: None)
        client = SimpleNamespace(_send=self._send, close=lambda: None)
        monkeypatch.setattr(SyncAdminClient, "_from_settings", lambda _settings: client)
        monkeypatch.setattr(Poller, "start", Poller._find_broker)
        monkeypatch.setattr(exchange, "_SEEN_WITHIN", 0.0)
        monkeypatch.setattr(journals, "_random_first", lambda: 1)

    def _send(self, call: Any, _timeout: float) -> Results[Resource, None]:
        for resource, ops in call.alterations.items():
            for op in ops:
                self.sent.append(op.value)
                self.cluster.set(resource, op.key, op.value)
        self.answer()
        return Results(dict.fromkeys(call.items))

    @contextmanager
    def open(self) -> Iterator[UpstreamStore]:
        def source(journal: GatewayJournal, cluster: str) -> Poller:
            reader: Any = FakeReader(self.cluster)
            first = max(journal.first, journal.last + 1)
            self.poller = Poller(reader, cluster, recorded_state(journal, cluster), 3600.0, first)
            return self.poller

        store = UpstreamStore(self._url, SETTINGS, Numbering.POLLS, source)
        try:
            yield store
        finally:
            store.close()

    def poll(self) -> None:
        self.poller._step()


@pytest.fixture
def gateway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gateway:
    cluster = FakeCluster([1, 2])
    cluster.create("orders", 1, retention_ms="1")
    return Gateway(cluster, tmp_path / "gw.db", monkeypatch)


LONG = 10 * ARRIVES_WITHIN


def setting(value: str, before: str | None = "1", *, seen: int = 1, ago: int = 0) -> PendingCommit:
    """`ago`: milliseconds since it was sent."""
    sent = int(time.time() * 1000) - ago
    change = Change(ChangeKind.CONFIG, ORDERS, KEY, before, value, "set")
    operation = ResourceAlterations(ORDERS, [AlterConfigOp(OpType.SET, KEY, value)])
    return PendingCommit(ALICE, sent, [change], {ORDERS: seen}, [operation])


def journal(store: UpstreamStore) -> list[tuple[int, str | None, str]]:
    return [(each.number, change.after, each.caller.principal) for each in store.changes(1) for change in each.changes]


def outcomes(store: UpstreamStore) -> list[str | None]:
    return [row[0] for row in store._journal._db.execute("SELECT outcome FROM intents ORDER BY id")]


def refusal(result: object) -> ErrorCode | None:
    assert isinstance(result, PassedOn)
    return next((each.code for each in result.refusals.values()), None)


def test_a_change_through_the_gateway_is_journaled_once_with_its_author(gateway: Gateway) -> None:
    with gateway.open() as store:
        (result,) = store.commit([setting("2")])
        assert refusal(result) is None
        gateway.poll()
        assert [each.number for each in store.poll_remote()] == [2]
        assert journal(store) == [(2, "2", "User:alice")]
        assert outcomes(store) == ["done"]
        assert store.outside_revisions == 0


def test_a_change_made_outside_since_the_last_poll_is_a_conflict(gateway: Gateway) -> None:
    with gateway.open() as store:
        gateway.cluster.set(ORDERS, KEY, "9")
        (result,) = store.commit([setting("2")])
        assert isinstance(result, RevisionConflict)
        assert gateway.sent == []
        assert journal(store) == [(2, "9", "")]
        assert store.outside_revisions == 1


def unchanged(value: str, *, seen: int = 1) -> PendingCommit:
    """Sets the value that the state has."""
    same = Change(ChangeKind.CONFIG, ORDERS, KEY, value, value, "rewrite")
    return setting(value, seen=seen)._replace(changes=(), unchanged=[same])


def test_setting_the_current_value_is_sent_but_not_journaled(gateway: Gateway) -> None:
    with gateway.open() as store:
        (result,) = store.commit([unchanged("1")])
        assert refusal(result) is None
        assert gateway.sent == ["1"]
        assert (journal(store), outcomes(store)) == ([], [])


def test_setting_the_current_value_is_planned_again_if_the_cluster_has_another(gateway: Gateway) -> None:
    with gateway.open() as store:
        gateway.cluster.set(ORDERS, KEY, "9")
        (result,) = store.commit([unchanged("1")])
        assert isinstance(result, RevisionConflict)
        assert gateway.sent == []


def test_a_change_that_is_not_shown_in_time_has_an_unknown_outcome_and_keeps_its_author(gateway: Gateway) -> None:
    with gateway.open() as store:
        gateway.cluster.lagging.add(1)
        gateway.cluster.catch_up(1)
        (result,) = store.commit([setting("2")])
        assert refusal(result) is ErrorCode.REQUEST_TIMED_OUT
        assert (journal(store), outcomes(store)) == ([], [None])
        gateway.cluster.lagging.clear()
        gateway.poll()
        store.poll_remote()
        assert (journal(store), outcomes(store)) == ([(2, "2", "User:alice")], ["done"])


def test_a_request_without_an_answer_is_sent_once_and_recognized_later(gateway: Gateway) -> None:
    def lost() -> None:
        error = ConnectionFailed("gone")
        error.sent = True
        raise error

    with gateway.open() as store:
        gateway.answer = lost
        (result,) = store.commit([setting("2")])
        assert refusal(result) is ErrorCode.REQUEST_TIMED_OUT
        gateway.poll()
        store.poll_remote()
        assert gateway.sent == ["2"]
        assert journal(store) == [(2, "2", "User:alice")]


def test_a_request_whose_response_is_invalid_is_recognized_later(gateway: Gateway) -> None:
    def garbled() -> None:
        raise RemoteProtocolError("a response to request 5 instead of 4")

    with gateway.open() as store:
        gateway.answer = garbled
        (result,) = store.commit([setting("2")])
        assert refusal(result) is ErrorCode.REQUEST_TIMED_OUT
        assert outcomes(store) == [None]
        gateway.poll()
        store.poll_remote()
        assert (journal(store), outcomes(store)) == ([(2, "2", "User:alice")], ["done"])


def test_a_change_keeps_its_author_after_an_internal_error(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_words: object) -> None:
        raise RuntimeError("a bug")

    with gateway.open() as store:
        monkeypatch.setattr(gateway.poller, "wait_for", fail)
        with pytest.raises(OutcomeUnknown, match="whether the change was made is unknown"):
            store.commit([setting("2")])
        gateway.poll()
        store.poll_remote()
        assert (journal(store), outcomes(store)) == ([(2, "2", "User:alice")], ["done"])


def test_keys_are_in_flight_until_the_response_also_after_an_internal_error(gateway: Gateway) -> None:
    """Otherwise the change could be published as one of another client."""
    is_answered = False

    def respond_late() -> None:
        nonlocal is_answered
        gateway.cluster.set(ORDERS, "retention.bytes", "5")
        gateway.poll()
        assert is_failed.wait(60)
        is_answered = True

    def fail(_revisions: Sequence[Revision]) -> None:
        is_failed.set()
        raise RuntimeError("a bug")

    is_failed = Event()
    with gateway.open() as store:
        store.publish_to(fail)
        gateway.answer = respond_late
        with pytest.raises(OutcomeUnknown):
            store.commit([setting("2")])
        assert is_answered


def test_changes_of_others_are_published_while_a_request_has_no_response(gateway: Gateway) -> None:
    """They are also in the journal. Only changes of the key in flight are held back."""
    published: list[tuple[str, str | None]] = []
    is_published = Event()

    def publish(revisions: Sequence[Revision]) -> None:
        published.extend((change.key, change.after) for each in revisions for change in each.changes)
        is_published.set()

    def respond_late() -> None:
        gateway.cluster.set(ORDERS, "retention.bytes", "5")
        gateway.poll()
        assert is_published.wait(60)

    with gateway.open() as store:
        store.publish_to(publish)
        gateway.answer = respond_late
        (result,) = store.commit([setting("2")])
        assert refusal(result) is None
        assert published == [("retention.bytes", "5")]
        assert [each.number for each in store.poll_remote()] == [3]
        assert journal(store) == [(2, "5", ""), (3, "2", "User:alice")]


def test_changes_that_housekeeping_reads_are_published(gateway: Gateway) -> None:
    calls: list[list[int]] = []

    with gateway.open() as store:
        gateway.cluster.set(ORDERS, KEY, "9")
        gateway.poll()
        store.on_change(lambda: calls.append([each.number for each in store.poll_remote()]))
        store.housekeep(notification_retention=1)
        assert calls == [[2]]


def test_a_change_that_an_unanswered_request_may_also_have_made_has_no_author(gateway: Gateway) -> None:
    def lost() -> None:
        gateway.cluster.set(ORDERS, KEY, "1")
        error = ConnectionFailed("gone")
        error.sent = True
        raise error

    with gateway.open() as store:
        gateway.answer = lost
        store.commit([setting("2")])
        gateway.answer = lambda: None
        (result,) = store.commit([setting("2")._replace(caller=RequestContext("User:bob"))])
        assert refusal(result) is None
        assert (journal(store), outcomes(store)) == ([(2, "2", "")], [None, "done"])


def test_nothing_is_sent_while_the_broker_is_unreachable(gateway: Gateway) -> None:
    with gateway.open() as store:
        gateway.cluster.unreachable.add(1)
        (result,) = store.commit([setting("2")])
        assert refusal(result) is ErrorCode.REQUEST_TIMED_OUT
        assert gateway.sent == []
        assert not store.is_reachable


def test_nothing_is_sent_to_another_cluster(gateway: Gateway) -> None:
    with gateway.open() as store:
        gateway.brokers.problem = "the brokers belong to another cluster"
        with pytest.raises(StaleState, match="belong to another cluster; the request was not sent"):
            store.commit([setting("2")])
        assert (gateway.sent, store.is_reachable) == ([], False)


def test_a_change_is_not_sent_after_its_deadline(gateway: Gateway) -> None:
    with gateway.open() as store:
        (result,) = store.commit([setting("2")._replace(deadline=0.0)])
        assert refusal(result) is ErrorCode.REQUEST_TIMED_OUT
        assert "was not sent" in str(result)
        assert (gateway.sent, journal(store)) == ([], [])


def test_without_brokers_changes_are_refused_and_reads_are_allowed(gateway: Gateway) -> None:
    with gateway.open() as store:
        store._watch._lost = "no broker of the cluster responds"
        with pytest.raises(StaleState, match="no broker of the cluster responds; the request was not sent"):
            store.commit([setting("2")])
        assert (gateway.sent, store.is_reachable) == ([], True)
        assert store.stale_reason == "no broker of the cluster responds"


def test_refreshed_resources_are_published_and_if_that_fails_the_state_is_stale(gateway: Gateway) -> None:
    published: list[Revision] = []
    with gateway.open() as store:
        store.publish_to(published.extend)
        gateway.cluster.set(ORDERS, KEY, "9")
        store.refresh([ORDERS])
        assert [change.after for each in published for change in each.changes] == ["9"]
        assert journal(store) == [(2, "9", "")]
        gateway.cluster.unreachable.add(1)
        store.refresh([ORDERS])
        assert not store.is_reachable


def test_a_batch_may_have_only_one_change_of_a_resource(gateway: Gateway) -> None:
    """A request to the cluster must not contain a resource twice."""
    with gateway.open() as store:
        assert store.one_per_batch(setting("2")) == {ORDERS}
        assert store.one_per_batch(unchanged("1")) == {ORDERS}


def test_a_batch_does_not_create_two_topics_with_the_same_metric_name(gateway: Gateway) -> None:
    """Kafka creates both if they are in one request, and refuses the second one otherwise."""
    with gateway.open() as store:
        dot, line, other = (
            store.one_per_batch(PendingCommit(ALICE, 0, [], {}, [NewTopic(name, 1, 1)]))
            for name in ("a.b", "a_b", "a-b")
        )
        assert not dot.isdisjoint(line)
        assert other.isdisjoint(dot | line)


def failing(gateway: Gateway, store: UpstreamStore, name: str) -> Callable[[], None]:
    """Make a method of the journal fail, until the returned function is called."""
    original: Callable[..., Any] = getattr(store._journal, name)

    def call(*_words: Any) -> Any:
        raise StoreUnavailable("database or disk is full")

    gateway._monkeypatch.setattr(store._journal, name, call)
    return lambda: gateway._monkeypatch.setattr(store._journal, name, original)


def test_nothing_is_sent_if_the_intent_cannot_be_written(gateway: Gateway) -> None:
    with gateway.open() as store:
        repair = failing(gateway, store, "add_intents")
        with pytest.raises(StoreUnavailable):
            store.commit([setting("2")])
        repair()
        assert (gateway.sent, journal(store)) == ([], [])


def test_a_change_that_was_made_is_not_reported_as_refused_if_the_journal_cannot_be_written(gateway: Gateway) -> None:
    with gateway.open() as store:
        repair = failing(gateway, store, "_insert")
        (result,) = store.commit([setting("2")])
        assert refusal(result) is ErrorCode.REQUEST_TIMED_OUT
        assert "accepted the change" in str(result)
        assert not store.is_reachable
        with pytest.raises(StaleState, match="cannot write its journal now; the request was not sent"):
            store.commit([setting("3")])
        repair()
        store.poll_remote()
        assert store.is_reachable
        assert gateway.sent == ["2"]
        assert (journal(store), outcomes(store)) == ([(2, "2", "User:alice")], ["done"])


def test_a_gateway_that_could_not_write_its_journal_for_long_has_no_gap_after_a_restart(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journals, "MAX_UNWRITTEN", 2)
    with gateway.open() as store:
        repair = failing(gateway, store, "_insert")
        for value in ("2", "3", "4"):
            gateway.cluster.set(ORDERS, KEY, value)
            gateway.poll()
            assert store.poll_remote() == []
        assert len(store._journal._unwritten) == 0
        repair()
        gateway.cluster.set(ORDERS, KEY, "5")
        gateway.poll()
        assert store.poll_remote() == []
        assert "restart the gateway when the disk can be written" in str(store.stale_reason)
        with pytest.raises(StaleState, match="could not write its journal"):
            store.commit([setting("9")])
    with gateway.open() as store:
        assert store.is_reachable
        assert journal(store) == [(2, "5", "")]
        assert gateway.sent == []


def killed(gateway: Gateway, value: str, *, ago: int = 0) -> None:
    """A gateway that is killed between its request and the response."""

    def die() -> None:
        raise KeyboardInterrupt

    gateway.answer = die
    with gateway.open() as store:
        gateway._monkeypatch.setattr(store, "_write_image", lambda: None)
        gateway._monkeypatch.setattr(store, "_note_poll", lambda: None)
        with pytest.raises(KeyboardInterrupt):
            store.commit([setting(value, ago=ago)])
        assert outcomes(store) == [None]


def test_an_open_request_is_done_if_the_cluster_has_its_value(gateway: Gateway) -> None:
    killed(gateway, "2")
    with gateway.open() as store:
        assert outcomes(store) == ["done"]
        assert journal(store) == [(2, "2", "User:alice")]
        assert store.load().overrides(ORDERS)[KEY] == "2"


def test_an_open_request_is_not_done_if_the_cluster_has_the_old_value(gateway: Gateway) -> None:
    killed(gateway, "2", ago=LONG)
    gateway.cluster.set(ORDERS, KEY, "1")
    with gateway.open() as store:
        assert (outcomes(store), journal(store)) == (["not done"], [])


def test_a_request_that_may_still_arrive_stays_open(gateway: Gateway) -> None:
    killed(gateway, "2")
    gateway.cluster.set(ORDERS, KEY, "1")
    with gateway.open() as store:
        assert (outcomes(store), journal(store)) == ([None], [])
        gateway.cluster.set(ORDERS, KEY, "2")
        gateway.poll()
        store.poll_remote()
        assert (outcomes(store), journal(store)) == (["done"], [(2, "2", "User:alice")])


def test_whether_a_request_was_done_before_another_change_is_unknown(gateway: Gateway) -> None:
    killed(gateway, "2", ago=LONG)
    gateway.cluster.set(ORDERS, KEY, "7")
    with gateway.open() as store:
        assert (outcomes(store), journal(store)) == (["unknown"], [(2, "7", "")])


def test_after_a_restart_revisions_continue_and_differences_are_changes_made_outside(gateway: Gateway) -> None:
    with gateway.open() as store:
        store.commit([setting("2")])
    gateway.cluster.set(ORDERS, KEY, "8")
    with gateway.open() as store:
        assert journal(store) == [(2, "2", "User:alice"), (3, "8", "")]
        assert store.changes(2)[0].not_before is not None
        assert store.load().revision == 3


def test_a_journal_that_was_trimmed_after_a_crash_is_not_newer_than_its_image(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the gateway would not start again."""

    def crash(store: UpstreamStore) -> None:
        monkeypatch.setattr(store, "_write_image", lambda: None)  # also when it closes

    with gateway.open() as store:
        crash(store)
        store.commit([setting("2")])
        store.commit([setting("3", "2", seen=2)])
    with gateway.open() as store:
        assert store.trim(keep_last=1) == 1
        crash(store)
    with gateway.open() as store:
        assert store.load().overrides(ORDERS)[KEY] == "3"


def test_a_revision_of_another_gateway_is_refused(
    gateway: Gateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a change that was made since could be overwritten, or an old value shown as new."""
    other = Gateway(gateway.cluster, tmp_path / "other.db", monkeypatch)
    firsts = iter([10**13, 2 * 10**13])
    monkeypatch.setattr(journals, "_random_first", lambda: next(firsts))
    with gateway.open() as one, other.open() as two:
        assert (one.load().revision, two.load().revision) == (10**13, 2 * 10**13)
        for store, foreign in ((one, two), (two, one)):
            assert error(store, expected=foreign.load().revision) is ErrorCode.INVALID_UPDATE_VERSION
            assert error(store, expected=store.load().revision) is None


def error(store: UpstreamStore, *, expected: int) -> ErrorCode | None:
    """The error of a change of a broker config that was never set before."""
    node = AlterTarget(1, ConfigResolver(kafka_43(), {}, {}, {}), first_revision=store.first_revision)
    requested = ResourceAlterations(Resource.brokers(), [AlterConfigOp(OpType.SET, "log.retention.ms", "5")], expected)
    (failure,) = plan_alter(store.load(), [requested], node, replace=False).outcome
    return None if failure is None else failure.code


def test_the_journal_is_trimmed_only_up_to_the_image(gateway: Gateway) -> None:
    with gateway.open() as store:
        store.commit([setting("2")])
        store.commit([setting("3", "2", seen=2)])
        assert store.trim(keep_last=1) == 1
    with gateway.open() as store:
        assert store.load().overrides(ORDERS)[KEY] == "3"
