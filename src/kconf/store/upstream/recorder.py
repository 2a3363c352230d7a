"""Writes what was read from the cluster to the journal, with the authors of the gateway's own changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from logging import ERROR, getLogger
from typing import Final

from kconf.errors import StoreError
from kconf.model.journal import Revision
from kconf.model.resource import Resource
from kconf.store.upstream.authors.intents import OpenIntents
from kconf.store.upstream.authors.matching import NO_CLAIMS, Claims
from kconf.store.upstream.authors.outcomes import without_rewrites
from kconf.store.upstream.journal import GatewayJournal, IntentOutcome
from kconf.util.rate_limited_log import RateLimitedLogger

_cannot_write: Final = RateLimitedLogger(getLogger(__name__), ERROR, per_second=0.1, burst=3)


class Recorder:
    """Used from the store's thread. `read_until` returns the time up to which the cluster was read, in milliseconds.

    `changed` has the last revision of each resource.
    """

    def __init__(self, journal: GatewayJournal, intents: OpenIntents, read_until: Callable[[], int]) -> None:
        self.intents = intents
        self.changed: dict[Resource, int] = {}
        self.outside_revisions = 0
        self._journal, self._read_until = journal, read_until
        self._recorded: list[Revision] = []

    def record(
        self,
        revisions: Sequence[Revision],
        outcomes: Mapping[int, IntentOutcome] | None = None,
        acknowledged: Claims = NO_CLAIMS,
        *,
        is_all: bool = False,
    ) -> list[Revision]:
        """Write revisions to the journal, and return what is new. `take` returns it too. Raises StoreError.

        `acknowledged` are the authors of changes to which the cluster has responded. `is_all`: everything up to now has
        been read.
        """
        revisions = self.intents.attribute(revisions, acknowledged)
        if self.intents:
            outcomes = {**(outcomes or {}), **self.intents.close(self._read_until(), is_log_read=is_all)}
        kept = without_rewrites(revisions)
        if not kept and not outcomes and not self._journal.is_behind:
            return []
        kept = self._journal.append(kept, outcomes)
        for revision in kept:
            for change in revision.changes:
                self.changed[change.resource] = revision.number
        self.outside_revisions += sum(each.origin != "kconf" for each in kept)
        self._recorded += kept
        return kept

    def try_record(self, revisions: Sequence[Revision]) -> None:
        """Record revisions of others. If that fails, they are written by a later call, and are not visible yet."""
        try:
            self.record(revisions)
        except StoreError as error:
            _cannot_write.log("cannot write the cluster's changes to the journal; they are not visible yet: %s", error)

    @property
    def has_recorded(self) -> bool:
        """Whether there is anything to take."""
        return bool(self._recorded)

    def take(self) -> list[Revision]:
        """The revisions that were recorded since the last call, to be published."""
        found, self._recorded = self._recorded, []
        return found
