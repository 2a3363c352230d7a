"""The change feed on a memory store: what a reader gets, when it is woken, and what is cached for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.errors import JournalTrimmed, StoreUnavailable
from kconf.model.journal import Change, ChangeKind, RequestContext, Revision
from kconf.model.plan import PendingCommit, Plan
from kconf.model.resource import Resource, ResourceType
from kconf.protocol.codec.serde import decode
from kconf.protocol.messages.list_config_changes import ListedRevision
from kconf.server.connection_context import LongPollTimer
from kconf.server.journal import change_feed as feeds
from kconf.server.journal.change_feed import ChangeFeed, EncodedPage
from kconf.server.journal.wake_queue import AT_ONCE, WakeQueue
from kconf.service import Service
from kconf.store.memory import MemoryStore

EVERYTHING: frozenset[tuple[int, str | None]] = frozenset()
ORDERS, GROUP = Resource.topic("orders"), Resource.group("payments")


def only(*resources: Resource) -> frozenset[tuple[int, str | None]]:
    return frozenset((int(each.type), each.name) for each in resources)


class World:
    """A service and its feed; `put` commits one change per resource, as one revision."""

    feed: ChangeFeed

    def __init__(self, store: MemoryStore, static: Mapping[str, str]) -> None:
        self.service = Service(store, node_id=1, catalog=kafka_43(), static=static)

    async def put(self, *resources: Resource, value: str = "1", sensitive: bool = False) -> None:
        changes = [Change(ChangeKind.CONFIG, each, "k", None, value, "set", sensitive) for each in resources]
        await self.service.submit(
            lambda *_: Plan(None, changes), RequestContext("User:a", "tool", "h", "Api", 7, "why")
        )

    async def after(self, after: int, *, lines: int = 1000, wait: float = 0.0, wanted: Any = EVERYTHING) -> EncodedPage:
        return await self.feed.after(after, lines, wait, wanted)


@asynccontextmanager
async def world(
    store: MemoryStore | None = None, *, before: int = 0, static: Mapping[str, str] | None = None
) -> AsyncIterator[World]:
    """`before` revisions are older than the feed."""
    made = World(store or MemoryStore(), static or {})
    await made.service.start()
    for _ in range(before):
        await made.put(ORDERS)
    made.feed = ChangeFeed(made.service)
    yield made
    await made.feed.close()
    await made.service.stop()


def numbers(page: EncodedPage) -> list[int]:
    return [read(each).revision for each in page.revisions]


def read(data: bytes) -> Any:
    return decode(ListedRevision, 0, True, data)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0)


def run(test: Any) -> None:
    asyncio.run(test)


def test_a_reader_gets_later_changes_from_memory_and_from_the_store() -> None:
    async def scene() -> None:
        async with world(before=3) as w:
            await w.put(ORDERS)
            await w.put(ORDERS)
            for after in range(6):
                page = await w.after(after)
                assert (numbers(page), page.next_after, page.current) == (list(range(after + 1, 6)), 5, 5)

    run(scene())


def test_pages_contain_every_revision_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For several page sizes, over the boundary between store and memory."""
    monkeypatch.setattr(feeds, "MAX_READ", 3)

    async def scene() -> None:
        async with world(before=10) as w:
            for _ in range(10):
                await w.put(ORDERS, GROUP)
            for lines in (1, 2, 3, 5, 1000):
                found: list[int] = []
                while len(found) < 20:
                    page = await w.after(found[-1] if found else 0, lines=lines)
                    assert len(page.revisions) > 0
                    assert page.next_after == numbers(page)[-1]
                    found += numbers(page)
                assert found == list(range(1, 21))

    run(scene())


def test_a_page_is_limited_in_changes_and_bytes_but_has_at_least_one_revision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(feeds, "MAX_PAGE_BYTES", 1000)

    async def scene() -> None:
        async with world() as w:
            await w.put(*(Resource.topic(f"t{n}") for n in range(50)))
            await w.put(ORDERS, value="x" * 600)
            await w.put(ORDERS, value="x" * 600)

            assert numbers(await w.after(0, lines=1)) == [1]
            assert len(read((await w.after(0, lines=1)).revisions[0]).changes) == 50
            assert numbers(await w.after(1)) == [2]
            assert numbers(await w.after(2)) == [3]

    run(scene())


