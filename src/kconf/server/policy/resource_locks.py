"""One request at a time per resource, from a policy's question to the commit.

Otherwise those who write to one resource would take turns in making each other's verdicts old. Locks are taken in the
order of the names and from empty hands, so no two requests wait for each other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from weakref import WeakValueDictionary


class ResourceLocks:
    """The locks that someone holds or waits for, by resource."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def lock(self, name: str) -> asyncio.Lock:
        lock = self._locks.get(name)
        if lock is None:
            lock = self._locks[name] = asyncio.Lock()
        return lock


class ResourceLock:
    """One request's part in it. `leave` in the end, whatever happened."""

    def __init__(self, turns: ResourceLocks) -> None:
        self._turns = turns
        self._names: frozenset[str] = frozenset()
        self._held: list[asyncio.Lock] = []

    async def take(self, names: Collection[str]) -> bool:
        """Take these, with those that are held; True where others had to be waited for, so that things have changed."""
        if self._names.issuperset(names):
            return False
        self.leave()
        self._names = self._names.union(names)
        locks = [self._turns.lock(name) for name in sorted(self._names)]
        waited = any(each.locked() for each in locks)
        for each in locks:
            await each.acquire()
            self._held.append(each)
        return waited

    def leave(self) -> None:
        while self._held:
            self._held.pop().release()
