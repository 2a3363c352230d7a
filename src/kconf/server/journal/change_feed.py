"""The change feed: every committed revision, in order, to everyone who asks, without asking the store again.

The last revisions stay in memory, sealed and encoded once for all readers; who is further behind is served from the
store by a reader of its own. A reader that has everything waits: it costs one entry in a dictionary, and a commit
wakes only those whose filter it meets. Who waits knows that nothing met its filter before what woke it, so it never
looks through the same revisions twice.
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
from kconf.service import Service
from kconf.store.base import MAX_RESOURCES_PER_QUERY, JournalReader

MOST_KEPT = 4096  # revisions in memory
MOST_HELD = 8 << 20  # bytes that they may take, about; their encoded form takes as much again
MOST_LINES = 10_000  # in a page
MOST_BYTES = 256 << 10  # in a page: a slow reader holds one
MOST_READ = 1000  # revisions read from the store at a time
LONGEST_SEARCH = 1.0  # seconds that a reader far behind is searched for, before it is told how far we came

Wanted = tuple[int, str | None]
"""A resource type and a name; None: all of that type."""

T = TypeVar("T")


class LongPollTimer:
    """What lets a connection's long-poll wait. Its connection ends it when the peer has gone, or asks for more."""

    __slots__ = ("give_up", "is_over")

    def __init__(self) -> None:
        self.is_over = False
        self.give_up: Callable[[], None] | None = None

    def renew(self) -> None:
        self.is_over = False

    def end(self) -> None:
        self.is_over = True
        if self.give_up is not None:
            self.give_up()


class _Kept:
    """A revision, with its bytes once somebody wanted all of it."""

    __slots__ = ("_encoded", "number", "revision", "size")

    def __init__(self, revision: Revision) -> None:
        self.revision = revision
        self.number = revision.number
        self.size = 500 + sum(300 + len(each.before or "") + len(each.after or "") for each in revision.changes)
        self._encoded: bytes | None = None

    def listed(self, wanted: frozenset[Wanted]) -> tuple[int, bytes]:
        """Lines and bytes of the revision as the wire has it, less what the filter leaves out; 0 lines: nothing."""
        changes = self.revision.changes
        if wanted:
            changes = [change for change in changes if matches(change.resource, wanted)]
            return len(changes), _encode(self.revision, changes) if changes else b""
        if self._encoded is None:
            self._encoded = _encode(self.revision, changes)
        return len(changes), self._encoded


@dataclass(frozen=True, slots=True)
class Page:
    """An answer to a reader: encoded revisions, and where to go on."""

    revisions: Sequence[bytes]
    next_after: int
    current: int
    oldest: int


class _Filled(NamedTuple):
    revisions: Sequence[bytes]
    next_after: int
    is_full: bool = False


