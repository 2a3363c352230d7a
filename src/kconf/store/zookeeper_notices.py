"""Purges notifications, as every broker does: 15 minutes beside real brokers, one minute where there are none.

A server deletes its own by name, many in one multi. What servers left that are gone is found by listing, and that only
where there is more than this server knows of.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from time import monotonic
from typing import Final

from kconf.store import zookeeper_paths as at
from kconf.store.zookeeper_session import Op, Session

ALONE, BESIDE = 60.0, 900.0  # seconds
_DIRECTORIES: Final = (at.CONFIG_CHANGES, at.LITERAL_ACL_CHANGES, at.PREFIXED_ACL_CHANGES)
_TOGETHER: Final = 200


class Notices:
    """Those that this server made, and when."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._made: deque[tuple[float, str]] = deque()

    def made(self, paths: Iterable[str]) -> None:
        now = monotonic()
        self._made.extend((now, path) for path in paths)

    def purge(self, seconds: float) -> None:
        """Delete what is older than that."""
        oldest = monotonic() - seconds
        old = []
        while self._made and self._made[0][0] <= oldest:
            old.append(self._made.popleft()[1])
        self._delete(old)
        self._delete(self._left_over(seconds))

    def _left_over(self, seconds: float) -> list[str]:
        """Of others; their age is told by the server's clock, which is compared with itself."""
        found = []
        for directory in _DIRECTORIES:
            names = self._session.children(directory) if self._count(directory) > len(self._made) else []
            stats = [(path, stat.ctime) for path, _, stat in self._session.get_many(f"{directory}/{n}" for n in names)]
            newest = self._now() if stats else 0
            found += [path for path, made in stats if made <= newest - 1000 * seconds]
        return found

    def _count(self, directory: str) -> int:
        found = self._session.get(directory)
        return found[1].numChildren if found else 0

    def _now(self) -> int:
        """What time it is for ZooKeeper."""
        return int(self._session.set(f"{at.OURS}/clock", b"").mtime)

    def _delete(self, paths: list[str]) -> None:
        for start in range(0, len(paths), _TOGETHER):
            some = paths[start : start + _TOGETHER]
            results = self._session.commit(Op("delete", path) for path in some)
            if any(isinstance(each, Exception) for each in results):
                self._session.delete(some)  # one by one: a broker was faster with some of them
