"""A journal in memory, for unit tests and for read-only ZooKeeper stores."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from kconf.errors import JournalTrimmed
from kconf.model.journal import AuditEntry, Revision
from kconf.model.resource import Resource
from kconf.store.base import MAX_ATTEMPTS


class MemoryJournal:
    """A JournalReader to which a store appends redacted revisions."""

    def __init__(self) -> None:
        self._revisions: list[Revision] = []
        self._attempts: list[AuditEntry] = []
        self._last_attempt = 0

    def append(self, revision: Revision) -> None:
        self._revisions.append(revision)

    def changes(self, after: int, limit: int = 1000) -> Sequence[Revision]:
        oldest = self.oldest()
        if after + 1 < oldest and oldest > 1:
            raise JournalTrimmed(oldest)
        start = max(after + 1 - oldest, 0)
        return self._revisions[start : start + limit]

    def changes_for(self, resources: Collection[Resource], after: int, limit: int = 1000) -> Sequence[Revision]:
        later = self.changes(after, len(self._revisions))
        return [each for each in later if any(change.resource in resources for change in each.changes)][:limit]

    def reverse_changes(self, resources: Collection[Resource], after: int) -> Iterator[Revision]:
        yield from reversed(self.changes_for(resources, after, len(self._revisions)))

    def revision_at(self, time: int) -> int:
        found = next((each.number for each in reversed(self._revisions) if each.time <= time), 0)
        if found < self.oldest() and self.oldest() > 1:
            raise JournalTrimmed(self.oldest())
        return found

    def append_attempts(self, attempts: Sequence[AuditEntry]) -> None:
        for each in attempts:
            self._last_attempt += 1
            self._attempts.append(replace(each, keys=tuple(each.keys), number=self._last_attempt))
        del self._attempts[:-MAX_ATTEMPTS]

    def attempts(self, after: int, limit: int = 1000) -> Sequence[AuditEntry]:
        return [each for each in self._attempts if each.number > after][:limit]

    def oldest(self) -> int:
        return self._revisions[0].number if self._revisions else 1

    def trim(self, *, before_time: int | None = None, keep_last: int | None = None, up_to: int | None = None) -> int:
        count = 0 if keep_last is None else len(self._revisions) - keep_last
        if before_time is not None:
            old = (index for index, each in enumerate(self._revisions, 1) if each.time < before_time)
            count = max(count, max(old, default=0))
        if up_to is not None:
            count = min(count, up_to + 1 - self.oldest())
        count = max(0, min(count, len(self._revisions) - 1))
        del self._revisions[:count]
        return count

    def close(self) -> None:
        """Does nothing."""
