"""The local file of a gateway."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kconf.client.kraft.checkpoint import Checkpoint
from kconf.client.kraft.image import MetadataImage
from kconf.configdef.catalog import kafka_43, with_keys
from kconf.configdef.key import ConfigKey
from kconf.engine.configs.alter import AlterTarget, plan_alter
from kconf.engine.configs.resolver import ConfigResolver
from kconf.engine.topics.create import plan_create_topics
from kconf.engine.topics.delete import TopicDeletion, plan_delete_topics
from kconf.engine.topics.placement import ClusterDefaults
from kconf.errors import (
    ConfigurationError,
    JournalTrimmed,
    StoreError,
    StoreLocked,
    StoreLost,
    StoreMismatch,
    StoreUnavailable,
)
from kconf.model.alteration import AlterConfigOp, NewTopic, OpType, ResourceAlterations
from kconf.model.entry import ValueType
from kconf.model.journal import Change, ChangeKind, RequestContext, Revision
from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource, ResourceType
from kconf.model.snapshot import Snapshot
from kconf.store.sqlite.store import SqliteStore
from kconf.store.upstream import journal as journals
from kconf.store.upstream.journal import GatewayJournal, IntentOutcome, Numbering
from kconf.store.upstream.open import recorded_state

ORDERS = Resource.topic("orders")
SECRET = "Tr0ub4dor"


def change(value: str, *, sensitive: bool = False) -> Change:
    return Change(ChangeKind.CONFIG, ORDERS, "retention.ms", None, value, "set", sensitive)


def revision(number: int, author: str = "") -> Revision:
    origin = "kconf" if author else "log"
    return Revision(number, 1000 * number, RequestContext(author), (change(str(number)),), origin)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'gw.db'}"


def test_a_gateway_journal_must_be_a_sqlite_file() -> None:
    with pytest.raises(
        ConfigurationError, match="must be a SQLite file: use sqlite:///FILE, not 'zookeeper://zk/kconf'"
    ):
        GatewayJournal("zookeeper://zk/kconf", "one")


def test_revisions_can_have_gaps_and_are_written_once(url: str) -> None:
    journal = GatewayJournal(url, "one")
    journal.begin_at(10)
    journal.append([revision(17, "User:alice"), revision(40)])
    again = journal.append([revision(17), revision(55)])  # read again from the log after a crash: the author stays
    assert [each.number for each in again] == [55]
    found = journal.changes(10, 100)
    assert [(each.number, each.caller.principal) for each in found] == [(17, "User:alice"), (40, ""), (55, "")]
    assert [each.number for each in journal.changes(40, 100)] == [55]
    reader = journal.reader()
    assert [each.number for each in reader.changes_for([ORDERS], 17)] == [40, 55]
    assert [each.number for each in reader.reverse_changes([ORDERS], 10)] == [55, 40, 17]
    assert reader.revision_at(41_000) == 40
    reader.close()
    assert journal.last_changes() == {ORDERS: 55}
    journal.close()


@pytest.mark.parametrize(("numbering", "level"), [(Numbering.LOG, 1), (Numbering.POLLS, 2)])
def test_only_revisions_that_can_be_read_again_are_written_without_a_sync(
    url: str, numbering: Numbering, level: int
) -> None:
    """SQLite's levels: 1 is NORMAL, where a power failure may take the last commits away, 2 is FULL."""
    journal = GatewayJournal(url, "one", numbering)
    levels: list[int] = []

    def note(statement: str) -> None:
        if statement.startswith("INSERT"):
            levels.append(journal._db.execute("PRAGMA synchronous").fetchone()[0])

    journal._db.set_trace_callback(note)
    journal.append([revision(17)])
    assert set(levels) == {level}
    levels.clear()
    journal.add_intents([PendingCommit(RequestContext("User:alice"), 1, (change("1"),), {})], 17)
    journal.write_image({})
    assert set(levels) == {2}
    journal.close()


def test_nothing_is_known_before_the_first_change(url: str) -> None:
    journal = GatewayJournal(url, "one")
    journal.begin_at(10)
    journal.append([revision(17)])
    with pytest.raises(JournalTrimmed) as error:
        journal.changes(9, 100)
    assert error.value.oldest == 11
    journal.close()


