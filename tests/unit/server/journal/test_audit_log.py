"""Refusals and dry runs are recorded without values, limited in number and size; the test controls the clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.errors import ApiError, ErrorCode, StoreUnavailable
from kconf.model.journal import AuditEntry, RequestContext
from kconf.model.resource import Resource, ResourceType
from kconf.server.journal import audit_log as attempts
from kconf.server.journal.audit_log import BURST, CUT, MAX_KEYS, MAX_NAME, PER_SECOND, AuditLog
from kconf.service import Service
from kconf.store.memory import MemoryStore

ORDERS = Resource.topic("orders")
REFUSAL = ApiError(ErrorCode.INVALID_CONFIG, "no")
CALLER = RequestContext("User:alice", "tool", "10.0.0.1", "AlterConfigs", 7, "why not")


class Scene:
    def __init__(self, store: MemoryStore) -> None:
        self.now = 1000.0
        self.store = store
        self.service = Service(store, node_id=1, catalog=kafka_43(), static={}, clock=lambda: self.now)
        self.attempts = AuditLog(self.service, lambda: self.now)

    def refuse(self, times: int = 1, *, caller: RequestContext = CALLER, keys: Sequence[str] = ("k",)) -> None:
        self.attempts.record(caller, [(ORDERS, keys, REFUSAL)] * times, dry_run=False)

    async def written(self) -> Sequence[AuditEntry]:
        await self.attempts.flush()
        return self.store.attempts(0, 1_000_000)


@asynccontextmanager
async def scene(store: MemoryStore | None = None) -> AsyncIterator[Scene]:
    made = Scene(store or MemoryStore())
    await made.service.start()
    yield made
    await made.attempts.close()
    await made.service.stop()


def test_a_refusal_and_a_dry_run_are_written_and_a_success_is_not() -> None:
    async def scenario() -> None:
        async with scene() as s:
            outcomes = [(ORDERS, ("a",), REFUSAL), (Resource.group("g"), ("b",), None)]
            s.attempts.record(CALLER, outcomes, dry_run=False)
            s.attempts.record(CALLER, outcomes, dry_run=True)
            found = [(str(each.resource), each.keys, each.code, each.dry_run) for each in await s.written()]
            assert found == [
                ("topic:orders", ("a",), 40, False),
                ("topic:orders", ("a",), 40, True),
                ("group:g", ("b",), 0, True),
            ]
            assert (s.attempts.written, s.attempts.dropped) == (3, 0)
            assert (await s.written())[0].caller == CALLER

    asyncio.run(scenario())


def test_attempts_beyond_the_burst_and_the_rate_are_only_counted() -> None:
    async def scenario() -> None:
        async with scene() as s:
            s.refuse(BURST + 500)
            assert (len(await s.written()), s.attempts.dropped) == (BURST, 500)
            s.refuse()
            assert s.attempts.dropped == 501
            s.now += 2.0
            s.refuse(1000)
            allowed = int(2 * PER_SECOND)
            assert (len(await s.written()), s.attempts.dropped) == (BURST + allowed, 501 + 1000 - allowed)
            s.now += 3600.0
            s.refuse(BURST + 1)
            assert (s.attempts.dropped, s.attempts.written) == (501 + 1000 - allowed + 1, BURST + allowed)

    asyncio.run(scenario())


def test_long_texts_of_attempts_are_truncated() -> None:
    async def scenario() -> None:
        async with scene() as s:
            long = "x" * 30_000
            who = RequestContext(f"User:{long}", long, "10.0.0.1", "AlterConfigs", 7, long)
            s.attempts.record(who, [(Resource(77, long), [long] * 500, REFUSAL)], dry_run=False)  # type: ignore[arg-type]
            s.refuse(keys=[f"key.{n}" for n in range(500)])
            big, many = await s.written()
            assert (big.resource.type, len(big.resource.name)) == (ResourceType.UNKNOWN, MAX_NAME)
            assert len(big.caller.principal) == len(big.caller.client_id) == len(big.caller.reason or "") == MAX_NAME
            assert sum(map(len, big.keys)) <= MAX_KEYS + 1
            assert many.keys[:2] == ("key.0", "key.1")
            assert many.keys[-1] == CUT
            assert len(many.keys) <= MAX_KEYS / 10 + 1

    asyncio.run(scenario())


class FullStore(MemoryStore):
    def append_attempts(self, attempts: Sequence[AuditEntry]) -> None:
        raise StoreUnavailable("the disk is full")


def test_changes_that_the_store_refuses_are_counted_as_dropped() -> None:
    async def scenario() -> None:
        async with scene(FullStore()) as s:
            s.refuse(3)
            await s.attempts.flush()
            assert (s.attempts.written, s.attempts.dropped) == (0, 3)

    asyncio.run(scenario())


def test_attempts_are_written_without_a_flush(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "_PAUSE", 0.0)

    async def scenario() -> None:
        async with scene() as s:
            for turn in range(3):
                s.refuse()
                async with asyncio.timeout(60):
                    while len(s.store.attempts(0)) <= turn:
                        await asyncio.sleep(0)

    asyncio.run(scenario())


def test_attempts_after_closing_are_only_counted() -> None:
    async def scenario() -> None:
        async with scene() as s:
            s.refuse()
            await s.attempts.close()
            s.refuse()
            assert (s.attempts.written, s.attempts.dropped) == (1, 1)

    asyncio.run(scenario())
