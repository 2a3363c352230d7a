"""Changes of one session, between the form, the dry run and the result.

They are in the server's memory only, so that a value that may be a secret is never sent back to the browser.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from secrets import token_urlsafe
from threading import Lock
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kconf.operations.configs import Assignments

MOST_CHANGES: Final = 20
"""Per session; the oldest is forgotten."""


@dataclass(frozen=True)
class RiskNote:
    name: str
    why: str
    allowed: bool
    """By a rule of the policy: it needs no consent."""


@dataclass(frozen=True)
class ChangeRow:
    """A key of a resource. `before` and `after` are what is set there, `old` and `new` what is in effect.

    None: not set. Values have units; a secret is hidden.
    """

    resource: str
    path: str
    key: str
    op: str
    before: str | None
    after: str | None
    old: str | None
    new: str | None
    status: str
    error: str | None
    risks: Sequence[RiskNote] = ()
    is_unknown: bool = False
    """The resource may not be described, so what it has is unknown."""


@dataclass(frozen=True)
class ChangeReport:
    """What a dry run found, or what became of the changes."""

    rows: Sequence[ChangeRow]
    warnings: Sequence[str] = ()
    planned: Sequence[object] = field(default=(), repr=False)
    """What was planned, to be compared when it is applied."""

    @property
    def failed(self) -> int:
        return sum(each.error is not None for each in self.rows)


@dataclass(frozen=True)
class PendingChange:
    """`result` is None until it was applied. `undo` restores what was there, as far as that is known."""

    id: str
    context: str
    assignments: Assignments = field(repr=False)
    dry_run: ChangeReport
    result: ChangeReport | None = None
    reason: str = ""
    undo: Assignments | None = field(default=None, repr=False)
    undoes: str | None = None


class PendingChanges:
    """The changes of a session. May be used from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._changes: OrderedDict[str, PendingChange] = OrderedDict()

    def put(self, change: PendingChange) -> None:
        with self._lock:
            self._changes[change.id] = change
            self._changes.move_to_end(change.id)
            while len(self._changes) > MOST_CHANGES:
                self._changes.popitem(last=False)

    def find(self, context: str, change: str) -> PendingChange | None:
        with self._lock:
            found = self._changes.get(change)
        return found if found is not None and found.context == context else None

    def take(self, context: str, change: str) -> PendingChange | None:
        """Remove it: nothing is applied twice."""
        with self._lock:
            found = self._changes.get(change)
            if found is None or found.context != context:
                return None
            return self._changes.pop(change)


def new_id() -> str:
    return token_urlsafe(12)
