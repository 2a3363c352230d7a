"""Watches a kconf cluster with the SyncAdminClient: every change after a revision."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from kconf.client.calls.changes import ChangePage, FeedPosition, ListChanges
from kconf.client.retries import random_jitter
from kconf.errors import BrokerNotAvailable, ConnectionFailed, RequestTimedOut

if TYPE_CHECKING:
    from kconf.model.journal import Revision


class Watch:
    """`for revision in watch`. Reconnects if the connection is lost. No revision is skipped or repeated.

    Raises JournalTrimmed if the journal no longer contains the position, and errors that a retry cannot resolve.
    Entering `with` sets the start position if it is "from now on"; leaving it closes the connection. A watch does not
    block other calls of the client.
    """

    def __init__(
        self, position: FeedPosition, send: Callable[[ListChanges], ChangePage], close: Callable[[], None]
    ) -> None:
        self._position, self._send, self._close = position, send, close

    @property
    def after(self) -> int | None:
        """The revision from which to continue later, or None before the first response."""
        return self._position.after

    def __enter__(self) -> Self:
        if self._position.after is None:
            self._fetch(wait=False)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Revision:
        while not self._position.ready:
            self._fetch(wait=True)
        return self._position.pop()

    def _fetch(self, *, wait: bool) -> None:
        while True:
            try:
                self._position.receive(self._send(self._position.next_call(wait=wait)))
                return
            except (ConnectionFailed, RequestTimedOut, BrokerNotAvailable):
                time.sleep(self._position.backoff(random_jitter()))
