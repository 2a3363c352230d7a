"""Intents: requests whose outcome is unknown, because the gateway crashed or got no response.

They are compared with the metadata log and never sent again. A request may still arrive for a while, so an intent that
is not in the log stays open until then. A record belongs to the request if it is the only one with that change, and if
it was committed within the time that a request can take, and no other request of this gateway can have made it. The
same change at a later time was made by another client. The author of a secret is unknown, since secrets are not stored.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from logging import getLogger
from typing import Final

from kconf.client.kraft.revisions import SNAPSHOT_ORIGIN
from kconf.model.journal import Change, ChangeKind, RequestContext, Revision
from kconf.model.log_matching import CLOCK_SKEW, LONGEST_CALL
from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource
from kconf.store.upstream.authors.matching import (
    ORIGIN,
    Claims,
    ExpectedChanges,
    has_same_shape,
    requested_value,
    with_authors,
)
from kconf.store.upstream.journal import Intent, IntentOutcome

log = getLogger(__name__)

_OURS_WITHIN: Final = LONGEST_CALL + CLOCK_SKEW
ARRIVES_WITHIN: Final = 2 * LONGEST_CALL
"""Milliseconds after which a request without a response is no longer executed. Brokers retry for a minute."""


class _OpenIntent:
    """An open intent, with the later records that match it."""

    def __init__(self, intent: Intent, shown: Callable[[Change], str | None], *, is_acknowledged: bool) -> None:
        self.intent = intent
        self.is_after_gap = False
        self._is_acknowledged = is_acknowledged
        self._shown = shown
        self._expected = ExpectedChanges([_pending(intent)], shown=shown)
        self._names = {change.resource for change in intent.planned.changes}
        self._keys = {(each.kind, each.resource, each.key) for each in intent.planned.changes}
        self._has_secrets = any(each.sensitive for each in intent.planned.changes)
        self._seen: list[Revision] = []
        self._contested: set[int] = set()

    def add(self, revisions: Sequence[Revision]) -> set[int]:
        """Add new revisions. Returns the numbers of those that this request may have made, and no other client."""
        known = {each.number for each in self._seen}
        later = [each for each in revisions if each.number >= self.intent.sent_after and each.number not in known]
        self.is_after_gap |= any(each.origin == SNAPSHOT_ORIGIN for each in later)
        self._seen += [each for each in later if any(map(self._is_about, each.changes))]
        self._contested |= {each.number for each in later if each.origin == ORIGIN and each.caller != self._caller}
        if self.is_after_gap:
            return set()
        claims, _ = self._expected.claims(self._in_time())
        return {each.number for each in later if each.number in claims and all(map(self._is_comparable, each.changes))}

    def contest(self, numbers: Collection[int]) -> None:
        """Other requests may have made these revisions too."""
        self._contested.update(numbers)

    @property
    def _caller(self) -> RequestContext:
        return self.intent.planned.caller

    def _is_comparable(self, change: Change) -> bool:
        if change.kind is ChangeKind.TOPIC:
            return any(each.kind is ChangeKind.TOPIC and has_same_shape(change, each) for each in self._planned(change))
        return not change.sensitive

    def _planned(self, change: Change) -> list[Change]:
        return [each for each in self.intent.planned.changes if each.resource == change.resource]

    def _in_time(self) -> list[Revision]:
        """The revisions that this request may have made. A polled change may be as old as the previous poll."""
        last = self.intent.planned.time + _OURS_WITHIN
        return [
            each for each in self._seen if (each.not_before or each.time) <= last and each.number not in self._contested
        ]

    def _is_about(self, change: Change) -> bool:
        return (change.kind, change.resource, change.key) in self._keys

    def outcome(self, now: int, is_untouched: Callable[[Intent], bool]) -> IntentOutcome | None:
        """The outcome, or None if the request may still arrive."""
        if self.is_after_gap:
            return IntentOutcome.UNKNOWN
        done = self._done(self._in_time())
        if self._names <= done and not self._has_secrets:
            return IntentOutcome.DONE if self._is_current() else IntentOutcome.SUPERSEDED
        if now < self.intent.planned.time + ARRIVES_WITHIN:
            return None
        is_possible = self._is_acknowledged or done or self._done(self._seen)
        return IntentOutcome.UNKNOWN if is_possible or not is_untouched(self.intent) else IntentOutcome.NOT_DONE

    def _done(self, revisions: Sequence[Revision]) -> set[Resource]:
        return self._expected.claims(revisions)[1]

    def _is_current(self) -> bool:
        last = {(one.resource, one.key): one.after for each in self._seen for one in each.changes}
        return all(
            one.sensitive or last.get((one.resource, one.key)) == self._shown(one)
            for one in self.intent.planned.changes
            if one.kind == "config"
        )


class OpenIntents:
    """Used from the store's thread.

    `shown` returns the value that the cluster shows after a change. `is_untouched` returns whether the cluster shows no
    effect of a request.
    """

    def __init__(
        self,
        shown: Callable[[Change], str | None] = requested_value,
        is_untouched: Callable[[Intent], bool] = lambda _: True,
    ) -> None:
        self._shown, self._is_untouched = shown, is_untouched
        self._open: list[_OpenIntent] = []

    def __bool__(self) -> bool:
        return bool(self._open)

    def add(
        self,
        intents: Iterable[Intent],
        known: Sequence[Revision] = (),
        *,
        is_after_gap: bool = False,
        is_acknowledged: bool = False,
    ) -> None:
        """Add open intents. `known` are later revisions that are already in the journal.

        `is_acknowledged`: the cluster has made the change, but it was not read yet.
        """
        for each in intents:
            added = _OpenIntent(each, self._shown, is_acknowledged=is_acknowledged)
            added.add(known)
            added.is_after_gap |= is_after_gap
            self._open.append(added)

    def attribute(self, revisions: Sequence[Revision], acknowledged: Claims) -> list[Revision]:
        """Add the authors to new revisions: those of `acknowledged` changes, and of open intents.

        If several requests of different authors may have made a change, its author is unknown.
        """
        claims = {number: [caller] for number, caller in acknowledged.items()}
        for each in self._open:
            for number in each.add(revisions):
                claims.setdefault(number, []).append(each.intent.planned.caller)
        for each in self._open:
            each.contest({number for number, callers in claims.items() if len(callers) > 1})
        authors = {
            number: callers[0]
            for number, callers in claims.items()
            if len({(each.principal, each.reason) for each in callers}) == 1
        }
        return with_authors(revisions, authors)

    def close(self, now: int, *, is_log_read: bool) -> dict[int, IntentOutcome]:
        """Close the intents whose outcome is known. `is_log_read`: the log has been read up to now."""
        closed: dict[int, IntentOutcome] = {}
        for each in self._open:
            outcome = each.outcome(now if is_log_read else 0, self._is_untouched)
            if outcome is not None:
                closed[each.intent.id] = outcome
                log.warning(
                    "found the outcome of an interrupted request principal=%s outcome=%s",
                    each.intent.planned.caller.principal,
                    outcome,
                )
        self._open = [each for each in self._open if each.intent.id not in closed]
        return closed


def _pending(intent: Intent) -> PendingCommit:
    return PendingCommit(intent.planned.caller, intent.planned.time, intent.planned.changes, {})
