"""Where the state of a cluster comes from: its metadata log (log_thread.py), or polls of a broker (polling/poller.py).

Both hand out revisions in order, to be taken by the store's thread. What differs besides: a poller reads resources
again around a request about them, so that its own change is never taken for one made outside.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Protocol

from kconf.errors import StoreFailed
from kconf.model.journal import Change, Revision
from kconf.model.resource import Resource
from kconf.model.snapshot import Snapshot
from kconf.store.base import Polling, UnknownParts
from kconf.store.upstream.journal import Intent
from kconf.store.upstream.matching import ExpectedChanges


class StateSource(Protocol):
    on_change: Callable[[], None]

    @property
    def problem(self) -> StoreFailed | None: ...

    @property
    def imaged(self) -> int | None:
        """The position of the image with which it began; None: there was none, and the past is not known."""
        ...

    @property
    def is_current(self) -> bool:
        """Whether the state is that of the cluster."""
        ...

    @property
    def is_read(self) -> bool:
        """Whether everything that was changed until now, or until `polled`, can be taken."""
        ...

    @property
    def applied(self) -> int:
        """The position of the state: revisions with this number or a greater one are yet to be seen."""
        ...

    @property
    def polled(self) -> int:
        """When the last complete poll began, in milliseconds; 0: there was none."""
        ...

    @property
    def unknown(self) -> UnknownParts: ...

    @property
    def polling(self) -> Polling | None: ...

    def start(self) -> None:
        """Return when the state is that of the cluster. Raises what prevents it."""
        ...

    def take(self) -> list[Revision]:
        """What was changed since the last call."""
        ...

    def take_all(self) -> tuple[Snapshot, list[Revision]]:
        """The whole state, without the revisions of last changes, and what can be taken up to it."""
        ...

    def take_image(self) -> tuple[int, dict[str, Any], list[Revision]]:
        """The state as JSON with its position, and what can be taken up to it."""
        ...

    def begin_requests(self, resources: Collection[Resource]) -> None:
        """Requests about these resources are about to be sent. Raises KconfError if the cluster does not answer."""
        ...

    def end_requests(self, resources: Collection[Resource]) -> None:
        """Nothing more is expected of these requests."""
        ...

    def wait_for(self, expected: ExpectedChanges, timeout: float) -> bool:
        """Whether the revisions that can be taken have what is expected; waits as long as that may still come."""
        ...

    def shown(self, change: Change) -> str | None:
        """The value that the cluster shows after a change."""
        ...

    def unshown(self) -> str | None:
        """What to answer for changes that were acknowledged and not seen; None: that is no error."""
        ...

    def is_untouched(self, intent: Intent) -> bool:
        """Whether nothing that is shown may be due to a request that was not seen itself."""
        ...

    def close(self) -> None: ...
