"""The archiver with journal retention, and with a journal that was trimmed before archiving began."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from kconf.configdef.catalog import kafka_43
from kconf.model.journal import Change, ChangeKind, RequestContext
from kconf.model.plan import Plan
from kconf.model.resource import Resource
from kconf.server.journal.archiver import Archiver, ArchiveSettings
from kconf.server.journal.audit_log import AuditLog
from kconf.server.journal.retention import Retention
from kconf.service import Service
from kconf.store.memory import MemoryStore
from kconf.store.registry import open_store
from tests.archive.reading import archived

Scenario = Callable[[Service, Archiver], Coroutine[Any, Any, None]]


def told(place: Path, scenario: Scenario) -> None:
    """A real store with ten revisions."""

    async def run() -> None:
        store = open_store(f"sqlite:///{place}/kconf.db")
        service = Service(store, node_id=1, catalog=kafka_43(), static={})
        await service.start()
        await put(service, 10)
        attempts = AuditLog(service, asyncio.get_running_loop().time)
        archiver = Archiver(ArchiveSettings(place / "archive"), service, attempts)
        try:
            await scenario(service, archiver)
        finally:
            await archiver.close()
            await service.stop()

    asyncio.run(run())


async def put(service: Service, count: int) -> None:
    for number in range(count):
        change = Change(ChangeKind.CONFIG, Resource.topic("t"), "k", None, str(number), "set")
        await service.submit(lambda *_: Plan(None, [change]), RequestContext())  # noqa: B023 – awaited


def test_revisions_are_not_trimmed_before_they_are_archived(tmp_path: Path) -> None:
    async def scenario(service: Service, archiver: Archiver) -> None:
        retention = Retention(revisions=3)
        assert await retention.apply(service, archiver.archived) == 0

        assert await archiver.flush()
        await put(service, 5)
        assert await retention.apply(service, archiver.archived) == 10
        assert service.store.oldest() == 11

    told(tmp_path, scenario)
    assert [each.number for each in archived(tmp_path / "archive")] == list(range(1, 16))


def test_an_archive_of_a_trimmed_journal_begins_where_that_does(tmp_path: Path) -> None:
    async def scenario(service: Service, archiver: Archiver) -> None:
        await Retention(revisions=3).apply(service)
        assert await archiver.flush()

    told(tmp_path, scenario)
    assert [each.number for each in archived(tmp_path / "archive")] == [8, 9, 10]


def test_a_server_that_may_not_archive_leaves_the_directory_to_the_one_that_may(tmp_path: Path) -> None:
    class Shared(MemoryStore):
        """A store shared by several servers: another server holds the lock at first."""

        turn = False

        def acquire_archive_lock(self) -> bool:
            return self.turn

    async def scenario() -> None:
        store = Shared()
        service = Service(store, node_id=1, catalog=kafka_43(), static={})
        await service.start()
        await put(service, 2)
        archiver = Archiver(ArchiveSettings(tmp_path), service, AuditLog(service, asyncio.get_running_loop().time))
        assert await archiver.flush()
        assert (archiver.archived, archiver.alarm) == (0, None)

        store.turn = True
        assert await archiver.flush()
        assert archiver.archived == 2
        store.turn = False
        assert await archiver.flush()
        await archiver.close()
        await service.stop()

    asyncio.run(scenario())
    assert [each.number for each in archived(tmp_path)] == [1, 2]
