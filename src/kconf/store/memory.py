"""A store that forgets everything: for unit tests. It passes the same contract as the real ones."""

from __future__ import annotations

from collections.abc import Sequence
from secrets import token_bytes
from uuid import uuid4

from kconf.errors import JournalTrimmed, RevisionConflict
from kconf.model.journal import Revision, redacted
from kconf.model.plan import Draft
from kconf.model.snapshot import Snapshot, encode_id
from kconf.store.base import broken


class MemoryStore:
    url = "memory:"

    def __init__(self) -> None:
        self.cluster_id = encode_id(uuid4())
        self._snapshot = Snapshot.EMPTY
        self._journal: list[Revision] = []
        self._seal = token_bytes(32)

    def load(self) -> Snapshot:
        return self._snapshot

    def commit(self, batch: Sequence[Draft]) -> Sequence[Revision | RevisionConflict]:
        return [self._commit(draft) for draft in batch]

    def _commit(self, draft: Draft) -> Revision | RevisionConflict:
        moved = broken(draft.guards, self._snapshot.changed)
        if moved is not None:
            return RevisionConflict(f"{moved} has moved")
        if not draft.changes:
            return Revision(self._snapshot.revision, draft.time, draft.caller, ())
        number = self._snapshot.revision + 1
        self._snapshot = self._snapshot.apply(draft.changes, number)
        sealed = tuple(redacted(change, self._seal) for change in draft.changes)
        self._journal.append(Revision(number, draft.time, draft.caller, sealed))
        return Revision(number, draft.time, draft.caller, draft.changes)

    def changes(self, after: int, limit: int = 1000) -> Sequence[Revision]:
        oldest = self.oldest()
        if after + 1 < oldest and oldest > 1:
            raise JournalTrimmed(oldest)
        start = max(after + 1 - oldest, 0)
        return self._journal[start : start + limit]

    def oldest(self) -> int:
        return self._journal[0].number if self._journal else 1

    def trim(self, *, before_time: int | None = None, keep_last: int | None = None) -> int:
        gone = 0 if keep_last is None else len(self._journal) - keep_last
        if before_time is not None:
            young = (place for place, each in enumerate(self._journal) if each.time >= before_time)
            gone = max(gone, next(young, len(self._journal)))
        gone = max(0, min(gone, len(self._journal) - 1))
        del self._journal[:gone]
        return gone

    def close(self) -> None:
        """Nothing to let go of."""
