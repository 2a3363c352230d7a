"""A store that forgets everything: for unit tests. It passes the same contract as the real ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from secrets import token_bytes
from uuid import uuid4

from kconf.errors import JournalTrimmed, RevisionConflict
from kconf.model.journal import AuditEntry, Revision, sealed_with
from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource
from kconf.model.snapshot import Snapshot, encode_id
from kconf.store.base import MOST_ATTEMPTS, SingleServerMixin, broken


class MemoryStore(SingleServerMixin):
    url = "memory:"
    epoch = 1

    def __init__(self) -> None:
        self.cluster_id = encode_id(uuid4())
        self._snapshot = Snapshot.EMPTY
        self._journal: list[Revision] = []
        self._attempts: list[AuditEntry] = []
        self._tried = 0
        self._seal = token_bytes(32)

    def load(self) -> Snapshot:
        return self._snapshot

    def commit(self, batch: Sequence[PendingCommit]) -> Sequence[Revision | RevisionConflict]:
        return [self._commit(draft) for draft in batch]

    def _commit(self, draft: PendingCommit) -> Revision | RevisionConflict:
        moved = broken(draft.guards, self._snapshot.changed)
        if moved is not None:
            return RevisionConflict(f"{moved} has moved")
        if not draft.changes:
            return Revision(self._snapshot.revision, draft.time, draft.caller, ())
        number = self._snapshot.revision + 1
        self._snapshot = self._snapshot.apply(draft.changes, number)
        made = Revision(number, draft.time, draft.caller, tuple(draft.changes))
        self._journal.append(self.redact(made))
        return made

    def keep(self, revision: Revision) -> None:
        """Note a revision that was made elsewhere, sealed already; the state here stays as it is."""
        self._snapshot = replace(self._snapshot, revision=revision.number)
        self._journal.append(revision)

    def changes(self, after: int, limit: int = 1000) -> Sequence[Revision]:
        oldest = self.oldest()
        if after + 1 < oldest and oldest > 1:
            raise JournalTrimmed(oldest)
        start = max(after + 1 - oldest, 0)
        return self._journal[start : start + limit]

    def redact(self, revision: Revision) -> Revision:
        return sealed_with(self._seal, revision)

    def reader(self) -> MemoryStore:
        return self

    def changes_for(self, resources: Collection[Resource], after: int, limit: int = 1000) -> Sequence[Revision]:
        later = self.changes(after, len(self._journal))
        return [each for each in later if any(change.resource in resources for change in each.changes)][:limit]

    def reverse_changes(self, resources: Collection[Resource], after: int) -> Iterator[Revision]:
        yield from reversed(self.changes_for(resources, after, len(self._journal)))

    def revision_at(self, time: int) -> int:
        later = next((each for each in self._journal if each.time > time), None)
        found = self._snapshot.revision if later is None else later.number - 1
        if found < self.oldest() and self.oldest() > 1:
            raise JournalTrimmed(self.oldest())
        return found

    def append_attempts(self, attempts: Sequence[AuditEntry]) -> None:
        for each in attempts:
            self._tried += 1
            self._attempts.append(replace(each, keys=tuple(each.keys), number=self._tried))
        del self._attempts[:-MOST_ATTEMPTS]

    def attempts(self, after: int, limit: int = 1000) -> Sequence[AuditEntry]:
        return [each for each in self._attempts if each.number > after][:limit]

    def oldest(self) -> int:
        return self._journal[0].number if self._journal else 1

    def trim(self, *, before_time: int | None = None, keep_last: int | None = None, up_to: int | None = None) -> int:
        gone = 0 if keep_last is None else len(self._journal) - keep_last
        if before_time is not None:
            young = (place for place, each in enumerate(self._journal) if each.time >= before_time)
            gone = max(gone, next(young, len(self._journal)))
        if up_to is not None:
            gone = min(gone, up_to + 1 - self.oldest())
        gone = max(0, min(gone, len(self._journal) - 1))
        del self._journal[:gone]
        return gone

    def close(self) -> None:
        """Nothing to let go of."""
