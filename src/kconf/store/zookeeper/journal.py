"""The journal in ZooKeeper: one znode per commit, named by the first revision in it.

The next znode's name follows from the last one's, so whoever follows watches for that name and lists nothing; and only
one server can make it, which is what puts all commits into one order. Reading from further back lists the names once.
`/kconf/oldest` says where the journal begins: a znode may hold revisions that are forgotten already.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from typing import Final, NamedTuple

from kconf.errors import JournalTrimmed
from kconf.model.journal import AuditEntry, Revision
from kconf.model.resource import Resource
from kconf.store.record_codec import read_revision, to_json
from kconf.store.zookeeper.audit import AuditZnodes
from kconf.store.zookeeper.paths import JOURNAL, OLDEST
from kconf.store.zookeeper.session import Session, failures

_AT_ONCE: Final = 64  # znodes asked for together
_FORGOTTEN_AT_ONCE: Final = 2000  # znodes


class JournalZnode(NamedTuple):
    """One znode of the journal: who wrote it, and what."""

    commit: str
    revisions: Sequence[Revision]


def node_path(first: int) -> str:
    return f"{JOURNAL}/c_{first:012d}"


def written(commit: str, records: Sequence[object]) -> bytes:
    return to_json({"commit": commit, "revisions": records}).encode()


def read(first: int, data: bytes) -> JournalZnode:
    facts = json.loads(data)
    return JournalZnode(
        facts["commit"], [read_revision(first + at, each) for at, each in enumerate(facts["revisions"])]
    )


class ZookeeperJournal:
    """Also a JournalReader: kazoo's client can be asked from any thread."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._attempts = AuditZnodes(session)
        self._firsts: list[int] = []
        self.last = 0
        self.oldest = 1

    def open(self) -> None:
        """Find out where it begins and ends."""
        self.look_at_oldest()
        self._firsts = sorted(int(name.removeprefix("c_")) for name in self._session.children(JOURNAL))
        self.last = 0
        if self._firsts:
            entry = self.entry(self._firsts[-1])
            self.last = entry.revisions[-1].number if entry else self._firsts[-1]

    def look_at_oldest(self) -> int:
        """Where the journal begins, as ZooKeeper has it now."""
        found = self._session.get(OLDEST)
        self.oldest = int(found[0]) if found else 1
        return self.oldest

    def born(self) -> int:
        """The zxid since which everything has been journalled."""
        found = self._session.get(node_path(self._firsts[0])) if self._firsts else self._session.get(JOURNAL)
        return int(found[1].czxid) if found else 0

    def entry(self, first: int) -> JournalZnode | None:
        found = self._session.get(node_path(first))
        return None if found is None else read(first, found[0])

    def append(self, first: int, last: int) -> None:
        """A znode is known to be there."""
        self._firsts.append(first)
        self.last = last

    def changes(self, after: int, limit: int = 1000) -> Sequence[Revision]:
        with failures():
            self._check(after)
            found: list[Revision] = []
            for revision in self._forward(max(after + 1, self.oldest)):
                found.append(revision)
                if len(found) == limit:
                    break
            if found and found[0].number != max(after + 1, self.oldest):  # another server has forgotten some meanwhile
                self.look_at_oldest()
                self._check(after)
            return found

    def changes_for(self, resources: Collection[Resource], after: int, limit: int = 1000) -> Sequence[Revision]:
        with failures():
            self._check(after)
            wanted = frozenset(resources)
            found: list[Revision] = []
            for revision in self._forward(max(after + 1, self.oldest)):
                if any(change.resource in wanted for change in revision.changes):
                    found.append(revision)
                    if len(found) == limit:
                        break
            return found

    def reverse_changes(self, resources: Collection[Resource], after: int) -> Iterator[Revision]:
        with failures():
            self._check(after)
            wanted, lowest = frozenset(resources), max(after + 1, self.oldest)
            firsts = self._firsts[max(bisect_right(self._firsts, lowest) - 1, 0) :]
            for start in range(len(firsts), 0, -_AT_ONCE):
                for entry in reversed(self._entries(firsts[max(start - _AT_ONCE, 0) : start])):
                    for revision in reversed(entry.revisions):
                        if revision.number >= lowest and any(each.resource in wanted for each in revision.changes):
                            yield revision

    def revision_at(self, time: int) -> int:
        """By halving: times go up with numbers."""
        with failures():
            firsts = self._firsts
            low, high = 0, len(firsts)  # the first znode that begins later lies in [low, high]
            while low < high:
                middle = (low + high) // 2
                entry = self.entry(firsts[middle])
                if entry is not None and entry.revisions[0].time > time:
                    high = middle
                else:
                    low = middle + 1
            found = 0
            last = self.entry(firsts[low - 1]) if low else None
            for revision in last.revisions if last else ():
                if revision.time <= time:
                    found = revision.number
            if found < self.oldest and self.oldest > 1:
                raise JournalTrimmed(self.oldest)
            return found

    def attempts(self, after: int, limit: int = 1000) -> Sequence[AuditEntry]:
        with failures():
            return self._attempts.read(after, limit)

    def append_attempts(self, attempts: Sequence[AuditEntry]) -> None:
        with failures():
            self._attempts.keep(attempts)

    def trim(self, before_time: int | None, keep_last: int | None, up_to: int | None) -> int:
        """As Store.trim."""
        with failures():
            oldest = self.look_at_oldest()
            first = oldest if keep_last is None else max(oldest, self.last + 1 - keep_last)
            if before_time is not None:
                young = (each.number for each in self._forward(oldest) if each.time >= before_time)
                first = max(first, next(young, self.last))
            first = max(oldest, min(first, self.last, self.last if up_to is None else up_to + 1))
            if first > oldest:
                self._session.set(OLDEST, str(first).encode())
                self.oldest = first
            self._forget(first)
            return first - oldest

    def _forget(self, first: int) -> None:
        """Delete the znodes that hold nothing from `first` on; another server may do the same."""
        gone = max(bisect_right(self._firsts, first) - 1, 0)
        gone = min(gone, _FORGOTTEN_AT_ONCE)
        self._session.delete(node_path(each) for each in self._firsts[:gone])
        self._firsts = self._firsts[gone:]

    def close(self) -> None:
        """Nothing of its own to let go of."""

    def _check(self, after: int) -> None:
        if after + 1 < self.oldest and self.oldest > 1:
            raise JournalTrimmed(self.oldest)

    def _forward(self, first: int) -> Iterator[Revision]:
        """All revisions from one on."""
        start = max(bisect_right(self._firsts, first) - 1, 0)
        firsts = self._firsts[start:]
        for at in range(0, len(firsts), _AT_ONCE):
            for entry in self._entries(firsts[at : at + _AT_ONCE]):
                yield from (each for each in entry.revisions if each.number >= first)

    def _entries(self, firsts: Sequence[int]) -> list[JournalZnode]:
        paths = {node_path(first): first for first in firsts}
        return [read(paths[path], data) for path, data, _ in self._session.get_many(paths)]
