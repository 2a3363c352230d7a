"""The source of a cluster's state: the metadata log (following/log_thread.py) or polls (polling/poller.py).

Both provide revisions in order for the store's thread. A poller also reads resources before and after a request about
them, so that the gateway's own change is not taken for one by another client.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import Enum, auto
from logging import ERROR, getLogger
from typing import Any, Final, Protocol

from kconf.errors import StoreFailed, StoreUnavailable
from kconf.model.journal import Change, Revision
from kconf.model.resource import Resource, ResourceType
from kconf.model.snapshot import Snapshot
from kconf.store.base import Polling, UnknownParts
from kconf.store.upstream.authors.in_flight import NOTHING_IN_FLIGHT, KeysInFlight
from kconf.store.upstream.authors.matching import ExpectedChanges
from kconf.store.upstream.journal import Intent
from kconf.util.rate_limited_log import RateLimitedLogger

_unexpected: Final = RateLimitedLogger(getLogger(__name__), ERROR, per_second=0.1, burst=3)

CANNOT_READ: Final = "this gateway cannot read the state of the cluster now"


def unexpected(error: Exception) -> StoreUnavailable:
    """The reason why the state is stale after an exception that nothing expects. Its traceback is logged."""
    _unexpected.exception("reading the state of the cluster failed unexpectedly; trying again")
    return StoreUnavailable(f"internal error, {type(error).__name__}; see the log")


class Shown(Enum):
    """Whether the state shows acknowledged changes."""

    SHOWN = auto()
    DIFFERENT = auto()  # the state is newer than the response, and does not show them
    UNREAD = auto()  # the state was not read since the response


class StateSource(Protocol):
    on_change: Callable[[], None]

    @property
    def problem(self) -> StoreFailed | None: ...

    @property
    def imaged(self) -> int | None:
        """The position of the image from which it started, or None if there was none."""
        ...

    @property
    def stale_reason(self) -> str | None:
        """Why the state may be out of date or wrong, or None."""
        ...

    @property
    def is_certain(self) -> bool:
        """Whether everything that was read could be interpreted. Otherwise the state is not saved."""
        ...

    @property
    def is_read(self) -> bool:
        """Whether all changes up to now, or up to `polled`, have been read."""
        ...

    @property
    def applied(self) -> int:
        """The position of the state. Revisions with this number or a higher one are not read yet."""
        ...

    @property
    def polled(self) -> int:
        """The start time of the last complete poll in milliseconds, or 0."""
        ...

    @property
    def hidden(self) -> Collection[tuple[ResourceType, str]]:
        """The keys whose values in the state were not stored."""
        ...

    @property
    def unknown(self) -> UnknownParts: ...

    @property
    def polling(self) -> Polling | None: ...

    def start(self) -> None:
        """Start, and return when the state has been read. Raises an error if that fails."""
        ...

    def take(self, held: KeysInFlight = NOTHING_IN_FLIGHT) -> list[Revision]:
        """The changes since the last call, up to the first one that a request in flight may have made."""
        ...

    def take_all(self) -> tuple[Snapshot, list[Revision]]:
        """The whole state, without the last revision of each resource, and the revisions up to it that were not taken
        yet.
        """
        ...

    def take_image(self) -> tuple[int, dict[str, Any], list[Revision]]:
        """The state as JSON with its position, and the revisions up to it that were not taken yet."""
        ...

    def refresh(self, resources: Collection[Resource]) -> None:
        """Read these resources now, if they are otherwise read at intervals. If that fails, the state is stale."""
        ...

    def begin_requests(self, keys: KeysInFlight) -> None:
        """Requests about these keys are about to be sent. Raises KconfError if the cluster does not respond."""
        ...

    def end_requests(self) -> None:
        """No request is in flight anymore."""
        ...

    def wait_for(self, expected: ExpectedChanges, timeout: float) -> Shown:
        """Wait for the expected changes."""
        ...

    def catch_up(self, end: int | None, expected: ExpectedChanges) -> None:
        """Read the changes of requests that were expected to change nothing. `end` is the end of the log, if known."""
        ...

    def shown(self, change: Change) -> str | None:
        """The value that the cluster shows after a change."""
        ...

    def unshown(self, shown: Shown) -> str | None:
        """The error message for acknowledged changes that the state does not show, or None if that is not an error."""
        ...

    def is_untouched(self, intent: Intent) -> bool:
        """Whether the state shows no effect of a request."""
        ...

    def close(self) -> None: ...
