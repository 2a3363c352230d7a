"""Changes of one session, between the form, the dry run and the result.

They are only in the server's memory, so that a value that may be secret is never sent back to the browser.
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
"""The maximum per session; the oldest is dropped."""


@dataclass(frozen=True)
class RiskNote:
    name: str
    why: str
    allowed: bool
    """Allowed by a rule of the policy, so the person need not accept it."""


@dataclass(frozen=True)
class DryRunRow:
    """A key of a resource. `before` and `after` are the values set on it, `old` and `new` the effective values.

    None if not set. Values have units; secrets are hidden.
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
    """The person is not authorized to describe the resource, so its values are unknown."""


@dataclass(frozen=True)
class ChangeReport:
    """The result of a dry run or of a change."""

    rows: Sequence[DryRunRow]
    warnings: Sequence[str] = ()
    planned: Sequence[object] = field(default=(), repr=False)
    """The plan, which is compared again before it is applied."""

    @property
    def failed(self) -> int:
        return sum(each.error is not None for each in self.rows)


@dataclass(frozen=True)
class PendingChange:
    """`result` is None until the change has been applied. `undo` restores the previous values that are known."""

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
        """Remove and return a change, so that it is not applied twice."""
        with self._lock:
            found = self._changes.get(change)
            if found is None or found.context != context:
                return None
            return self._changes.pop(change)


def new_id() -> str:
    return token_urlsafe(12)
