"""The store of a gateway that follows the metadata log: responses to callers, and the journal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kconf.client.admin_sync import SyncAdminClient
from kconf.client.kraft.calls import FetchedLog
from kconf.errors import ApiError, ErrorCode, StaleState, StoreLost
from kconf.model.alteration import AlterConfigOp, OpType, ResourceAlterations
from kconf.model.journal import Change, ChangeKind, RequestContext
from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource, ResourceType
from kconf.model.results import Results
from kconf.store.base import PassedOn
from kconf.store.upstream import exchange
from kconf.store.upstream import store as stores
from kconf.store.upstream.broker_watch import BrokerWatch
from kconf.store.upstream.following import problems
from kconf.store.upstream.following.log_thread import LogThread
from kconf.store.upstream.journal import GatewayJournal, Numbering
from kconf.store.upstream.store import UpstreamStore
from tests.unit.client.kraft.log import new_topic, topic_config
from tests.unit.store.upstream.following.test_log_thread import SETTINGS, Controllers, log

ORDERS = Resource.topic("orders")
KEY = "retention.ms"
ALICE = RequestContext("User:alice", reason="A-1")
UNKNOWN_RECORD = (None, b"\1\x6f\0")


class Gateway:
    """A store and its log thread, which runs one step at a time."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path = path
        self.sent = 0
        self.answers: dict[Resource, ApiError] = {}
        self.thread: LogThread
        facts: dict[str, Any] = {"static": {}, "members": None, "release": "4.3", "elr_version": None, "problem": None}
        self.brokers = brokers = SimpleNamespace(cluster_id="cluster", learn_keys=lambda _hidden: False, **facts)
        monkeypatch.setattr(stores, "UpstreamBrokers", lambda _client: brokers)
        monkeypatch.setattr(BrokerWatch, "start", lambda _watch: None)
        client = SimpleNamespace(_send=self._send, close=lambda: None)
        monkeypatch.setattr(SyncAdminClient, "_from_settings", lambda _settings: client)
        monkeypatch.setattr(
            LogThread, "start", lambda _thread: self.read(log(*new_topic("orders", 1), high_watermark=3))
        )
        monkeypatch.setattr(LogThread, "close", lambda _thread: None)
        monkeypatch.setattr(exchange, "_SEEN_WITHIN", 0.0)

    def _send(self, call: Any, _timeout: float) -> Results[Resource, None]:
        self.sent += 1
        return Results({each: self.answers.get(each) for each in call.items})

    @contextmanager
    def open(self) -> Iterator[UpstreamStore]:
        def source(_journal: GatewayJournal, cluster: str) -> LogThread:
            self.thread = LogThread(SETTINGS, cluster, None)
            return self.thread

        store = UpstreamStore(f"sqlite:///{self.path}", SETTINGS, Numbering.LOG, source)
        try:
            yield store
        finally:
            store.close()

    def read(self, answer: FetchedLog) -> None:
        self.thread._pool = Controllers(lambda _: answer)  # type: ignore[assignment]
        self.thread._step()


@pytest.fixture
def gateway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gateway:
    return Gateway(tmp_path / "gw.db", monkeypatch)


def setting(value: str) -> PendingCommit:
    change = Change(ChangeKind.CONFIG, ORDERS, KEY, None, value, "set")
    operation = ResourceAlterations(ORDERS, [AlterConfigOp(OpType.SET, KEY, value)])
    return PendingCommit(ALICE, 1000, [change], {ORDERS: 10}, [operation])


def journal(store: UpstreamStore) -> list[tuple[int, str | None, str]]:
    return [(each.number, change.after, each.caller.principal) for each in store.changes(2) for change in each.changes]


def outcomes(store: UpstreamStore) -> list[str | None]:
    return [row[0] for row in store._journal._db.execute("SELECT outcome FROM intents ORDER BY id")]


def test_a_change_that_is_read_late_is_not_acknowledged_and_keeps_its_author(gateway: Gateway) -> None:
    """For example after an election. An acknowledged change must be visible on this gateway."""
    with gateway.open() as store:
        (result,) = store.commit([setting("7")])
        assert result == PassedOn({ORDERS: ApiError(ErrorCode.REQUEST_TIMED_OUT, problems.UNREAD)})
        assert (journal(store), outcomes(store)) == ([], [None])
        gateway.read(log(topic_config("orders", KEY, "7"), first=3, high_watermark=4))
        assert [each.number for each in store.poll_remote()] == [3]
        assert (journal(store), outcomes(store)) == ([(3, "7", "User:alice")], ["done"])


def test_an_intent_contains_only_the_changes_without_a_known_outcome(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a restart, the refused ones would not be found in the log, and the outcome would be unknown."""
    payments = Resource.topic("payments")
    failures = {ORDERS: ApiError(ErrorCode.REQUEST_TIMED_OUT), payments: ApiError(ErrorCode.INVALID_CONFIG)}
    monkeypatch.setattr(gateway, "answers", failures)
    change = setting("7")
    other = change.changes[0]._replace(resource=payments)
    operation = ResourceAlterations(payments, [AlterConfigOp(OpType.SET, KEY, "7")])
    both = change._replace(changes=[*change.changes, other], operations=[*change.operations, operation])
    with gateway.open() as store:
        store.commit([both])
        (intent,) = store._journal.open_intents()
        assert intent.planned.changes == tuple(change.changes)
        assert intent.planned.caller == ALICE


def test_the_unknown_parts_are_the_same_object_until_they_change(gateway: Gateway) -> None:
    """Responses are cached with this object."""
    with gateway.open() as store:
        gateway.brokers.not_in_log = {}
        nothing = store.unknown
        gateway.brokers.not_in_log = {}
        assert store.unknown is nothing
        failure = ApiError(ErrorCode.INVALID_REQUEST, "another authorizer")
        gateway.brokers.not_in_log = {ResourceType.ACL: failure}
        acls = store.unknown
        assert (nothing.kinds, acls.kinds) == ({}, {ResourceType.ACL: failure})
        gateway.brokers.not_in_log = {ResourceType.ACL: failure}
        assert store.unknown is acls


def test_unknown_records_make_the_state_stale_and_nothing_is_sent_or_saved(gateway: Gateway) -> None:
    """After a restart, they are read again: from the controllers, or from the last image, which is older."""
    with gateway.open() as store:
        image = Path(f"{gateway.path}.image").read_bytes()
        gateway.read(log(UNKNOWN_RECORD, first=3, high_watermark=4))
        assert not store.is_reachable
        assert "records of type 111, version 0, which this release of kconf does not know" in str(store.stale_reason)
        with pytest.raises(StaleState, match="the state of this gateway may be wrong"):
            store.commit([setting("7")])
        assert gateway.sent == 0
    assert Path(f"{gateway.path}.image").read_bytes() == image


def test_another_log_makes_the_store_unusable_and_is_not_mixed_into_the_state(gateway: Gateway) -> None:
    with gateway.open() as store:
        image = Path(f"{gateway.path}.image").read_bytes()
        gateway.read(FetchedLog(18, 0, 1, 1, high_watermark=2, diverging=1))
        assert not store.is_reachable
        with pytest.raises(StoreLost, match="up to offset 3, but the log of the cluster differs from offset 1 on"):
            store.commit([setting("7")])
        assert store.poll_remote() == []
    assert Path(f"{gateway.path}.image").read_bytes() == image
