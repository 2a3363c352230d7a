"""The journal of a service whose clock is set."""

from __future__ import annotations

import asyncio
from pathlib import Path

from kconf.configdef.catalog import kafka_43
from kconf.server.journal.retention import Retention
from kconf.service import Service
from kconf.store.sqlite.store import SqliteStore
from tests.unit.service.test_service import ADA, setting


class Clock:
    """Returns the time that a test sets."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


async def started(path: Path, clock: Clock) -> tuple[Service, SqliteStore]:
    store = SqliteStore.open(f"sqlite:///{path / 'kconf.db'}")
    service = Service(store, node_id=1, catalog=kafka_43(), static={}, clock=clock)
    await service.start()
    return service, store


def test_only_revisions_made_while_the_clock_was_ahead_have_wrong_times(tmp_path: Path) -> None:
    """A query at the current time returns the current state, and old revisions are trimmed."""

    async def scene() -> None:
        clock = Clock()
        service, store = await started(tmp_path, clock)
        for seconds, value in ((1000, "a"), (9000, "b"), (9001, "c"), (1010, "d"), (1020, "e")):
            clock.now = float(seconds)
            await service.submit(setting(value), ADA)
        reader = store.journal_reader()

        times = [each.time for each in reader.changes(0)]
        assert times == [1_000_000, 9_000_000, 9_001_000, 1_010_000, 1_020_000]
        assert reader.revision_at(service.now()) == service.state.snapshot.revision == 5
        assert reader.revision_at(1_005_000) == 1
        assert await Retention(ms=5_000).apply(service) == 4
        reader.close()
        await service.stop()

    asyncio.run(scene())


def test_revisions_after_a_restart_have_the_true_time_although_older_ones_are_ahead(tmp_path: Path) -> None:
    async def scene() -> None:
        clock = Clock()
        clock.now = 9000.0
        service, _ = await started(tmp_path, clock)
        await service.submit(setting("a"), ADA)
        await service.stop()
        clock.now = 1000.0
        service, store = await started(tmp_path, clock)
        await service.submit(setting("b"), ADA)
        reader = store.journal_reader()

        assert [each.time for each in store.changes(0)] == [9_000_000, 1_000_000]
        assert reader.revision_at(service.now()) == 2
        reader.close()
        await service.stop()

    asyncio.run(scene())