def test_a_filter_leaves_out_lines_and_revisions_and_counts_what_it_lists() -> None:
    async def scene() -> None:
        async with world(before=2) as w:
            await w.put(GROUP)
            await w.put(ORDERS, GROUP, Resource.topic("other"))
            await w.put(Resource.topic("other"))

            page = await w.after(0, wanted=only(GROUP), lines=2)
            assert numbers(page) == [3, 4]
            assert [each.resource_name for each in read(page.revisions[1]).changes] == ["payments"]
            last = await w.after(4, wanted=only(GROUP))
            assert (numbers(last), last.next_after) == ([], 5)
            by_type = await w.after(2, wanted=frozenset({(int(ResourceType.TOPIC), None)}))
            assert [[each.resource_name for each in read(one).changes] for one in by_type.revisions] == [
                ["orders", "other"],
                ["other"],
            ]

    run(scene())


def test_a_waiting_reader_is_woken_only_by_a_change_that_matches_its_filter() -> None:
    async def scene() -> None:
        async with world() as w:
            waiting = asyncio.create_task(w.after(0, wait=60, wanted=only(GROUP)))
            await until(lambda: w.feed.waiting_readers == 1)
            for _ in range(5):
                await w.put(ORDERS)
            assert not waiting.done()
            await w.put(GROUP)
            page = await waiting
            assert (numbers(page), page.next_after, w.feed.waiting_readers) == ([6], 6, 0)

    run(scene())


def test_a_timeout_is_an_empty_page_that_continues_after_changes_that_did_not_match() -> None:
    async def scene() -> None:
        async with world() as w:
            waiting = asyncio.create_task(w.after(0, wait=0.2, wanted=only(GROUP)))
            await until(lambda: w.feed.waiting_readers == 1)
            await w.put(ORDERS)
            page = await waiting
            assert (numbers(page), page.next_after, page.current, w.feed.waiting_readers) == ([], 1, 1, 0)

    run(scene())


