"""A store that forgets everything: for unit tests. It passes the same contract as the real ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from secrets import token_bytes
from uuid import uuid4

from kconf.errors import RevisionConflict
from kconf.model.journal import Revision, redacted
from kconf.model.plan import Draft
from kconf.model.resource import Resource
from kconf.model.snapshot import Snapshot, encode_id


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
        sealed = [redacted(change, self._seal) for change in draft.changes]
        self._journal.append(Revision(number, draft.time, draft.caller, sealed))
        return Revision(number, draft.time, draft.caller, draft.changes)

    def changes(self, after: int, limit: int = 1000) -> Sequence[Revision]:
        return self._journal[max(after, 0) : max(after, 0) + limit]

    def close(self) -> None:
        """Nothing to let go of."""


def broken(guards: Mapping[Resource, int], changed: Mapping[Resource, int]) -> Resource | None:
    """The first resource whose last change is later than its guard says."""
    return next((resource for resource, seen in guards.items() if changed.get(resource, 0) > seen), None)
