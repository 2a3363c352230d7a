"""The audit log in ZooKeeper: one znode per batch of attempts, named by the number of the first attempt."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise, zip_longest
from typing import Final

from kazoo.exceptions import NodeExistsError

from kconf.model.journal import AuditEntry
from kconf.store.base import MAX_ATTEMPTS
from kconf.store.record_codec import attempt_record, read_attempt, to_json
from kconf.store.zookeeper.paths import ATTEMPTS
from kconf.store.zookeeper.session import ZookeeperSession

_MAX_PER_ZNODE: Final = 200  # attempts per znode; each takes at most about 2 kB


class ZookeeperAuditLog:
    """Numbers increase by one per attempt, across all servers."""

    def __init__(self, session: ZookeeperSession) -> None:
        self._session = session

    def append(self, attempts: Sequence[AuditEntry]) -> None:
        """Store attempts; the newest `MAX_ATTEMPTS` are retained."""
        for start in range(0, len(attempts), _MAX_PER_ZNODE):
            data = to_json([attempt_record(each) for each in attempts[start : start + _MAX_PER_ZNODE]]).encode()
            while not self._create(self._next_number(), data):
                pass  # another server took the number
        self._trim()

    def _create(self, first: int, data: bytes) -> bool:
        try:
            self._session.create(_path(first), data)
        except NodeExistsError:
            return False
        return True

    def _next_number(self) -> int:
        firsts = self._firsts()
        found = self._session.get(_path(firsts[-1])) if firsts else None
        return firsts[-1] + len(json.loads(found[0])) if found else 1

    def _firsts(self) -> list[int]:
        """The first number in each znode."""
        return sorted(int(name.removeprefix("a_")) for name in self._session.children(ATTEMPTS))

    def _trim(self) -> None:
        firsts = self._firsts()
        old = (first for first, following in pairwise(firsts) if following <= firsts[-1] - MAX_ATTEMPTS)
        self._session.delete(map(_path, old))

    def read(self, after: int, limit: int) -> list[AuditEntry]:
        firsts = self._firsts()
        found: list[AuditEntry] = []
        for first, following in zip_longest(firsts, firsts[1:]):
            if (following is not None and following <= after + 1) or len(found) >= limit:
                continue
            znode = self._session.get(_path(first))
            records = json.loads(znode[0]) if znode else []
            found += [read_attempt(first + index, each) for index, each in enumerate(records) if first + index > after]
        return found[:limit]


def _path(first: int) -> str:
    return f"{ATTEMPTS}/a_{first:012d}"