def test_a_reader_that_waits_longer_than_the_history_still_gets_its_change_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It knows that nothing matched its filter, and does not read the store again to find that out."""
    monkeypatch.setattr(feeds, "MAX_CACHED", 4)

    async def scene() -> None:
        async with world() as w:
            waiting = asyncio.create_task(w.after(0, wait=60, wanted=only(GROUP)))
            await until(lambda: w.feed.waiting_readers == 1)
            for _ in range(50):
                await w.put(ORDERS)
            await w.put(GROUP)
            assert numbers(await waiting) == [51]

    run(scene())


class SlowStore(MemoryStore):
    """Its reader pauses halfway, while the event loop continues."""

    def __init__(self) -> None:
        super().__init__()
        self.during: Callable[[], None] = lambda: None

    def changes(self, after: int, limit: int = 1000) -> Sequence[Revision]:
        found = super().changes(after, limit)
        during, self.during = self.during, lambda: None
        during()
        return found

    def changes_for(self, resources: Collection[Resource], after: int, limit: int = 1000) -> Sequence[Revision]:
        found = [
            each for each in self.changes(after, 10_000) if any(change.resource in resources for change in each.changes)
        ]
        return found[:limit]


def test_a_change_committed_before_a_reader_begins_to_wait_is_not_missed() -> None:
    """The change is committed while the reader reads the store."""

    async def scene() -> None:
        store = SlowStore()
        async with world(store, before=3) as w:
            loop = asyncio.get_running_loop()

            def commit_meanwhile() -> None:
                asyncio.run_coroutine_threadsafe(w.put(GROUP), loop).result(60)

            store.during = commit_meanwhile
            async with asyncio.timeout(60):
                page = await w.after(0, wait=60, wanted=only(GROUP))
            assert numbers(page) == [4]

    run(scene())


def test_a_commit_that_is_not_visible_yet_is_not_returned() -> None:
    """A client that reads a change and then describes the resource must see the new value."""

    async def scene() -> None:
        store = MemoryStore()
        async with world(store, before=3) as w:
            store.commit(
                [PendingCommit(RequestContext(), 0, [Change(ChangeKind.CONFIG, ORDERS, "k", None, "9", "set")], {})]
            )
            page = await w.after(0)
            assert (numbers(page), page.next_after, page.current) == ([1, 2, 3], 3, 3)

    run(scene())


def test_a_reader_that_is_too_far_behind_gets_the_oldest_revision() -> None:
    async def scene() -> None:
        store = MemoryStore()
        async with world(store, before=9) as w:
            store.trim(keep_last=3)
            with pytest.raises(JournalTrimmed) as told:
                await w.after(2)
            assert told.value.oldest == 7
            assert numbers(await w.after(6)) == [7, 8, 9]

    run(scene())


def test_memory_is_limited_in_revisions_and_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "MAX_CACHED", 10)
    monkeypatch.setattr(feeds, "MAX_CACHED_BYTES", 20_000)

    async def scene() -> None:
        async with world() as w:
            for _ in range(30):
                await w.put(ORDERS)
            assert len(w.feed._cached) == 10
            await w.put(ORDERS, value="x" * 15_000)
            assert w.feed._cached_bytes <= 20_000
            await w.put(ORDERS, value="x" * 50_000)
            assert (len(w.feed._cached), w.feed._cached_bytes) == (0, 0)
            assert numbers(await w.after(30)) == [31, 32]

    run(scene())


def test_one_cancelled_reader_leaves_nothing_behind() -> None:
    async def scene() -> None:
        async with world() as w:
            waiting = asyncio.create_task(w.after(0, wait=60, wanted=only(ORDERS, GROUP)))
            await until(lambda: w.feed.waiting_readers == 2)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            assert w.feed.waiting_readers == 0
            await w.put(ORDERS)

    run(scene())


@pytest.mark.parametrize("early", [True, False])
def test_a_reader_is_answered_at_once_when_its_wait_is_ended(early: bool) -> None:
    """Also before the wait: the event that ends it may arrive together with the request."""

    async def scene() -> None:
        async with world() as w:
            patience = LongPollTimer()
            if early:
                patience.end()
            waiting = asyncio.create_task(w.feed.after(0, 10, 60, EVERYTHING, patience))
            if not early:
                await until(lambda: w.feed.waiting_readers == 1)
                patience.end()
            async with asyncio.timeout(60):
                page = await waiting
            assert (numbers(page), w.feed.waiting_readers) == ([], 0)

    run(scene())


def test_a_stopping_feed_answers_all_readers_and_lets_no_other_wait() -> None:
    async def scene() -> None:
        async with world() as w:
            waiting = [asyncio.create_task(w.after(0, wait=60)) for _ in range(3)]
            await until(lambda: w.feed.waiting_readers == 3)
            w.feed.stop_waiting()
            async with asyncio.timeout(60):
                assert [numbers(await each) for each in waiting] == [[], [], []]
                assert numbers(await w.after(0, wait=60)) == []
            await w.feed.close()
            with pytest.raises(StoreUnavailable):
                await w.feed.read(lambda reader: reader.attempts(0))

    run(scene())


def test_a_secret_is_hashed_before_anyone_can_read_it() -> None:
    async def scene() -> None:
        async with world() as w:
            await w.put(ORDERS, value="hunter2", sensitive=True)
            (line,) = read((await w.after(0)).revisions[0]).changes
            assert line.sensitive
            assert line.after.startswith("hmac:")
            assert "hunter2" not in repr(list(w.feed._cached))

    run(scene())


def test_texts_beyond_kafkas_limit_do_not_stop_the_feed() -> None:
    """A topic with 20,000 partitions is such a text, and an invalid client ID is longer after repair."""

    async def scene() -> None:
        async with world() as w:
            await w.put(Resource.topic("x" * 40_000), value="y" * 100_000)
            (line,) = read((await w.after(0)).revisions[0]).changes
            assert (len(line.resource_name), len(line.after)) == (40_000, 100_000)

    run(scene())


def test_a_wait_is_limited_by_the_server() -> None:
    async def scenario() -> None:
        async with world(static={"change.feed.max.wait.ms": "0"}) as w, asyncio.timeout(20):
            assert numbers(await w.after(0, wait=3600)) == []

    asyncio.run(scenario())


def test_readers_at_the_same_revision_share_the_bytes_of_a_page_until_the_next_commit() -> None:
    async def scene() -> None:
        async with world() as w:
            for _ in range(3):
                await w.put(ORDERS)
            first, second = await w.after(1), await w.after(1)
            assert first.joined is second.joined
            assert first.joined == b"".join(first.revisions)

            await w.put(ORDERS)
            third = await w.after(1)
            assert (numbers(third), third.next_after) == ([2, 3, 4], 4)

    asyncio.run(scene())


def test_the_number_of_cached_pages_is_limited() -> None:
    async def scene() -> None:
        async with world() as w:
            await w.put(ORDERS)
            for lines in range(1, 3 * feeds.MAX_SHARED):
                assert numbers(await w.after(0, lines=lines)) == [1]
            assert len(w.feed._pages) == feeds.MAX_SHARED

    asyncio.run(scene())


def test_a_reader_that_times_out_while_it_is_woken_skips_nothing() -> None:
    async def scene() -> None:
        async with world() as w:
            seconds = count(0, 0.01)
            w.feed._woken = WakeQueue(lambda: next(seconds))  # writers are active, and responses take long
            await w.put(ORDERS)
            polls = [LongPollTimer() for _ in range(3 * AT_ONCE)]
            reading = [asyncio.create_task(w.feed.after(1, 10, 60, EVERYTHING, each)) for each in polls]
            await until(lambda: w.feed.waiting_readers == len(polls))
            await w.put(ORDERS)
            for each in polls:
                each.end()
            assert [numbers(await each) for each in reading] == [[2]] * len(polls)

    asyncio.run(scene())
