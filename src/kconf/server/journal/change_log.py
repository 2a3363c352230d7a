"""Logs committed changes at INFO: who changed which keys of which resource, never a value.

These messages are for readers of the server's log; the complete record is the journal. There is one message per
resource of a revision, with limits on rate and length. Suppressed messages are counted.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from logging import getLogger
from time import monotonic
from typing import Final

from kconf.model.journal import Change, ChangeKind, Revision
from kconf.model.resource import Resource
from kconf.util.rate_limited_log import RateLimitedLogger

log = getLogger(__name__)

PER_SECOND: Final = 50.0
BURST: Final = 200
MAX_NAME: Final = 255  # characters
MAX_KEYS: Final = 10
_CUT: Final = "…"


class ChangeLog:
    """Logs the commits of the service, as its subscriber."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._lines = RateLimitedLogger(log, logging.INFO, clock, per_second=PER_SECOND, burst=BURST)

    def on_commit(self, revisions: Sequence[Revision]) -> None:
        if not log.isEnabledFor(logging.INFO):
            return
        is_full = self._lines.is_exhausted  # leave out the rest of the batch too
        for revision in revisions:
            if is_full:
                changes = revision.changes
                self._lines.suppress(1 if len(changes) == 1 else len({change.resource for change in changes}))
            else:
                is_full = not self._log_revision(revision)

    def _log_revision(self, revision: Revision) -> bool:
        """Log one revision. Returns False if the rate limit was reached."""
        by_resource: dict[Resource, list[Change]] = {}
        for change in revision.changes:
            by_resource.setdefault(change.resource, []).append(change)
        for number, (resource, changes) in enumerate(by_resource.items(), 1):
            if not self._log(revision, resource, changes):
                self._lines.suppress(len(by_resource) - number)
                return False
        return True

    def _log(self, revision: Revision, resource: Resource, changes: Sequence[Change]) -> bool:
        def line() -> tuple[object, ...]:
            caller = revision.caller
            facts = revision.number, _short(str(resource)), _described(changes), _short(caller.principal), caller.host
            return ("changed revision=%d resource=%s %s principal=%s host=%s api=%s", *facts, caller.api)

        return self._lines.log_lazily(line)


def _described(changes: Sequence[Change]) -> str:
    """The keys of each operation: `set=retention.ms,segment.ms delete=flush.ms`."""
    by_word: dict[str, list[str]] = {}
    for each in changes:
        by_word.setdefault(each.op, []).append("topic" if each.kind is ChangeKind.TOPIC else each.key)
    return " ".join(f"{word}={_keys(keys)}" for word, keys in by_word.items())


def _keys(keys: Sequence[str]) -> str:
    more = len(keys) - MAX_KEYS
    shown = ",".join(map(_short, keys[:MAX_KEYS]))
    return f"{shown} and {more} more" if more > 0 else shown


def _short(text: str) -> str:
    return text if len(text) <= MAX_NAME else text[: MAX_NAME - 1] + _CUT
