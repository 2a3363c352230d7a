"""One request at a time per resource, from the question to a policy until the commit.

Otherwise requests that write to one resource would keep invalidating each other's verdicts. Locks are acquired in the
order of their names while none is held, so no two requests wait for each other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from weakref import WeakValueDictionary


class ResourceLocks:
    """The locks that requests hold or wait for, by resource."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def lock(self, name: str) -> asyncio.Lock:
        lock = self._locks.get(name)
        if lock is None:
            lock = self._locks[name] = asyncio.Lock()
        return lock


class ResourceLock:
    """The locks of one request. `release` in the end, whatever happened."""

    def __init__(self, locks: ResourceLocks) -> None:
        self._locks = locks
        self._names: frozenset[str] = frozenset()
        self._held: list[asyncio.Lock] = []

    async def acquire(self, names: Collection[str]) -> bool:
        """Acquire these, with those that are held. True: another request had one, so the state may have moved."""
        if self._names.issuperset(names):
            return False
        self.release()
        self._names = self._names.union(names)
        locks = [self._locks.lock(name) for name in sorted(self._names)]
        waited = any(each.locked() for each in locks)
        for each in locks:
            await each.acquire()
            self._held.append(each)
        return waited

    def release(self) -> None:
        while self._held:
            self._held.pop().release()
