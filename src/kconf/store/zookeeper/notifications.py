"""Purges notifications, as every broker does: 15 minutes beside real brokers, one minute where there are none.

A server deletes its own by name, many in one multi. What servers left that are gone is found by listing, and that only
where there is more than this server knows of. Their names are numbered in the order of their age, so that of many young
ones only the first is looked at: meanwhile nobody commits, or hears of what others did.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import pairwise
from time import monotonic
from typing import Final

from kconf.store.zookeeper import paths as at
from kconf.store.zookeeper.session import Session, ZnodeOp

ALONE, BESIDE = 60.0, 900.0  # seconds
_DIRECTORIES: Final = (at.CONFIG_CHANGES, at.LITERAL_ACL_CHANGES, at.PREFIXED_ACL_CHANGES)
_TOGETHER: Final = 200
_AT_ONCE: Final = 1000  # in one call


class NotificationPurger:
    """Those that this server made, and when."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._made: deque[tuple[float, str]] = deque()

    def made(self, paths: Iterable[str]) -> None:
        now = monotonic()
        self._made.extend((now, path) for path in paths)

    def purge(self, seconds: float) -> bool:
        """Delete what is older than that, or as much of it as may be at once; whether there may be more."""
        oldest = monotonic() - seconds
        old: list[str] = []
        while self._made and self._made[0][0] <= oldest and len(old) < _AT_ONCE:
            old.append(self._made.popleft()[1])
        self._delete(old)
        left = self._left_over(seconds) if len(old) < _AT_ONCE else []
        self._delete(left)
        return max(len(old), len(left)) >= _AT_ONCE

    def _left_over(self, seconds: float) -> list[str]:
        """Of others; their age is told by the server's clock, which is compared with itself."""
        found: list[str] = []
        for directory in _DIRECTORIES:
            names = self._session.children(directory) if self._count(directory) > len(self._made) else []
            if not names:
                continue
            paths = [f"{directory}/{name}" for name in sorted(names, key=at.number_of)]
            oldest = self._now() - 1000 * seconds
            for start, end in pairwise([0, *range(1, len(paths), _TOGETHER), len(paths)]):
                made = [(path, stat.ctime) for path, _, stat in self._session.get_many(paths[start:end])]
                found += [path for path, time in made if time <= oldest]
                young = (path for path, time in made if time > oldest)
                if len(found) >= _AT_ONCE or any(at.number_of(path) >= 0 for path in young):
                    break  # a stray name tells nothing of those behind it
        return found[:_AT_ONCE]

    def _count(self, directory: str) -> int:
        found = self._session.get(directory)
        return found[1].numChildren if found else 0

    def _now(self) -> int:
        """What time it is for ZooKeeper."""
        return int(self._session.set(f"{at.OURS}/clock", b"").mtime)

    def _delete(self, paths: list[str]) -> None:
        for start in range(0, len(paths), _TOGETHER):
            some = paths[start : start + _TOGETHER]
            results = self._session.commit(ZnodeOp("delete", path) for path in some)
            if any(isinstance(each, Exception) for each in results):
                self._session.delete(some)  # one by one: a broker was faster with some of them
