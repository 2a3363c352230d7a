"""The journal in both clients: pages, watches across server restarts, past states, attempts."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from kconf import (
    AdminClient,
    AlterConfigOp,
    ChangeKind,
    InvalidRequest,
    JournalTrimmed,
    KafkaError,
    NewTopic,
    OpType,
    Resource,
    ResourceType,
    Revision,
    SyncAdminClient,
    UnsupportedVersion,
)
from kconf.store.registry import open_store
from tests.support.process import KconfProcess
from tests.unit.client.drivers import AsyncDriver, driver
from tests.unit.client.fake import KAFKA_43, FakeBroker


@pytest.fixture
def own_server() -> Iterator[KconfProcess]:
    with KconfProcess() as process:
        yield process


def put(admin: Any, topic: str, value: int, **options: Any) -> None:
    requested = {Resource.topic(topic): [AlterConfigOp(OpType.SET, "segment.ms", str(value))]}
    admin.incremental_alter_configs(requested, **options).raise_for_failures()


def entered(admin: Any, watch: Any) -> Any:
    """A started watch of either client."""
    if isinstance(admin, AsyncDriver):
        return admin.loop.run_until_complete(watch.__aenter__())
    return watch.__enter__()


def some(admin: Any, watch: Any, count: int) -> list[Revision]:
    async def take() -> list[Revision]:
        async with asyncio.timeout(30):
            return [await anext(watch) for _ in range(count)]

    if isinstance(admin, AsyncDriver):
        return admin.loop.run_until_complete(take())
    return [next(watch) for _ in range(count)]


def end(admin: Any, watch: Any) -> None:
    if isinstance(admin, AsyncDriver):
        admin.loop.run_until_complete(watch.close())
    else:
        watch.close()


def test_changes_have_principal_key_and_reason(admin: Any, topic: str) -> None:
    current = admin.list_changes(-1).current
    put(admin, topic, 5, reason="ticket 12")

    page = admin.list_changes(current, about=[Resource.topic(topic)])

    (revision,) = page.revisions
    assert (revision.number, page.next_after, page.current, page.oldest) == (current + 1, current + 1, current + 1, 1)
    assert (revision.caller.principal, revision.caller.client_id) == ("User:ANONYMOUS", "kconf")
    assert (revision.caller.api, revision.caller.reason) == ("IncrementalAlterConfigs", "ticket 12")
    (change,) = revision.changes
    assert (change.kind, str(change.resource)) == (ChangeKind.CONFIG, f"topic:{topic}")
    assert (change.key, change.before, change.after) == ("segment.ms", None, "5")
    assert abs(revision.time / 1000 - time.time()) < 60


def test_a_page_has_at_most_the_requested_number_of_revisions(admin: Any, topic: str) -> None:
    current = admin.list_changes(-1).current
    for value in range(5, 10):
        put(admin, topic, value)

    page = admin.list_changes(current, limit=2, about=[ResourceType.TOPIC])

    assert [each.number for each in page.revisions] == [current + 1, current + 2]
    assert page.next_after == current + 2
    assert admin.list_changes(current, about=[ResourceType.GROUP]).revisions == ()


def test_a_wait_without_changes_ends_with_an_empty_page(kind: str, own_server: KconfProcess) -> None:
    with driver(kind, own_server.bootstrap, request_timeout=1.0) as admin:
        began = time.monotonic()
        page = admin.list_changes(0, wait=60)  # the client requests less, so that its own time limit does not end first

    assert (page.revisions, page.next_after) == ((), 0)
    assert time.monotonic() - began >= 0.5


def test_a_waiting_call_does_not_block_others_on_its_connection(own_server: KconfProcess) -> None:
    async def scenario() -> None:
        admin = AdminClient(own_server.bootstrap, timeout=600.0, request_timeout=600.0)
        async with admin, asyncio.timeout(120):
            await admin.list_topics()
            waiting = asyncio.create_task(admin.list_changes(0, wait=250))
            await asyncio.sleep(0.1)
            await admin.describe_cluster()
            assert (await waiting).revisions == ()

    asyncio.run(scenario())


def test_a_watch_returns_changes_made_after_it_started(kind: str, server: KconfProcess, admin: Any, topic: str) -> None:
    put(admin, topic, 5)
    watch = entered(admin, admin.watch_changes(about=[Resource.topic(topic)]))
    put(admin, topic, 6)
    put(admin, topic, 7)

    found = some(admin, watch, 2)

    assert [each.changes[0].after for each in found] == ["6", "7"]
    assert watch.after == found[-1].number
    again = admin.watch_changes(found[0].number, about=[Resource.topic(topic)])
    assert some(admin, again, 1) == found[1:]
    end(admin, watch)
    end(admin, again)


def test_a_watch_continues_after_its_server_restarted(kind: str, own_server: KconfProcess) -> None:
    """The server is killed twice while changes continue. No change is lost or repeated."""
    with driver(kind, own_server.bootstrap) as admin:
        admin.create_topics([NewTopic("t", 1, 1)]).raise_for_failures()
        watch = entered(admin, admin.watch_changes(0))
        found = some(admin, watch, 1)

        def changing() -> None:
            with SyncAdminClient(own_server.bootstrap) as other:
                for value in range(1000, 1060):
                    put(other, "t", value)
                    if value in (1020, 1040):
                        own_server.kill()
                        own_server.start()

        thread = threading.Thread(target=changing)
        thread.start()
        found += some(admin, watch, 60)
        thread.join(120)
        end(admin, watch)

    assert [each.number for each in found] == list(range(1, 62))
    assert [each.changes[0].after for each in found[1:]] == [str(value) for value in range(1000, 1060)]


def test_a_watch_continues_after_a_cancelled_call(own_server: KconfProcess) -> None:
    async def scenario() -> None:
        async with AdminClient(own_server.bootstrap) as admin, admin.watch_changes() as watch:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await anext(watch)
            await admin.create_topics(["t"])
            async with asyncio.timeout(60):
                assert (await anext(watch)).number == 1

    asyncio.run(scenario())


def test_reading_trimmed_revisions_is_an_error_that_names_the_oldest_one(kind: str, own_server: KconfProcess) -> None:
    with driver(kind, own_server.bootstrap) as admin:
        admin.create_topics([NewTopic("t", 1, 1)]).raise_for_failures()
        for value in range(5, 15):
            put(admin, "t", value)
    own_server.stop()
    store = open_store(own_server.store)
    store.trim(keep_last=4)
    store.close()
    own_server.start()

    with driver(kind, own_server.bootstrap) as admin:
        with pytest.raises(JournalTrimmed, match="begins at revision 8") as trimmed:
            admin.list_changes(0)
        assert trimmed.value.oldest == 8
        with pytest.raises(JournalTrimmed):
            admin.describe_configs_at([Resource.topic("t")], revision=2)
        watch = admin.watch_changes(3)
        with pytest.raises(JournalTrimmed):
            some(admin, watch, 1)
        end(admin, watch)
        with pytest.raises(KafkaError, match="revision 99 does not exist yet"):
            admin.list_changes(99)


def test_the_past_is_described_by_revision_and_by_time(admin: Any, topic: str) -> None:
    orders, never = Resource.topic(topic), Resource.topic("never")
    made = admin.list_changes(-1).current
    time.sleep(0.005)  # revisions in the same millisecond have the same time
    between = datetime.now(UTC)
    time.sleep(0.005)
    put(admin, topic, 5)

    by_revision = admin.describe_configs_at([orders, never], revision=made)
    by_time = admin.describe_configs_at([orders, Resource.logger(1)], time=between)
    now = admin.describe_configs_at([orders], time=int(time.time() * 1000))

    assert (by_revision.revision, by_time.revision, now.revision) == (made, made, made + 1)
    assert by_revision[orders] == by_time[orders] == ({"retention.ms": "1000"}, True)
    assert by_revision[never] == ({}, False)
    assert now[orders].overrides == {"retention.ms": "1000", "segment.ms": "5"}
    with pytest.raises(InvalidRequest):
        by_time[Resource.logger(1)]
    with pytest.raises(InvalidRequest, match="does not exist yet"):
        admin.describe_configs_at([orders], revision=10**9)


def test_describing_the_past_needs_either_a_revision_or_a_time_with_a_zone(admin: Any) -> None:
    for when in ({}, {"revision": 1, "time": 1}, {"time": datetime(2026, 1, 1)}):  # noqa: DTZ001 – that is the point
        with pytest.raises(InvalidRequest):
            admin.describe_configs_at([Resource.topic("t")], **when)


def test_attempts_are_listed(admin: Any, topic: str) -> None:
    orders = Resource.topic(topic)
    admin.incremental_alter_configs({orders: [AlterConfigOp(OpType.SET, "segment.ms", "0")]}, reason="no")
    admin.incremental_alter_configs({orders: [AlterConfigOp(OpType.SET, "segment.ms", "9")]}, validate_only=True)

    found = [each for each in admin.list_attempts(limit=10_000) if each.resource == orders]

    assert [(each.keys, each.code, each.dry_run) for each in found] == [
        (("segment.ms",), 40, False),
        (("segment.ms",), 0, True),
    ]
    assert found[0].caller.reason == "no"
    assert admin.list_attempts(found[-1].number - 1, limit=1)[0].number == found[-1].number


def test_a_real_broker_has_no_journal(kind: str) -> None:
    orders = Resource.topic("orders")
    with FakeBroker(KAFKA_43) as broker, driver(kind, broker.address) as admin:
        for ask in (
            lambda: admin.list_changes(0),
            lambda: admin.describe_configs_at([orders], revision=1),
            lambda: admin.list_attempts(),
            lambda: some(admin, admin.watch_changes(), 1),
        ):
            with pytest.raises(UnsupportedVersion, match="only kconf servers have a journal"):
                ask()
