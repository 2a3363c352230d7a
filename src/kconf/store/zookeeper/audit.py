"""Attempts in ZooKeeper: one znode per batch that was written down, named by the first number in it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise, zip_longest
from typing import Final

from kazoo.exceptions import NodeExistsError

from kconf.model.journal import AuditEntry
from kconf.store.base import MOST_ATTEMPTS
from kconf.store.record_codec import attempt_record, read_attempt, to_json
from kconf.store.zookeeper.paths import ATTEMPTS
from kconf.store.zookeeper.session import Session

_TOGETHER: Final = 200  # attempts in one znode: each takes at most about 2 kB


class AuditZnodes:
    """Numbers go up by one for each attempt of any server."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def keep(self, attempts: Sequence[AuditEntry]) -> None:
        """Write them down; the newest `MOST_ATTEMPTS` stay."""
        for start in range(0, len(attempts), _TOGETHER):
            data = to_json([attempt_record(each) for each in attempts[start : start + _TOGETHER]]).encode()
            while not self._written(self._next(), data):
                pass  # another server took the number
        self._forget()

    def _written(self, first: int, data: bytes) -> bool:
        try:
            self._session.create(_path(first), data)
        except NodeExistsError:
            return False
        return True

    def _next(self) -> int:
        firsts = self._firsts()
        found = self._session.get(_path(firsts[-1])) if firsts else None
        return firsts[-1] + len(json.loads(found[0])) if found else 1

    def _firsts(self) -> list[int]:
        return sorted(int(name.removeprefix("a_")) for name in self._session.children(ATTEMPTS))

    def _forget(self) -> None:
        firsts = self._firsts()
        old = (first for first, following in pairwise(firsts) if following <= firsts[-1] - MOST_ATTEMPTS)
        self._session.delete(map(_path, old))

    def read(self, after: int, limit: int) -> list[AuditEntry]:
        firsts = self._firsts()
        found: list[AuditEntry] = []
        for first, following in zip_longest(firsts, firsts[1:]):
            if (following is not None and following <= after + 1) or len(found) >= limit:
                continue
            node = self._session.get(_path(first))
            records = json.loads(node[0]) if node else []
            found += [read_attempt(first + at, each) for at, each in enumerate(records) if first + at > after]
        return found[:limit]


def _path(first: int) -> str:
    return f"{ATTEMPTS}/a_{first:012d}"
