"""Locks resources from the policy check to the commit, so that one request at a time changes a resource.

Without locks, concurrent requests for one resource would keep invalidating each other's verdicts. A request acquires
its locks in name order and releases all of them before it acquires more, so there are no deadlocks.
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
    """The locks of one request. Always call `release` at the end."""

    def __init__(self, locks: ResourceLocks) -> None:
        self._locks = locks
        self._names: frozenset[str] = frozenset()
        self._held: list[asyncio.Lock] = []

    async def acquire(self, names: Collection[str]) -> bool:
        """Acquire these locks in addition to those already held.

        Returns whether another request held one of them, so that the state may have changed.
        """
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
