"""A watch for the SyncAdminClient: every change from a revision on, over a line of its own, as long as one likes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Self

from kconf.client.base import jitter
from kconf.client.calls.changes import FeedPosition
from kconf.errors import BrokerNotAvailable, ConnectionFailed, RequestTimedOut

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.model.journal import Revision


class Watch:
    """`for revision in watch`. A line that breaks is opened again; nothing is lost by that, nothing repeated.

    Raises JournalTrimmed where the journal no longer reaches back, and what no new try could mend. `with` fixes where
    "from now on" begins, and closes the line at the end. Other calls of the client do not wait for it.
    """

    def __init__(self, client: SyncAdminClient, progress: FeedPosition) -> None:
        self._client, self._progress = client, progress

    @property
    def after(self) -> int | None:
        """The revision to go on from, another time; None: nothing was asked yet."""
        return self._progress.after

    def __enter__(self) -> Self:
        if self._progress.after is None:
            self._ask(wait=False)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._client.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Revision:
        while not self._progress.ready:
            self._ask(wait=True)
        return self._progress.hand_out()

    def _ask(self, *, wait: bool) -> None:
        while True:
            try:
                self._progress.take(self._client._send(self._progress.ask(wait=wait)))
                return
            except (ConnectionFailed, RequestTimedOut, BrokerNotAvailable):
                time.sleep(self._progress.pause(jitter()))
