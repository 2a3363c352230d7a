"""The change feed: sends every committed revision, in order, to every reader.

The latest revisions are cached in memory, redacted and encoded once for all readers. Readers that are further behind
are served from the store, in a separate thread. A reader that is up to date waits; this costs one dictionary entry. A
commit wakes only the readers whose filter it matches, a few at a time (wake_queue.py). A reader that was woken starts
at the commit that woke it, so it never searches the same revisions twice. Readers without a filter at the same revision
share the bytes of a page.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from kconf.configdef.server_settings import CHANGE_FEED_MAX_WAIT, int_setting
from kconf.errors import StoreUnavailable
from kconf.model.journal import Change, Revision
from kconf.model.resource import Resource, ResourceType
from kconf.protocol.codec.serde import encode
from kconf.protocol.messages.list_config_changes import ListedChange, ListedRevision
from kconf.server.connection_context import LongPollTimer
from kconf.server.journal.wake_queue import Reader, WakeQueue
from kconf.service import Service
from kconf.store.base import MAX_RESOURCES_PER_QUERY, JournalReader

MAX_CACHED = 16_384  # revisions in memory
MAX_CACHED_BYTES = 8 << 20  # approximate bytes; the encoded form needs the same again
MAX_PAGE_LINES = 10_000
MAX_PAGE_BYTES = 256 << 10  # bytes; a slow reader holds one page in memory
MAX_SHARED = 16  # pages cached until the next commit
MAX_READ = 1000  # revisions read from the store at a time
MAX_SEARCH = 1.0  # seconds of searching before a lagging reader gets an empty page

ResourceFilter = tuple[int, str | None]
"""A resource type and a name; None matches all names."""

T = TypeVar("T")


class _CachedRevision:
    """A revision, and its encoded form once a reader needs it."""

    __slots__ = ("_encoded", "number", "revision", "size")

    def __init__(self, revision: Revision) -> None:
        self.revision = revision
        self.number = revision.number
        self.size = 500 + sum(300 + len(each.before or "") + len(each.after or "") for each in revision.changes)
        self._encoded: bytes | None = None

    def listed(self, filters: frozenset[ResourceFilter]) -> tuple[int, bytes]:
        """The number of lines that match the filter, and their encoded form. 0 lines if nothing matches."""
        changes = self.revision.changes
        if filters:
            changes = [change for change in changes if matches(change.resource, filters)]
            return len(changes), _encode(self.revision, changes) if changes else b""
        if self._encoded is None:
            self._encoded = _encode(self.revision, changes)
        return len(changes), self._encoded


@dataclass(frozen=True, slots=True)
class EncodedPage:
    """A response to a reader: encoded revisions, and the revision from which to continue."""

    revisions: Sequence[bytes]
    joined: bytes
    next_after: int
    current: int
    oldest: int


class _Filled(NamedTuple):
    revisions: Sequence[bytes]
    next_after: int
    is_full: bool = False
    joined: bytes = b""


class ChangeFeed:
    """Readers call `after`."""

    def __init__(self, service: Service) -> None:
        self._max_wait = int_setting(service.settings.static, CHANGE_FEED_MAX_WAIT) / 1000  # seconds
        self._service = service
        self._reader: JournalReader = service.store.journal_reader()
        self._thread = ThreadPoolExecutor(1, "kconf-feed")
        self._cached: deque[_CachedRevision] = deque()
        self._cached_bytes = 0
        self._last = self._since = service.state.snapshot.revision  # all revisions after `_since` are in `_cached`
        self._waiting: dict[ResourceFilter | None, set[Reader]] = {}
        self._woken = WakeQueue()
        self._pages: dict[tuple[int, int], _Filled] = {}  # pages without a filter, by revision and number of lines
        self._stopping = self._closed = False
        service.subscribe(self.on_commit)

    @property
    def waiting_readers(self) -> int:
        """The number of waiting readers, each counted once per resource of its filter."""
        return sum(map(len, self._waiting.values())) + len(self._woken)

    @property
    def current(self) -> int:
        """The last visible revision."""
        return self._last

    def on_commit(self, revisions: Sequence[Revision]) -> None:
        """Cache the committed revisions and wake the readers that wait for them."""
        before, self._last = self._last, revisions[-1].number
        self._pages.clear()
        self._woken.committed()
        for revision in revisions:
            cached = _CachedRevision(self._service.store.redact(revision))
            self._cached.append(cached)
            self._cached_bytes += cached.size
        while len(self._cached) > MAX_CACHED or self._cached_bytes > MAX_CACHED_BYTES:
            evicted = self._cached.popleft()
            self._cached_bytes -= evicted.size
            self._since = evicted.number
        if not self._waiting:
            return
        self._wake(None, before)
        for resource in {change.resource for revision in revisions for change in revision.changes}:
            self._wake((resource.type, resource.name), before)
            self._wake((resource.type, None), before)

    async def after(
        self,
        after: int,
        lines: int,
        wait: float,
        filters: frozenset[ResourceFilter],
        long_poll: LongPollTimer | None = None,
    ) -> EncodedPage:
        """The revisions after a given one. Waits for the next one up to `wait` seconds, at most
        change.feed.max.wait.ms.

        Raises JournalTrimmed if that revision has been removed from the journal.
        """
        clock = asyncio.get_running_loop().time
        began = clock()
        page = await self._page(after, lines, filters)
        while not page.revisions:
            if page.next_after < self._last:
                if clock() - began > MAX_SEARCH:
                    break
                position = page.next_after
            else:
                left = began + min(wait, self._max_wait) - clock()
                if left <= 0 or self._stopping or (long_poll is not None and long_poll.is_over):
                    break
                position = await self._sleep(left, filters, long_poll)
            page = await self._page(position, lines, filters)
        joined = page.joined or b"".join(page.revisions)
        return EncodedPage(page.revisions, joined, page.next_after, self._last, self._service.store.oldest())

    async def read(self, work: Callable[[JournalReader], T]) -> T:
        """Read the journal, in the feed's own thread."""
        if self._closed:
            raise StoreUnavailable("the server is stopping")
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: work(self._reader))

    def stop_waiting(self) -> None:
        """Answer all waiting readers. From now on no reader waits."""
        self._stopping = True
        for key in tuple(self._waiting):
            self._wake(key, self._last)
        self._woken.wake_all()

    async def close(self) -> None:
        """Close the reader of the store."""
        self.stop_waiting()
        if not self._closed:
            await self.read(lambda reader: reader.close())
            self._closed = True
            self._thread.shutdown()

    async def _page(self, after: int, lines: int, filters: frozenset[ResourceFilter]) -> _Filled:
        """A page from the cache, or from the store up to the last visible revision."""
        last = self._last
        shared = None if filters else self._pages.get((after, lines))
        if shared is not None:
            return shared
        if after >= self._since:
            first = bisect_right(self._cached, after, key=lambda cached: cached.number)
            # By index: a deque is fast near its ends, where most readers are.
            cached = (self._cached[place] for place in range(first, len(self._cached)))
            filled = _fill(cached, max(after, 0), lines, filters)
        else:
            filled = await self.read(lambda reader: _stored(reader, after, last, lines, filters))
        if not filled.is_full:
            filled = filled._replace(next_after=max(last, after))
        if not filters and filled.revisions and last == self._last and len(self._pages) < MAX_SHARED:
            filled = self._pages[after, lines] = filled._replace(joined=b"".join(filled.revisions))
        return filled

    async def _sleep(self, seconds: float, filters: frozenset[ResourceFilter], long_poll: LongPollTimer | None) -> int:
        """Wait for a commit that matches the filter, a timeout, or the end of the long poll.

        Returns a revision up to which nothing matched the filter.
        """
        loop = asyncio.get_running_loop()
        future: Reader = loop.create_future()

        def wake() -> None:
            if not future.done():
                future.set_result(self._woken.position(future, self._last))

        timer = loop.call_later(seconds, wake)
        if long_poll is not None:
            long_poll.begin(wake)
        keys: Sequence[ResourceFilter | None] = tuple(filters) or (None,)
        for key in keys:
            self._waiting.setdefault(key, set()).add(future)
        try:
            return await future
        finally:
            timer.cancel()
            if long_poll is not None:
                long_poll.wake = None
            self._woken.remove(future)
            for key in keys:
                waiting = self._waiting.get(key, set())
                waiting.discard(future)
                if not waiting:
                    self._waiting.pop(key, None)

    def _wake(self, key: ResourceFilter | None, position: int) -> None:
        self._woken.add(self._waiting.pop(key, ()), position)


