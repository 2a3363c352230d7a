"""The change feed: every committed revision, in order, to everyone who asks, without asking the store again.

The last revisions stay in memory, sealed and encoded once for all readers; who is further behind is served from the
store by a reader of its own. A reader that has everything waits: it costs one entry in a dictionary, and a commit
wakes only those whose filter it meets.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from kconf.model.journal import Change, Revision
from kconf.model.resource import Resource
from kconf.service import Service
from kconf.store.base import JournalReader
from kconf.wire.codec import encode
from kconf.wire.list_config_changes import ListedChange, ListedRevision

MOST_KEPT = 4096
MOST_LINES = 10_000
MOST_READ = 1000  # revisions read from the store at a time

Wanted = tuple[int, str | None]
"""A resource type and a name; None: all of that type."""

T = TypeVar("T")


@dataclass(slots=True)
class _Kept:
    """A revision in memory, with its bytes once somebody wanted all of it."""

    revision: Revision
    encoded: bytes | None = None

    def listed(self, wanted: frozenset[Wanted]) -> bytes | None:
        """The revision as the wire has it, less what the filter leaves out; None: nothing is left."""
        if not wanted:
            if self.encoded is None:
                self.encoded = _encode(self.revision, self.revision.changes)
            return self.encoded
        changes = [change for change in self.revision.changes if matches(change.resource, wanted)]
        return _encode(self.revision, changes) if changes else None


@dataclass(frozen=True, slots=True)
class Page:
    """An answer to a reader: encoded revisions, and where to go on."""

    revisions: Sequence[bytes]
    next_after: int
    current: int
    oldest: int


class Feed:
    """Follows the service; readers call `after`."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._reader: JournalReader = service.store.reader()
        self._thread = ThreadPoolExecutor(1, "kconf-feed")
        self._kept: deque[_Kept] = deque(maxlen=MOST_KEPT)
        self._waiting: dict[Wanted | None, set[asyncio.Future[None]]] = {}
        self._closed = False
        service.subscribe(self.follow)

    @property
    def waiting(self) -> int:
        return sum(map(len, self._waiting.values()))

    def follow(self, revisions: Sequence[Revision]) -> None:
        """Keep what was committed, and wake those who wait for it."""
        for revision in revisions:
            self._kept.append(_Kept(self._service.store.sealed(revision)))
        if not self._waiting:
            return
        self._wake(None)
        for resource in {change.resource for revision in revisions for change in revision.changes}:
            self._wake((resource.type, resource.name))
            self._wake((resource.type, None))

    async def after(self, after: int, lines: int, wait: float, wanted: frozenset[Wanted]) -> Page:
        """What came after a revision; waits up to `wait` seconds where there is nothing yet.

        Raises JournalTrimmed for a revision before the oldest.
        """
        page = await self._page(after, lines, wanted)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait
        while not page.revisions and page.next_after >= page.current and not self._closed:
            if not await self._sleep(deadline - loop.time(), wanted):
                break
            page = await self._page(page.next_after, lines, wanted)
        return page

    async def read(self, work: Callable[[JournalReader], T]) -> T:
        """Ask the store's reader, in the feed's own thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: work(self._reader))

    async def close(self) -> None:
        """Answer everyone who waits; nobody waits from now on."""
        self._closed = True
        for key in tuple(self._waiting):
            self._wake(key)
        await self.read(lambda reader: reader.close())
        self._thread.shutdown()

    async def _page(self, after: int, lines: int, wanted: frozenset[Wanted]) -> Page:
        current = self._service.state.snapshot.revision
        kept: Iterable[_Kept]
        if self._kept and after + 1 >= self._kept[0].revision.number:
            first = after + 1 - self._kept[0].revision.number
            kept = [self._kept[place] for place in range(first, len(self._kept))]
        elif after >= current:
            kept = ()
        else:
            kept = map(_Kept, await self.read(lambda reader: reader.changes(after, MOST_READ)))
        found: list[bytes] = []
        next_after = max(after, 0)
        left = max(1, min(lines, MOST_LINES))
        for each in kept:
            listed = each.listed(wanted)
            if listed is not None:
                if found and left < len(each.revision.changes):
                    break
                left -= len(each.revision.changes)
                found.append(listed)
            next_after = each.revision.number
            if left <= 0:
                break
        return Page(found, next_after, current, self._service.store.oldest())

    async def _sleep(self, seconds: float, wanted: frozenset[Wanted]) -> bool:
        """Wait for a commit that the filter meets; whether one came in time."""
        if seconds <= 0:
            return False
        future = asyncio.get_running_loop().create_future()
        keys: Sequence[Wanted | None] = tuple(wanted) or (None,)
        for key in keys:
            self._waiting.setdefault(key, set()).add(future)
        try:
            async with asyncio.timeout(seconds):
                await future
        except TimeoutError:
            return False
        finally:
            for key in keys:
                self._waiting[key].discard(future)
                if not self._waiting[key]:
                    del self._waiting[key]
        return True

    def _wake(self, key: Wanted | None) -> None:
        for future in self._waiting.get(key, ()):
            if not future.done():
                future.set_result(None)


def matches(resource: Resource, wanted: frozenset[Wanted]) -> bool:
    return (resource.type, resource.name) in wanted or (resource.type, None) in wanted


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
