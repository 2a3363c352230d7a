"""A store that cannot be written: changes fail at once, reads continue, nothing is half applied, and it recovers."""

from __future__ import annotations

import asyncio
import json
import resource
import time
import urllib.request
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.engine.policy.hooks import PolicyHooks
from kconf.errors import ErrorCode, RevisionConflict, StoreError, StoreUnavailable
from kconf.model.journal import RequestContext, Revision
from kconf.model.plan import PendingCommit, Plan
from kconf.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from kconf.server.context import ServerContext
from kconf.service import Service, State
from kconf.store.memory import MemoryStore
from tests.adversity.alterations import (
    ALTER,
    BROKERS,
    CREATE,
    DELETE,
    DESCRIBE,
    altering,
    creating,
    deleting,
    describing,
    topic,
    values,
)
from tests.adversity.lines import Line, frame, read
from tests.support.process import KconfProcess
from tests.support.routing import routed

TIMED_OUT = ErrorCode.REQUEST_TIMED_OUT
GROW = ("CreatePartitions", 3)


class FailingStore(MemoryStore):
    """A memory store that fails while `error` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.error: Exception | None = None
        self.wake: Callable[[], None] = lambda: None

    def on_change(self, callback: Callable[[], None]) -> None:
        self.wake = callback

    def poll_remote(self) -> Sequence[Revision]:
        if self.error is not None:
            raise self.error
        return ()

    def commit(self, batch: Sequence[PendingCommit]) -> Sequence[Revision | RevisionConflict]:
        if self.error is not None:
            raise self.error
        return super().commit(batch)


def _with_service(test: Callable[[FailingStore, Service, ServerContext], Awaitable[None]]) -> None:
    async def run() -> None:
        store = FailingStore()
        service = Service(store, node_id=1, catalog=kafka_43(), static={})
        await service.start()
        try:
            await test(store, service, ServerContext.over(service, time.monotonic))
        finally:
            await service.stop()

    asyncio.run(run())


async def _ask(context: ServerContext, asked: bytes) -> bytes:
    return (await routed(context, asked))[4:]


def _codes(results: Any) -> list[ErrorCode]:
    return [ErrorCode(each.error_code) for each in results]


@pytest.mark.parametrize(
    "error",
    [StoreUnavailable("the disk is full"), StoreError("the file is damaged"), RuntimeError("a bug of the store")],
    ids=["unavailable", "damaged", "a bug"],
)
def test_changes_time_out_while_the_store_fails_and_succeed_afterwards(error: Exception) -> None:
    async def test(store: FailingStore, service: Service, context: ServerContext) -> None:
        await _ask(context, creating("orders", "gone"))
        before = service.state
        store.error = error

        requests = altering({topic("orders"): {"retention.ms": "1"}, BROKERS: {"x": "y"}})
        growth = frame(*GROW, CreatePartitionsRequest([CreatePartitionsTopic("orders", 5)]))
        altered = read(*ALTER, await _ask(context, requests))
        created = read(*CREATE, await _ask(context, creating("more", "most")))
        deleted = read(*DELETE, await _ask(context, deleting("orders", "gone")))
        grown = read(*GROW, await _ask(context, growth))

        assert _codes(altered.responses) == [TIMED_OUT, TIMED_OUT]
        assert _codes(created.topics) == [TIMED_OUT, TIMED_OUT]
        assert _codes(deleted.responses) == [TIMED_OUT, TIMED_OUT]
        assert _codes(grown.results) == [TIMED_OUT]
        assert service.state is before
        assert service.counts.failed == 4
        assert not service.writable
        described = read(*DESCRIBE, await _ask(context, describing(topic("orders"))))
        assert values(described)["retention.ms"] == "604800000"

        store.error = None
        again = read(*ALTER, await _ask(context, altering({topic("orders"): {"retention.ms": "1"}})))

        assert _codes(again.responses) == [ErrorCode.NONE]
        assert service.writable
        assert store.load() == service.state.snapshot

    _with_service(test)


def test_the_writer_continues_when_changes_of_the_store_cannot_be_read(caplog: pytest.LogCaptureFixture) -> None:
    async def test(store: FailingStore, service: Service, context: ServerContext) -> None:
        await _ask(context, creating("orders"))
        store.error = RuntimeError("a bug of the store")
        store.wake()
        async with asyncio.timeout(30):
            while "cannot read the changes" not in caplog.text:
                await asyncio.sleep(0.001)

        store.error = None
        altered = read(*ALTER, await _ask(context, altering({topic("orders"): {"retention.ms": "1"}})))

        assert _codes(altered.responses) == [ErrorCode.NONE]

    _with_service(test)


def test_refusals_and_no_ops_are_answered_while_the_store_fails() -> None:

    async def test(store: FailingStore, service: Service, context: ServerContext) -> None:
        store.error = StoreUnavailable("the disk is full")

        refused = read(*ALTER, await _ask(context, altering({topic("none"): {"retention.ms": "1"}})))
        nothing = read(*ALTER, await _ask(context, altering({BROKERS: {"log.retention.ms": None}})))

        assert _codes(refused.responses) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        assert _codes(nothing.responses) == [ErrorCode.NONE]

    _with_service(test)


def test_a_bug_in_a_planner_fails_only_its_own_request() -> None:
    """The other changes of its batch are committed, and the writer continues."""

    async def test(store: FailingStore, service: Service, context: ServerContext) -> None:
        def broken(_: State, _hooks: PolicyHooks) -> Plan[None]:
            raise ZeroDivisionError

        async def bug() -> None:
            await service.submit(broken, RequestContext())

        answers = await asyncio.gather(
            _ask(context, creating("first")), bug(), _ask(context, creating("second")), return_exceptions=True
        )

        assert isinstance(answers[1], ZeroDivisionError)
        assert set(service.state.snapshot.topics) == {"first", "second"}

    _with_service(test)


def test_a_subscriber_that_fails_stops_the_writer_and_every_caller_gets_an_error() -> None:
    """A commit may not be visible everywhere, so no more changes are accepted, and no client waits forever."""

    async def test(store: FailingStore, service: Service, context: ServerContext) -> None:
        def broken(_: object) -> None:
            raise ZeroDivisionError

        service.subscribe(broken)

        async with asyncio.timeout(60):
            first, second = await asyncio.gather(_ask(context, creating("a")), _ask(context, creating("b")))
            third = await _ask(context, creating("c"))

        for answer in (first, second, third):
            assert _codes(read(*CREATE, answer).topics) == [TIMED_OUT]
        assert not service.writable

    _with_service(test)


def test_cancelling_the_caller_does_not_cancel_the_change() -> None:
    async def test(store: FailingStore, service: Service, context: ServerContext) -> None:
        task = asyncio.create_task(_ask(context, creating("orders")))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await _ask(context, creating("more"))

        assert set(service.state.snapshot.topics) == {"orders", "more"}

    _with_service(test)


def test_a_stopping_service_commits_pending_changes_and_accepts_no_more() -> None:
    async def test(store: FailingStore, service: Service, context: ServerContext) -> None:
        waiting = [asyncio.create_task(_ask(context, creating(f"topic-{number}"))) for number in range(700)]
        await asyncio.sleep(0)
        await service.stop()

        async with asyncio.timeout(60):
            answers = await asyncio.gather(*waiting)
            late = await _ask(context, creating("late"))

        assert {code for each in answers for code in _codes(read(*CREATE, each).topics)} == {ErrorCode.NONE}
        assert len(service.state.snapshot.topics) == 700
        assert _codes(read(*CREATE, late).topics) == [TIMED_OUT]

    async def run() -> None:
        store = FailingStore()
        service = Service(store, node_id=1, catalog=kafka_43(), static={})
        await service.start()
        await test(store, service, ServerContext.over(service, time.monotonic))

    asyncio.run(run())


@contextmanager
def _full_disk(kconf: KconfProcess) -> Iterator[None]:
    """Limit all files of the process to 64 KB, to simulate a full disk (Linux)."""
    before = resource.prlimit(kconf.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(kconf.pid, resource.RLIMIT_FSIZE, (65536, before[1]))
    yield
    if kconf.is_running:
        resource.prlimit(kconf.pid, resource.RLIMIT_FSIZE, before)


def _alter(line: Line, number: int) -> list[ErrorCode]:
    requested = {"retention.ms": str(number), "segment.ms": str(number)}
    line.send(altering({topic("a"): requested, topic("b"): requested}))
    return _codes(read(*ALTER, line.receive()).responses)


def _found(line: Line) -> set[str | None]:
    found = set()
    for name in "ab":
        line.send(describing(topic(name), keys=["retention.ms", "segment.ms"]))
        found |= set(values(read(*DESCRIBE, line.receive())).values())
    return found


def _health(kconf: KconfProcess) -> str:
    assert kconf.metrics_url is not None
    with urllib.request.urlopen(kconf.metrics_url.replace("/metrics", "/health")) as answer:
        status: str = json.loads(answer.read())["status"]
    return status


def test_changes_are_refused_while_the_disk_is_full_and_accepted_afterwards() -> None:
    with KconfProcess(args=["--metrics", "127.0.0.1:0"]) as kconf, Line(kconf) as line:
        line.send(creating("a", "b"))
        line.receive()
        for number in range(1, 41):  # so that the write-ahead log is longer than the limit
            assert _alter(line, number) == [ErrorCode.NONE] * 2
        assert (kconf.directory / "kconf.db-wal").stat().st_size > 65536

        with _full_disk(kconf):
            for number in range(100, 110):
                assert _alter(line, number) == [TIMED_OUT] * 2
                assert _found(line) == {"40"}
            assert _health(kconf) == "read-only"

        assert _alter(line, 200) == [ErrorCode.NONE] * 2
        assert _found(line) == {"200"}
        assert _health(kconf) == "ok"
        assert "a commit failed: cannot use" in kconf.log()

        with _full_disk(kconf):
            assert _alter(line, 300) == [TIMED_OUT] * 2
            kconf.kill()
        kconf.start()
        with Line(kconf) as again:
            assert _found(again) == {"200"}
            assert _alter(again, 400) == [ErrorCode.NONE] * 2
