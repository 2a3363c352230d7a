"""The retention of the journal, and its settings."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Mapping

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.errors import ConfigurationError, StoreUnavailable
from kconf.model.journal import Change, ChangeKind, RequestContext
from kconf.model.plan import Plan
from kconf.model.resource import Resource
from kconf.server.journal import retention
from kconf.server.journal.retention import Retention
from kconf.service import Service
from kconf.store.memory import MemoryStore


def test_by_default_the_journal_is_never_trimmed() -> None:
    assert Retention.of({}) is None
    assert Retention.of({"journal.retention.ms": "-1", "journal.retention.revisions": " "}) is None


def test_retention_by_time_and_by_number_can_be_set() -> None:
    assert Retention.of({"journal.retention.ms": " 5 "}) == Retention(ms=5)
    assert Retention.of({"journal.retention.ms": "5", "journal.retention.revisions": "6"}) == Retention(5, 6)


@pytest.mark.parametrize("text", ["0", "-2", "7d", "1.5", "1e3", str(2**63)])
@pytest.mark.parametrize("key", ["journal.retention.ms", "journal.retention.revisions"])
def test_an_invalid_retention_is_refused(key: str, text: str) -> None:
    with pytest.raises(ConfigurationError, match=key):
        Retention.of({key: text})


@pytest.mark.parametrize(
    ("static", "oldest"),
    [
        ({"journal.retention.revisions": "4"}, 7),
        ({"journal.retention.ms": "3500"}, 7),
        ({"journal.retention.ms": "3500", "journal.retention.revisions": "2"}, 9),
        ({"journal.retention.ms": "1"}, 10),  # the last one is always kept
    ],
)
def test_revisions_beyond_the_retention_are_trimmed(static: Mapping[str, str], oldest: int) -> None:
    async def scenario() -> None:
        now = 0.0
        store = MemoryStore()
        service = Service(store, node_id=1, catalog=kafka_43(), static={}, clock=lambda: now)
        await service.start()
        for number in range(1, 11):
            now = float(number)
            change = Change(ChangeKind.CONFIG, Resource.topic("t"), "k", None, str(number), "set")
            await service.submit(lambda *_: Plan(None, [change]), RequestContext())  # noqa: B023 – awaited
        limits = Retention.of(static)
        assert limits is not None

        assert await limits.apply(service) == oldest - 1
        assert store.oldest() == oldest
        assert await limits.apply(service) == 0
        assert store.load().overrides(Resource.topic("t")) == {"k": "10"}
        await service.stop()

    asyncio.run(scenario())


def test_times_in_the_journal_do_not_decrease_if_the_clock_is_set_back_a_little() -> None:
    async def scenario() -> None:
        now = 100.0
        store = MemoryStore()
        for _ in range(2):  # a second server on the same journal knows its last time
            service = Service(store, node_id=1, catalog=kafka_43(), static={}, clock=lambda: now)  # noqa: B023
            await service.start()
            for _ in range(2):
                change = Change(ChangeKind.CONFIG, Resource.topic("t"), "k", None, "1", "set")
                await service.submit(lambda *_: Plan(None, [change]), RequestContext())  # noqa: B023 – awaited
                now -= 10.0
            await service.stop()
        assert [each.time for each in store.changes(0)] == [100_000] * 4

    asyncio.run(scenario())


@pytest.mark.parametrize("task", ["housekeep", "trim"])
def test_a_failure_of_the_store_is_logged_and_the_next_time_is_another_attempt(
    task: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(retention, "HOUSEKEEP_INTERVAL", 0.0)
    monkeypatch.setattr(retention, "TRIM_INTERVAL", 0.0)
    attempts: list[str] = []
    done = threading.Event()

    class Failing(MemoryStore):
        def housekeep(self, *, notification_retention: float) -> bool:
            return bool(self._attempt())

        def trim(self, **_: object) -> int:
            return self._attempt()

        def oldest(self) -> int:
            if len(attempts) == 4:
                raise sqlite3.OperationalError("disk I/O error")
            return 1

        def _attempt(self) -> int:
            attempts.append(task)
            if len(attempts) == 1:
                raise StoreUnavailable("the disk is full")
            if len(attempts) == 2:
                raise sqlite3.OperationalError("disk I/O error")
            if len(attempts) == 10:
                done.set()
            return 1 if task == "trim" and len(attempts) == 3 else 0

    async def scenario() -> None:
        service = Service(Failing(), node_id=1, catalog=kafka_43(), static={})
        await service.start()
        work = retention.housekeep(service) if task == "housekeep" else retention.trim(Retention(revisions=1), service)
        running = asyncio.create_task(work)
        assert await asyncio.to_thread(done.wait, 60)
        assert not running.done()
        running.cancel()
        await service.stop()

    asyncio.run(scenario())
    warnings = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    failed = {"housekeep": "could not clean up the store", "trim": "could not trim the journal"}[task]
    assert warnings[:2] == [f"{failed}: the disk is full", f"{failed}: the store failed"]
    assert {each.exc_info[0] for each in caplog.records if each.exc_info} == {sqlite3.OperationalError}
