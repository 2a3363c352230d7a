"""Intents: requests whose outcome is unknown, because the gateway crashed or got no response.

They are compared with the metadata log and never sent again. A request may still arrive for a while, so an intent that
is not in the log stays open until then. A record belongs to the request if it is the only one with that change, and if
it was committed within the time that a request can take. The same change at a later time was made by another client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from logging import getLogger
from typing import Final

from kconf.client.kraft.revisions import SNAPSHOT_ORIGIN
from kconf.model.journal import Change, Revision
from kconf.model.log_matching import CLOCK_SKEW, LONGEST_CALL
from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource
from kconf.store.upstream.authors.matching import ExpectedChanges, requested_value
from kconf.store.upstream.journal import Intent, IntentOutcome

log = getLogger(__name__)

_OURS_WITHIN: Final = LONGEST_CALL + CLOCK_SKEW
ARRIVES_WITHIN: Final = 2 * LONGEST_CALL
"""Milliseconds after which a request without a response is no longer executed. Brokers retry for a minute."""


class _OpenIntent:
    """An open intent, with the later records that match it."""

    def __init__(self, intent: Intent, shown: Callable[[Change], str | None]) -> None:
        self.intent = intent
        self.is_after_gap = False
        self._shown = shown
        self._expected = ExpectedChanges([_pending(intent)], shown=shown)
        self._names = {change.resource for change in intent.planned.changes}
        self._keys = {(each.kind, each.resource, each.key) for each in intent.planned.changes}
        self._seen: list[Revision] = []

    def add(self, revisions: Sequence[Revision]) -> dict[int, Revision]:
        """The revisions that belong to this intent, by number, with their author added."""
        known = {each.number for each in self._seen}
        later = [each for each in revisions if each.number >= self.intent.sent_after and each.number not in known]
        self.is_after_gap |= any(each.origin == SNAPSHOT_ORIGIN for each in later)
        self._seen += [each for each in later if any(map(self._is_about, each.changes))]
        if self.is_after_gap:
            return {}
        in_time = self._in_time()
        found, _ = self._expected.attribute(in_time)
        return {
            each.number: each
            for was, each in zip(in_time, found, strict=True)
            if each is not was and each.number not in known
        }

    def _in_time(self) -> list[Revision]:
        """The matching revisions that were committed in time. A polled change may be as old as the previous poll."""
        last = self.intent.planned.time + _OURS_WITHIN
        return [each for each in self._seen if (each.not_before or each.time) <= last]

    def _is_about(self, change: Change) -> bool:
        return (change.kind, change.resource, change.key) in self._keys

    def outcome(self, now: int, is_untouched: Callable[[Intent], bool]) -> IntentOutcome | None:
        """The outcome, or None if the request may still arrive."""
        if self.is_after_gap:
            return IntentOutcome.UNKNOWN
        done = self._done(self._in_time())
        if self._names <= done:
            return IntentOutcome.DONE if self._is_current() else IntentOutcome.SUPERSEDED
        if now < self.intent.planned.time + ARRIVES_WITHIN:
            return None
        is_seen = done or self._done(self._seen)
        return IntentOutcome.UNKNOWN if is_seen or not is_untouched(self.intent) else IntentOutcome.NOT_DONE

    def _done(self, revisions: Sequence[Revision]) -> set[Resource]:
        return self._expected.attribute(revisions)[1]

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

    def add(self, intents: Iterable[Intent], known: Sequence[Revision] = (), *, is_after_gap: bool = False) -> None:
        """Add open intents. `known` are later revisions that are already in the journal."""
        for each in intents:
            added = _OpenIntent(each, self._shown)
            added.add(known)
            added.is_after_gap |= is_after_gap
            self._open.append(added)

    def attribute(self, revisions: Sequence[Revision]) -> list[Revision]:
        """The new revisions. Those of open intents get their author."""
        found = {each.number: each for each in revisions}
        for each in self._open:
            found.update(each.add(list(found.values())))
        return list(found.values())

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