def matches(resource: Resource, filters: frozenset[ResourceFilter]) -> bool:
    return (resource.type, resource.name) in filters or (resource.type, None) in filters


def _fill(revisions: Iterable[_CachedRevision], after: int, lines: int, filters: frozenset[ResourceFilter]) -> _Filled:
    """Fill a page with whole revisions: at least one, and as many as fit."""
    found: list[bytes] = []
    left, room = max(1, min(lines, MAX_PAGE_LINES)), MAX_PAGE_BYTES
    for each in revisions:
        count, data = each.listed(filters)
        if count:
            if found and (count > left or len(data) > room):
                return _Filled(found, after, is_full=True)
            found.append(data)
            left, room = left - count, room - len(data)
        after = each.number
        if left <= 0 or room <= 0:
            return _Filled(found, after, is_full=True)
    return _Filled(found, after)


def _stored(reader: JournalReader, after: int, last: int, lines: int, filters: frozenset[ResourceFilter]) -> _Filled:
    """A page from the store. Runs in the feed's thread, since reading and encoding take time.

    Commits that are not visible yet are left out: a client that reads a change must also see the new state.
    """
    names = [Resource(_TYPES.get(kind, kind), name) for kind, name in filters if name is not None]  # type: ignore[arg-type]
    if names and len(names) == len(filters) <= MAX_RESOURCES_PER_QUERY:
        revisions = reader.changes_for(names, after, MAX_READ)
    else:
        revisions = reader.changes(after, MAX_READ)
    filled = _fill((_CachedRevision(each) for each in revisions if each.number <= last), max(after, 0), lines, filters)
    return filled._replace(is_full=filled.is_full or (len(revisions) == MAX_READ and revisions[-1].number <= last))


_TYPES = {int(each): each for each in ResourceType}


def _encode(revision: Revision, changes: Sequence[Change]) -> bytes:
    caller = revision.caller
    return encode(
        ListedRevision(
            revision.number,
            revision.time,
            caller.principal,
            caller.client_id,
            caller.host,
            caller.api,
            caller.request_id,
            caller.reason,
            revision.origin,
            [
                ListedChange(
                    change.kind,
                    change.resource.type,
                    change.resource.name,
                    change.op,
                    change.key,
                    change.before,
                    change.after,
                    change.sensitive,
                )
                for change in changes
            ],
            -1 if revision.not_before is None else revision.not_before,
        ),
        0,
        True,
    )
