"""Purges old notifications after every live server has processed them. Brokers purge after 15 minutes (KIP-21).

Servers publish their positions in their znodes (membership.py). A server deletes its own notifications by name, many in
one multi. Those of stopped servers are found by listing, only if a directory has more than this server created. Since
the numbers are in order of age, reading stops at the first recent one: the store cannot commit or poll meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from itertools import pairwise
from time import monotonic
from typing import Final

from kconf.store.zookeeper import paths
from kconf.store.zookeeper.notifications import DIRECTORIES, sequence_number
from kconf.store.zookeeper.session import ZookeeperSession
from kconf.store.zookeeper.znode_ops import ZnodeOp

KAFKAS_RETENTION: Final = 900.0  # seconds
MAX_OWN: Final = 10_000  # without brokers, notifications that all servers have read are not needed
_BATCH: Final = 200
_MAX_PER_CALL: Final = 1000


class NotificationPurger:
    """Deletes the notifications that this server created, and those that others left behind."""

    def __init__(self, session: ZookeeperSession) -> None:
        self._session = session
        self._created: deque[tuple[float, str]] = deque()

    def add(self, created: Iterable[str]) -> None:
        now = monotonic()
        self._created.extend((now, path) for path in created)

    def purge(self, seconds: float, passed: Mapping[str, int], *, bounded: bool = False) -> bool:
        """Delete notifications older than `seconds`, up to a limit per call. Returns whether there may be more.

        `passed` is the number in each directory before which all servers have processed everything. If `bounded`, only
        the newest `MAX_OWN` notifications of this server are kept, regardless of their age.
        """
        oldest = monotonic() - seconds
        old: list[str] = []
        while self._created and len(old) < _MAX_PER_CALL:
            time, path = self._created[0]
            if not _is_passed(path, passed) or (time > oldest and not (bounded and len(self._created) > MAX_OWN)):
                break
            self._created.popleft()
            old.append(path)
        self._delete(old)
        orphaned = self._orphaned(seconds, passed) if len(old) < _MAX_PER_CALL else []
        self._delete(orphaned)
        return max(len(old), len(orphaned)) >= _MAX_PER_CALL

    def _orphaned(self, seconds: float, passed: Mapping[str, int]) -> list[str]:
        """Old notifications of other servers. Both times are by ZooKeeper's clock."""
        found: list[str] = []
        for directory in DIRECTORIES:
            names = self._session.children(directory) if self._count(directory) > len(self._created) else []
            if not names:
                continue
            sorted_paths = [f"{directory}/{name}" for name in sorted(names, key=sequence_number)]
            oldest = self._now() - 1000 * seconds
            for start, end in pairwise([0, *range(1, len(sorted_paths), _BATCH), len(sorted_paths)]):
                created = [(path, stat.ctime) for path, _, stat in self._session.get_many(sorted_paths[start:end])]
                found += [path for path, time in created if time <= oldest and _is_passed(path, passed)]
                young = (path for path, time in created if time > oldest or not _is_passed(path, passed))
                if len(found) >= _MAX_PER_CALL or any(sequence_number(path) >= 0 for path in young):
                    break  # a name without a number does not show an age
        return found[:_MAX_PER_CALL]

    def _count(self, directory: str) -> int:
        found = self._session.get(directory)
        return found[1].numChildren if found else 0

    def _now(self) -> int:
        """ZooKeeper's time."""
        return int(self._session.set(paths.CLOCK, b"").mtime)

    def _delete(self, purged: list[str]) -> None:
        for start in range(0, len(purged), _BATCH):
            some = purged[start : start + _BATCH]
            results = self._session.multi(ZnodeOp("delete", path) for path in some)
            if any(isinstance(each, Exception) for each in results):
                self._session.delete(some)  # one by one, since a broker has deleted some


def _is_passed(path: str, passed: Mapping[str, int]) -> bool:
    """Whether all servers have processed a notification. Names without a number are never read."""
    directory, _, name = path.rpartition("/")
    return sequence_number(name) < passed.get(directory, 0)