def test_trimming_removes_old_revisions_but_never_the_last(url: str) -> None:
    journal = GatewayJournal(url, "one")
    journal.append([revision(number) for number in (5, 9, 14, 20)])
    assert journal.trim(before_time=None, keep_last=2, up_to=None) == 2
    assert [each.number for each in journal.changes(9, 100)] == [14, 20]
    with pytest.raises(JournalTrimmed):
        journal.changes(5, 100)
    assert journal.trim(before_time=1 << 50, keep_last=None, up_to=None) == 1
    assert journal.last == 20
    journal.close()


def test_trimmed_revisions_that_are_read_again_from_the_log_are_not_new(url: str) -> None:
    """After a crash, the log is read from the last image, which may be older than the journal."""
    journal = GatewayJournal(url, "one")
    journal.append([revision(number, "User:alice") for number in range(1, 11)])
    journal.trim(before_time=None, keep_last=2, up_to=None)
    again = journal.append([revision(number) for number in range(1, 12)])
    assert [each.number for each in again] == [11]
    assert (journal.begin, journal.oldest()) == (8, 9)
    found = journal.changes(8, 100)
    assert [(each.number, each.caller.principal) for each in found] == [(9, "User:alice"), (10, "User:alice"), (11, "")]
    assert journal.last_changes() == {ORDERS: 11}
    journal.close()


def test_intents_survive_until_they_are_closed(url: str) -> None:
    journal = GatewayJournal(url, "one")
    caller = RequestContext("User:alice", reason="A-1")
    ids = journal.add_intents(
        [PendingCommit(caller, 5, [change("1")], {}), PendingCommit(caller, 6, [change("2")], {})], 99
    )
    journal.append([], {ids[0]: IntentOutcome.DONE})
    journal.close()
    journal = GatewayJournal(url, "one")
    (intent,) = journal.open_intents()
    assert (intent.id, intent.sent_after, intent.planned.caller) == (ids[1], 99, caller)
    assert intent.planned.changes == (change("2"),)
    journal.close()


def test_secrets_are_in_no_intent(url: str, tmp_path: Path) -> None:
    journal = GatewayJournal(url, "one")
    journal.add_intents([PendingCommit(RequestContext(), 5, [change(SECRET, sensitive=True)], {})], 1)
    (intent,) = journal.open_intents()
    assert intent.planned.changes[0].after == ""
    journal.close()
    assert all(SECRET.encode() not in each.read_bytes() for each in tmp_path.iterdir())


@pytest.mark.parametrize("replace", [False, True])
def test_a_secret_key_of_topics_that_the_brokers_define_is_in_no_intent(
    url: str, tmp_path: Path, replace: bool
) -> None:
    """Kafka has secret keys for brokers only; a vendor may have others."""
    key = ConfigKey(name="vendor.token", type=ValueType.STRING, secret=True)
    catalog = with_keys(kafka_43(), {ResourceType.TOPIC: {key.name: key}})
    resolver = ConfigResolver(catalog, {}, {}, {})
    new = NewTopic("orders", 1, 1, (), [(key.name, SECRET)])
    created = plan_create_topics(Snapshot.EMPTY, [new], ClusterDefaults([1], resolver, lambda: UUID(int=1)))
    before = Snapshot.EMPTY.apply(created.changes, 1)
    wanted = ResourceAlterations(ORDERS, [AlterConfigOp(OpType.SET, key.name, f"{SECRET}2")])
    target = AlterTarget(1, resolver, is_gateway=True)
    altered = plan_alter(before, [wanted], target, replace=replace)
    dropped = plan_alter(before, [ResourceAlterations(ORDERS, [])], target, replace=True)
    deleted = plan_delete_topics(before, [TopicDeletion("orders")], resolver)
    journal = GatewayJournal(url, "one")
    journal.add_intents([each.pending(RequestContext(), 5) for each in (created, altered, dropped, deleted)], 1)
    values = [
        (each.before, each.after)
        for intent in journal.open_intents()
        for each in intent.planned.changes
        if each.key == key.name
    ]
    assert values == [(None, ""), ("", ""), ("", None), ("", None)]
    journal.close()
    assert all(SECRET.encode() not in each.read_bytes() for each in tmp_path.iterdir())


