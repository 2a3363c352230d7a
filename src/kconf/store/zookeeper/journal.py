"""The journal in ZooKeeper: one znode per commit, named by the first revision in it.

The name of the next znode follows from the last one, so readers watch for that name instead of listing; and only one
server can create it, which puts all commits into a total order. The names are listed once, when the journal is opened.
`/kconf/oldest` is the first revision of the journal: the first znode may have older ones, which are trimmed.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from kconf.errors import JournalTrimmed
from kconf.model.journal import AuditEntry, Revision
from kconf.model.resource import Resource
from kconf.store.record_codec import read_revision, to_json
from kconf.store.zookeeper.audit_log import ZookeeperAuditLog
from kconf.store.zookeeper.paths import JOURNAL, OLDEST
from kconf.store.zookeeper.session import Session, store_errors

_BATCH: Final = 64  # znodes requested in parallel
_MAX_DELETED: Final = 2000  # znodes per call


class JournalEntry(NamedTuple):
    """One znode of the journal: the revisions of a commit, and its unique id.

    `notified` is how many notifications the commit created in each directory; None: it does not say.
    """

    commit_id: str
    revisions: Sequence[Revision]
    notified: Mapping[str, int] | None = None


def journal_path(first: int) -> str:
    return f"{JOURNAL}/c_{first:012d}"


def write_entry(commit_id: str, records: Sequence[object], notified: Mapping[str, int]) -> bytes:
    return to_json({"commit": commit_id, "revisions": records, "notified": notified}).encode()


def read_entry(first: int, data: bytes) -> JournalEntry:
    facts = json.loads(data)
    return JournalEntry(
        facts["commit"],
        [read_revision(first + index, each) for index, each in enumerate(facts["revisions"])],
        facts.get("notified"),
    )


class ZookeeperJournal:
    """Also a JournalReader: kazoo's client is thread-safe."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._audit_log = ZookeeperAuditLog(session)
        self._firsts: list[int] = []  # the first revision in each znode
        self.last = 0
        self.oldest = 1

    def open(self) -> None:
        """Read its first and last revisions."""
        self.refresh_oldest()
        self._firsts = sorted(int(name.removeprefix("c_")) for name in self._session.children(JOURNAL))
        self.last = 0
        if self._firsts:
            entry = self.entry(self._firsts[-1])
            self.last = entry.revisions[-1].number if entry else self._firsts[-1]

    def refresh_oldest(self) -> int:
        """Read the first revision of the journal, which other servers may have trimmed."""
        found = self._session.get(OLDEST)
        self.oldest = int(found[0]) if found else 1
        return self.oldest

    def first_zxid(self) -> int:
        """The zxid since which all changes are in the journal."""
        found = self._session.get(journal_path(self._firsts[0])) if self._firsts else self._session.get(JOURNAL)
        return int(found[1].czxid) if found else 0

    def entry(self, first: int) -> JournalEntry | None:
        found = self._session.get(journal_path(first))
        return None if found is None else read_entry(first, found[0])

    def add(self, first: int, last: int) -> None:
        """Record a znode that this or another server has created."""
        self._firsts.append(first)
        self.last = last

    def changes(self, after: int, limit: int = 1000) -> Sequence[Revision]:
        with store_errors():
            self._check(after)
            found: list[Revision] = []
            for revision in self._forward(max(after + 1, self.oldest)):
                found.append(revision)
                if len(found) == limit:
                    break
            if found and found[0].number != max(after + 1, self.oldest):  # another server has trimmed it
                self.refresh_oldest()
                self._check(after)
            return found

    def changes_for(self, resources: Collection[Resource], after: int, limit: int = 1000) -> Sequence[Revision]:
        with store_errors():
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
        with store_errors():
            self._check(after)
            wanted, lowest = frozenset(resources), max(after + 1, self.oldest)
            firsts = self._firsts[max(bisect_right(self._firsts, lowest) - 1, 0) :]
            for start in range(len(firsts), 0, -_BATCH):
                for entry in reversed(self._entries(firsts[max(start - _BATCH, 0) : start])):
                    for revision in reversed(entry.revisions):
                        if revision.number >= lowest and any(each.resource in wanted for each in revision.changes):
                            yield revision

    def revision_at(self, time: int) -> int:
        """A binary search: times increase with revision numbers."""
        with store_errors():
            firsts = self._firsts
            low, high = 0, len(firsts)  # the first later znode is in [low, high]
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
        with store_errors():
            return self._audit_log.read(after, limit)

    def append_attempts(self, attempts: Sequence[AuditEntry]) -> None:
        with store_errors():
            self._audit_log.append(attempts)

    def trim(self, before_time: int | None, keep_last: int | None, up_to: int | None) -> int:
        """As Store.trim."""
        with store_errors():
            oldest = self.refresh_oldest()
            first = oldest if keep_last is None else max(oldest, self.last + 1 - keep_last)
            if before_time is not None:
                young = (each.number for each in self._forward(oldest) if each.time >= before_time)
                first = max(first, next(young, self.last))
            first = max(oldest, min(first, self.last, self.last if up_to is None else up_to + 1))
            if first > oldest:
                self._session.set(OLDEST, str(first).encode())
                self.oldest = first
            self._delete_before(first)
            return first - oldest

    def _delete_before(self, first: int) -> None:
        """Delete the znodes with only revisions before `first`; another server may do the same."""
        count = max(bisect_right(self._firsts, first) - 1, 0)
        count = min(count, _MAX_DELETED)
        self._session.delete(journal_path(each) for each in self._firsts[:count])
        self._firsts = self._firsts[count:]

    def close(self) -> None:
        """The session belongs to the store."""

    def _check(self, after: int) -> None:
        if after + 1 < self.oldest and self.oldest > 1:
            raise JournalTrimmed(self.oldest)

    def _forward(self, first: int) -> Iterator[Revision]:
        """All revisions from `first` on."""
        start = max(bisect_right(self._firsts, first) - 1, 0)
        firsts = self._firsts[start:]
        for index in range(0, len(firsts), _BATCH):
            for entry in self._entries(firsts[index : index + _BATCH]):
                yield from (each for each in entry.revisions if each.number >= first)

    def _entries(self, firsts: Sequence[int]) -> list[JournalEntry]:
        by_path = {journal_path(first): first for first in firsts}
        return [read_entry(by_path[path], data) for path, data, _ in self._session.get_many(by_path)]
