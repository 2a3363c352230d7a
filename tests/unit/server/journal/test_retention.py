"""The retention of the journal, and its settings."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.errors import ConfigurationError
from kconf.model.journal import Change, ChangeKind, RequestContext
from kconf.model.plan import Plan
from kconf.model.resource import Resource
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
        retention = Retention.of(static)
        assert retention is not None

        assert await retention.apply(service) == oldest - 1
        assert store.oldest() == oldest
        assert await retention.apply(service) == 0
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
