"""The interfaces of a client journal: where it is stored, and how a kind of call is recorded.

Recorders are generators without I/O, so that AdminClient and SyncAdminClient share them: they yield the calls to
execute and receive their results.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from kconf.client.calls.base import Call
from kconf.errors import ApiError
from kconf.model.journal import Change, RequestContext

T = TypeVar("T")

CallSequence = Generator[Call[Any, Any, Any], Any, T]
"""Yields the calls to execute, and receives their results."""

UNREADABLE = "unseen"
"""The placeholder of a secret that is set but cannot be read. Its keyed hash reveals nothing."""


class ItemChange(NamedTuple):
    """A change that is about to be requested, and the item of the call that it belongs to."""

    item: Hashable
    change: Change


class RefusedChange(NamedTuple):
    """A change that was requested but not made."""

    change: Change
    failure: ApiError


class Journal(Protocol):
    """Records changes. files.py stores them in files."""

    @property
    def reason(self) -> str | None:
        """The reason for changes whose call has none."""

    def begin(self, cluster: str, caller: RequestContext, changes: Sequence[Change], log_begin: int | None) -> Any:
        """Record the changes that are about to be requested. Returns an entry for `end`.

        `log_begin` is the end of the cluster's metadata log before the request, or None if unknown.
        """

    def answered(self, entry: Any) -> Any:
        """The entry with the current time as the time of the response."""

    def end(
        self,
        entry: Any,
        done: Sequence[Change],
        refused: Sequence[RefusedChange],
        unknown: Sequence[Change],
        log_end: int | None = None,
    ) -> None:
        """Record the outcome. `log_end` is the end of the metadata log after the response, or None if unknown."""


class CallRecorder(Protocol):
    """Records one kind of call."""

    def before(self) -> CallSequence[list[ItemChange]]:
        """The changes that the call would make."""

    def after(self, done: Sequence[ItemChange], result: Any) -> CallSequence[list[Change]]:
        """The changes that the call made, completed from its result and the cluster."""


class PlannedChangesRecorder:
    """Base class of recorders whose changes are fully known before the call."""

    def after(self, done: Sequence[ItemChange], result: Any) -> CallSequence[list[Change]]:
        yield from ()
        return [each.change for each in done]
