"""The journal in ZooKeeper: one znode per commit, named by its first revision.

The name of the next znode follows from the last one, so readers watch for that name instead of listing. Only one server
can create it, which puts all commits into a total order. The names are listed once, when the journal is opened.
`/kconf/oldest` is the first revision of the journal; older revisions in the first znode are ignored.
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
from kconf.store.zookeeper.session import ZookeeperSession, store_errors

_BATCH: Final = 64  # znodes requested in parallel
_MAX_DELETED: Final = 2000  # znodes per call


class JournalEntry(NamedTuple):
    """One znode of the journal: the revisions of a commit, and its unique id.

    `notified` is the number of notifications that the commit created in each directory, or None if unknown. `step` is
    the last revision so far with an earlier time than the previous one, or 0. From there on, times do not decrease.
    """

    commit_id: str
    revisions: Sequence[Revision]
    notified: Mapping[str, int] | None = None
    step: int = 0


def journal_path(first: int) -> str:
    return f"{JOURNAL}/c_{first:012d}"


def write_entry(commit_id: str, records: Sequence[object], notified: Mapping[str, int], step: int = 0) -> bytes:
    stepped = {"step": step} if step else {}
    return to_json({"commit": commit_id, "revisions": records, "notified": notified, **stepped}).encode()


def read_entry(first: int, data: bytes) -> JournalEntry:
    facts = json.loads(data)
    revisions = [read_revision(first + index, each) for index, each in enumerate(facts["revisions"])]
    return JournalEntry(facts["commit"], revisions, facts.get("notified"), facts.get("step", 0))


class ZookeeperJournal:
    """Also a JournalReader: kazoo's client is thread-safe."""

    def __init__(self, session: ZookeeperSession) -> None:
        self._session = session
        self._audit_log = ZookeeperAuditLog(session)
        self._firsts: list[int] = []  # the first revision in each znode
        self.last = 0
        self._last_time = 0
        self._last_step = 0
        self.oldest = 1

    def open(self) -> None:
        """Read the first and last revisions."""
        self.refresh_oldest()
        self._firsts = sorted(int(name.removeprefix("c_")) for name in self._session.children(JOURNAL))
        self.last = 0
        if self._firsts:
            entry = self.entry(self._firsts[-1])
            self.last = entry.revisions[-1].number if entry else self._firsts[-1]
            if entry is not None:
                self._last_time, self._last_step = entry.revisions[-1].time, entry.step

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

    def add(self, first: int, times: Sequence[int]) -> None:
        """Add a znode that this or another server has created: its first revision, and the times of all."""
        self._last_step = self.step_after(first, times)
        self._last_time = times[-1]
        self._firsts.append(first)
        self.last = first + len(times) - 1

    def step_after(self, first: int, times: Sequence[int]) -> int:
        """The `step` of the next znode: see JournalEntry."""
        step, last_time = self._last_step, self._last_time
        for number, time in enumerate(times, first):
            if time < last_time:
                step = number
            last_time = time
        return step

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
        with store_errors():
            found = self._last_at(time)
            if found < self.oldest and self.oldest > 1:
                raise JournalTrimmed(self.oldest)
            return found

    def _last_at(self, time: int) -> int:
        """The last revision at or before this time, or 0.

        Uses a binary search between clock steps, where times do not decrease, starting with the newest.
        """
        firsts, end = self._firsts, len(self._firsts)
        while end:
            entry = self.entry(firsts[end - 1])
            step = entry.step if entry is not None else 0  # trimmed by another server, so nothing older exists
            begin = max(bisect_right(firsts, step) - 1, 0)
            found = self._last_between(begin, end, step, time)
            if found or not step:
                return found
            boundary = self.entry(firsts[begin])
            for revision in reversed(boundary.revisions if boundary is not None else ()):
                if revision.number < step and revision.time <= time:
                    return revision.number
            end = begin
        return 0

    def _last_between(self, begin: int, end: int, step: int, time: int) -> int:
        """Like `_last_at`, among the revisions from `step` on in a range of znodes."""
        low, high = begin, end  # the first znode with a later time is in [low, high]
        while low < high:
            middle = (low + high) // 2
            entry = self.entry(self._firsts[middle])
            if entry is not None and next(each for each in entry.revisions if each.number >= step).time > time:
                high = middle
            else:
                low = middle + 1
        last = self.entry(self._firsts[low - 1]) if low > begin else None
        numbers = [each.number for each in last.revisions if each.time <= time and each.number >= step] if last else []
        return max(numbers, default=0)

    def attempts(self, after: int, limit: int = 1000) -> Sequence[AuditEntry]:
        with store_errors():
            return self._audit_log.read(after, limit)

    def append_attempts(self, attempts: Sequence[AuditEntry]) -> None:
        with store_errors():
            self._audit_log.append(attempts)

    def trim(self, before_time: int | None, keep_last: int | None, up_to: int | None) -> int:
        """See Store.trim."""
        with store_errors():
            oldest = self.refresh_oldest()
            first = oldest if keep_last is None else max(oldest, self.last + 1 - keep_last)
            if before_time is not None:
                first = max(first, self._last_at(before_time - 1) + 1)
            first = max(oldest, min(first, self.last, self.last if up_to is None else up_to + 1))
            if first > oldest:
                self._session.set(OLDEST, str(first).encode())
                self.oldest = first
            self._delete_before(first)
            return first - oldest

    def _delete_before(self, first: int) -> None:
        """Delete znodes that contain only revisions before `first`. Another server may do the same."""
        count = max(bisect_right(self._firsts, first) - 1, 0)
        count = min(count, _MAX_DELETED)
        self._session.delete(journal_path(each) for each in self._firsts[:count])
        self._firsts = self._firsts[count:]

    def close(self) -> None:
        """Does nothing: the session belongs to the store."""

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
