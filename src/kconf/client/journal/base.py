"""The parts of a client journal: where it is stored, and how one kind of call is recorded.

Recorders are generators without I/O, so that AdminClient and SyncAdminClient share them: they yield the calls to make
and are sent their results.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from kconf.client.calls.base import Call
from kconf.errors import ApiError
from kconf.model.journal import Change, RequestContext

T = TypeVar("T")

CallSequence = Generator[Call[Any, Any, Any], Any, T]
"""Yields the calls to make, and is sent their results."""

UNREADABLE = "unseen"
"""In place of a secret that is set and that no one can read. Its keyed hash reveals nothing."""


class PendingChange(NamedTuple):
    """A change that is about to be requested, and the item of the call that it belongs to."""

    item: Hashable
    change: Change


class RefusedChange(NamedTuple):
    """A change that was requested and not made."""

    change: Change
    failure: ApiError


class Journal(Protocol):
    """Where changes are recorded; files.py stores them in files."""

    @property
    def reason(self) -> str | None:
        """The reason of changes whose call gives none."""

    def begin(self, cluster: str, caller: RequestContext, changes: Sequence[Change], log_begin: int | None) -> Any:
        """Record what is about to be requested. Returns an entry for `end`.

        `log_begin` is the end of the cluster's metadata log before the request; None: unknown.
        """

    def answered(self, entry: Any) -> Any:
        """The same entry, with the time of the response, which is now."""

    def end(
        self,
        entry: Any,
        done: Sequence[Change],
        refused: Sequence[RefusedChange],
        unknown: Sequence[Change],
        log_end: int | None = None,
    ) -> None:
        """Record the outcome. `log_end` is the end of the metadata log after the response; None: unknown."""


class CallRecorder(Protocol):
    """How one kind of call is recorded."""

    def before(self) -> CallSequence[list[PendingChange]]:
        """What the call would change."""

    def after(self, done: Sequence[PendingChange], result: Any) -> CallSequence[list[Change]]:
        """What the call has changed, with what its result and the cluster show now."""


class PlannedChangesRecorder:
    """Base of recorders whose changes are fully known before the call."""

    def after(self, done: Sequence[PendingChange], result: Any) -> CallSequence[list[Change]]:
        yield from ()
        return [each.change for each in done]
