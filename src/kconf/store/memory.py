"""A store in memory, for unit tests. It passes the same contract tests as the others."""

from __future__ import annotations

from collections.abc import Sequence
from secrets import token_bytes
from uuid import uuid4

from kconf.errors import RevisionConflict
from kconf.model.journal import Revision, redact_revision
from kconf.model.plan import PendingCommit
from kconf.model.snapshot import Snapshot, encode_id
from kconf.store.base import Backend, SingleServerMixin, find_conflict
from kconf.store.memory_journal import MemoryJournal


class MemoryStore(SingleServerMixin, MemoryJournal):
    """A store in memory, which is also its own journal reader."""

    url = "memory:"
    epoch = 1

    def __init__(self) -> None:
        super().__init__()
        self.elr_version: int | None = None
        self.cluster_id = encode_id(uuid4())
        self._snapshot = Snapshot.EMPTY
        self._store_key = token_bytes(32)

    @property
    def is_undecided(self) -> bool:
        return self.elr_version is None and self._snapshot.revision == 0

    def record_elr_version(self, level: int) -> None:
        self.elr_version = level

    def load(self) -> Snapshot:
        return self._snapshot

    def commit(self, batch: Sequence[PendingCommit]) -> Sequence[Revision | RevisionConflict]:
        return [self._commit(each) for each in batch]

    def _commit(self, pending: PendingCommit) -> Revision | RevisionConflict:
        conflict = find_conflict(pending.guards, self._snapshot.changed)
        if conflict is not None:
            return conflict
        if not pending.changes:
            return Revision(self._snapshot.revision, pending.time, pending.caller, ())
        number = self._snapshot.revision + 1
        self._snapshot = self._snapshot.apply(pending.changes, number)
        revision = Revision(number, pending.time, pending.caller, tuple(pending.changes))
        self.append(self.redact(revision))
        return revision

    def redact(self, revision: Revision) -> Revision:
        return redact_revision(revision, self._store_key)

    def journal_reader(self) -> MemoryJournal:
        return self


BACKEND = Backend(open=lambda _url, _secrets: MemoryStore())