class ChangeFeed:
    """Follows the service; readers call `after`."""

    def __init__(self, service: Service) -> None:
        self._max_wait = int_setting(service.state.ladder.static, CHANGE_FEED_MAX_WAIT) / 1000  # seconds
        self._service = service
        self._reader: JournalReader = service.store.journal_reader()
        self._thread = ThreadPoolExecutor(1, "kconf-feed")
        self._kept: deque[_Kept] = deque()
        self._held = 0
        self._last = self._since = service.state.snapshot.revision  # all that came after `_since` is in `_kept`
        self._waiting: dict[Wanted | None, set[asyncio.Future[int]]] = {}
        self._resting = self._closed = False
        service.subscribe(self.follow)

    @property
    def waiting(self) -> int:
        """How many readers wait, each counted once per resource of its filter."""
        return sum(map(len, self._waiting.values()))

    @property
    def current(self) -> int:
        """The last revision that is visible."""
        return self._last

    def follow(self, revisions: Sequence[Revision]) -> None:
        """Keep what was committed, and wake those who wait for it."""
        before, self._last = self._last, revisions[-1].number
        for revision in revisions:
            kept = _Kept(self._service.store.redact(revision))
            self._kept.append(kept)
            self._held += kept.size
        while len(self._kept) > MOST_KEPT or self._held > MOST_HELD:
            gone = self._kept.popleft()
            self._held -= gone.size
            self._since = gone.number
        if not self._waiting:
            return
        self._wake(None, before)
        for resource in {change.resource for revision in revisions for change in revision.changes}:
            self._wake((resource.type, resource.name), before)
            self._wake((resource.type, None), before)

    async def after(
        self, after: int, lines: int, wait: float, wanted: frozenset[Wanted], patience: LongPollTimer | None = None
    ) -> Page:
        """What came after a revision; waits up to `wait` seconds, at most change.feed.max.wait.ms, for the next one.

        Raises JournalTrimmed for a revision before the oldest.
        """
        clock = asyncio.get_running_loop().time
        began = clock()
        page = await self._page(after, lines, wanted)
        while not page.revisions:
            if page.next_after < self._last:
                if clock() - began > LONGEST_SEARCH:
                    break
                position = page.next_after
            else:
                left = began + min(wait, self._max_wait) - clock()
                if left <= 0 or self._resting or (patience is not None and patience.is_over):
                    break
                position = await self._sleep(left, wanted, patience)
            page = await self._page(position, lines, wanted)
        return Page(page.revisions, page.next_after, self._last, self._service.store.oldest())

    async def read(self, work: Callable[[JournalReader], T]) -> T:
        """Ask the store's reader, in the feed's own thread."""
        if self._closed:
            raise StoreUnavailable("the server is stopping")
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: work(self._reader))

    def rest(self) -> None:
        """Answer everyone who waits; nobody waits from now on."""
        self._resting = True
        for key in tuple(self._waiting):
            self._wake(key, self._last)

    async def close(self) -> None:
        """Nothing is read any more."""
        self.rest()
        if not self._closed:
            await self.read(lambda reader: reader.close())
            self._closed = True
            self._thread.shutdown()

    async def _page(self, after: int, lines: int, wanted: frozenset[Wanted]) -> _Filled:
        """From memory, at once; or from the store, as far as it is visible at this moment."""
        last = self._last
        if after >= self._since:
            first = bisect_right(self._kept, after, key=lambda kept: kept.number)
            # By index: a deque is quick near its ends, and that is where readers are.
            kept = (self._kept[place] for place in range(first, len(self._kept)))
            filled = _fill(kept, max(after, 0), lines, wanted)
        else:
            filled = await self.read(lambda reader: _stored(reader, after, last, lines, wanted))
        return filled if filled.is_full else filled._replace(next_after=max(last, after))

    async def _sleep(self, seconds: float, wanted: frozenset[Wanted], patience: LongPollTimer | None) -> int:
        """Wait for a commit that the filter meets, or until time or patience is over.

        Returns a revision up to which nothing met the filter.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[int] = loop.create_future()

        def give_up() -> None:
            if not future.done():
                future.set_result(self._last)

        timer = loop.call_later(seconds, give_up)
        if patience is not None:
            patience.give_up = give_up
        keys: Sequence[Wanted | None] = tuple(wanted) or (None,)
        for key in keys:
            self._waiting.setdefault(key, set()).add(future)
        try:
            return await future
        finally:
            timer.cancel()
            if patience is not None:
                patience.give_up = None
            for key in keys:
                self._waiting[key].discard(future)
                if not self._waiting[key]:
                    del self._waiting[key]

    def _wake(self, key: Wanted | None, position: int) -> None:
        for future in self._waiting.get(key, ()):
            if not future.done():
                future.set_result(position)


def matches(resource: Resource, wanted: frozenset[Wanted]) -> bool:
    return (resource.type, resource.name) in wanted or (resource.type, None) in wanted


def _fill(revisions: Iterable[_Kept], after: int, lines: int, wanted: frozenset[Wanted]) -> _Filled:
    """A page: whole revisions, at least one, as many as there is room for."""
    found: list[bytes] = []
    left, room = max(1, min(lines, MOST_LINES)), MOST_BYTES
    for each in revisions:
        count, data = each.listed(wanted)
        if count:
            if found and (count > left or len(data) > room):
                return _Filled(found, after, is_full=True)
            found.append(data)
            left, room = left - count, room - len(data)
        after = each.number
        if left <= 0 or room <= 0:
            return _Filled(found, after, is_full=True)
    return _Filled(found, after)


def _stored(reader: JournalReader, after: int, last: int, lines: int, wanted: frozenset[Wanted]) -> _Filled:
    """A page from the store; in the feed's thread, as reading and encoding take their time.

    What was committed and is not visible yet is left for later: who reads of a change must find it done.
    """
    names = [Resource(_TYPES.get(kind, kind), name) for kind, name in wanted if name is not None]  # type: ignore[arg-type]
    if names and len(names) == len(wanted) <= MAX_RESOURCES_PER_QUERY:
        revisions = reader.changes_for(names, after, MOST_READ)
    else:
        revisions = reader.changes(after, MOST_READ)
    filled = _fill((_Kept(each) for each in revisions if each.number <= last), max(after, 0), lines, wanted)
    return filled._replace(is_full=filled.is_full or (len(revisions) == MOST_READ and revisions[-1].number <= last))


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
        ),
        0,
        True,
    )