def test_a_journal_file_is_used_by_one_cluster_and_one_process(url: str) -> None:
    journal = GatewayJournal(url, "one")
    with pytest.raises(StoreLocked):
        GatewayJournal(url, "one")
    journal.close()
    with pytest.raises(StoreMismatch, match="cluster one, not of two"):
        GatewayJournal(url, "two")
    with pytest.raises(StoreMismatch):
        SqliteStore.open(url)


def test_offsets_of_a_log_and_revisions_of_a_poller_are_not_in_one_file(url: str) -> None:
    GatewayJournal(url, "one").close()
    with pytest.raises(StoreMismatch, match="by a gateway with controllers"):
        GatewayJournal(url, "one", Numbering.POLLS)
    GatewayJournal(f"{url}2", "one", Numbering.POLLS).close()
    with pytest.raises(StoreMismatch, match="by a gateway without controllers"):
        GatewayJournal(f"{url}2", "one")


def test_gateways_that_poll_start_at_different_revisions(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them are below 2^53, so that any JSON reader can represent them."""
    found = iter([0, 89_999])
    monkeypatch.setattr(journals, "randbelow", lambda limit: next(found) % limit)

    def first(name: str, numbering: Numbering) -> int:
        journal = GatewayJournal(f"{url}{name}", "one", numbering)
        journal.close()
        return journal.first

    assert [first(name, Numbering.POLLS) for name in ("1", "2", "1")] == [10**13, 99_999 * 10**9, 10**13]
    assert 10**14 < 1 << 53
    assert first("log", Numbering.LOG) == 0


def test_the_journal_of_an_earlier_release_continues_at_a_new_first_revision(url: str) -> None:
    journal = GatewayJournal(url, "one", Numbering.POLLS)
    journal._db.execute("DELETE FROM meta WHERE key = 'first'")
    journal.write_image(image_at(4))
    journal.append([revision(4), revision(5)])
    journal.close()
    journal = GatewayJournal(url, "one", Numbering.POLLS)
    found = recorded_state(journal, "one")
    assert found is not None
    assert (found.imaged, found.snapshot.revision) == (4, journal.first)
    assert journal.first >= 10**13
    assert [each.number for each in journal.changes(0, 10)] == [4, 5]
    journal.close()


def test_the_recorded_state_is_the_image_plus_later_changes(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "_random_first", lambda: 1)
    journal = GatewayJournal(url, "one", Numbering.POLLS)
    assert recorded_state(journal, "one") is None
    image = MetadataImage.restore([], {ORDERS: {"retention.ms": "1", "segment.ms": "1"}}, {}, {})
    journal.write_image({**Checkpoint("one", 4, 0, image).to_json(), "unknown": ["acl"]})
    journal.append([revision(4), revision(5)])
    journal.note_poll(77, 2)
    found = recorded_state(journal, "one")
    assert found is not None
    assert (found.snapshot.revision, found.imaged, found.unknown, found.time, found.broker) == (
        5,
        4,
        frozenset({ResourceType.ACL}),
        77,
        2,
    )
    assert dict(found.snapshot.overrides(ORDERS)) == {"retention.ms": "5", "segment.ms": "1"}
    assert found.recent == []  # these revisions are of 1970
    journal.close()


def test_the_file_of_a_server_is_refused(url: str) -> None:
    SqliteStore.open(url).close()
    with pytest.raises(StoreMismatch, match="not the journal of a gateway"):
        GatewayJournal(url, "one")


def test_the_image_is_readable_only_by_its_owner_and_for_its_cluster(url: str, tmp_path: Path) -> None:
    journal = GatewayJournal(url, "one")
    assert journal.read_image("one") is None
    journal.write_image(Checkpoint.empty("one").to_json())
    assert (tmp_path / "gw.db.image").stat().st_mode & 0o777 == 0o600
    found = journal.read_image("one")
    assert found is not None
    assert found.offset == 0
    with pytest.raises(StoreMismatch):
        journal.read_image("two")
    (tmp_path / "gw.db.image").write_text("{")
    with pytest.raises(StoreMismatch, match="damaged"):
        journal.read_image("one")
    journal.close()


def image_at(offset: int) -> dict[str, Any]:
    return Checkpoint("one", offset, 0, MetadataImage.restore([], {}, {}, {})).to_json()


def test_an_image_without_its_journal_is_refused(url: str, tmp_path: Path) -> None:
    """Otherwise the changes before the image would be missing, and the journal would claim to be complete."""
    journal = GatewayJournal(url, "one")
    journal.append([revision(5)])
    journal.write_image(image_at(9))
    journal.close()
    (tmp_path / "gw.db").unlink()
    journal = GatewayJournal(url, "one")
    with pytest.raises(StoreMismatch, match=r"gw.db.image is newer than the journal .*; delete the image"):
        journal.read_image_facts()
    journal.close()


def test_an_image_with_a_journal_from_a_backup_is_refused(url: str, tmp_path: Path) -> None:
    journal = GatewayJournal(url, "one")
    journal.write_image(image_at(9))
    journal.close()
    backup = (tmp_path / "gw.db").read_bytes()
    journal = GatewayJournal(url, "one")
    journal.append([revision(12)])
    journal.write_image(image_at(20))
    journal.close()
    (tmp_path / "gw.db").write_bytes(backup)
    journal = GatewayJournal(url, "one")
    with pytest.raises(StoreMismatch, match="is newer than the journal"):
        journal.read_image("one")
    journal.close()


def test_an_older_image_is_used_since_later_changes_are_read_again(url: str, tmp_path: Path) -> None:
    journal = GatewayJournal(url, "one")
    journal.write_image(image_at(9))
    older = (tmp_path / "gw.db.image").read_bytes()
    journal.write_image(image_at(20))
    (tmp_path / "gw.db.image").write_bytes(older)
    found = journal.read_image("one")
    assert found is not None
    assert found.offset == 9
    journal.close()


class FullDisk:
    """Passes statements on, and fails those that write."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)

    def execute(self, statement: str, *parameters: Any) -> sqlite3.Cursor:
        if statement.startswith("INSERT"):
            raise sqlite3.OperationalError("database or disk is full")
        return self._db.execute(statement, *parameters)


def test_a_failed_write_is_repeated_by_the_next_call(url: str) -> None:
    """The log is read only once, so changes that were not written would be lost."""
    journal = GatewayJournal(url, "one")
    db = journal._db
    journal._db = FullDisk(db)  # type: ignore[assignment]
    with pytest.raises(StoreUnavailable, match="disk is full"):
        journal.append([revision(5, "User:alice")])
    assert journal.is_behind
    journal._db = db
    assert [each.number for each in journal.append([revision(9)])] == [5, 9]
    assert not journal.is_behind
    assert [each.caller.principal for each in journal.changes(0, 10)] == ["User:alice", ""]
    journal.close()


def test_nothing_is_written_to_a_file_that_was_deleted(url: str, tmp_path: Path) -> None:
    journal = GatewayJournal(url, "one")
    (tmp_path / "gw.db-wal").unlink()
    with pytest.raises(StoreLost):
        journal.add_intents([PendingCommit(RequestContext(), 5, [change("1")], {})], 1)
    assert journal.file.problem is not None
    journal.close()


class Watched:
    """A database that notes, at every statement, whether the journal counts as behind."""

    def __init__(self, db: sqlite3.Connection, journal: GatewayJournal) -> None:
        self._db, self._journal = db, journal
        self.seen: list[bool] = []

    def __getattr__(self, name: str) -> Any:
        self.seen.append(self._journal.is_behind)
        return getattr(self._db, name)


def test_a_journal_does_not_count_as_failing_while_it_is_written(url: str) -> None:
    """Otherwise requests, which check this in another thread, would be refused whenever the disk is slow."""
    journal = GatewayJournal(url, "one")
    db = journal._db
    watched = Watched(db, journal)
    journal._db = watched  # type: ignore[assignment]
    journal.append([revision(5)])
    assert len(watched.seen) > 2
    assert not any(watched.seen)
    journal._db = db
    journal.close()


def test_a_journal_that_cannot_be_read_is_an_error_of_the_store(url: str) -> None:
    journal = GatewayJournal(url, "one")
    db = journal._db
    journal._db = sqlite3.connect(":memory:")  # without tables
    with pytest.raises(StoreError):
        journal.oldest()
    journal._db.close()
    journal._db = db
    journal.close()
