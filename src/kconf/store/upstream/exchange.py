"""Sends changes and waits until they are in the state, in a thread of its own.

Meanwhile the store's thread publishes what others change, so that a cluster that does not respond delays nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from logging import getLogger
from threading import Event
from typing import Final, NamedTuple

from kconf.client.admin_sync import SyncAdminClient
from kconf.client.calls.quorum import DescribeLogEnd
from kconf.errors import KconfError
from kconf.model.plan import PendingCommit
from kconf.store.upstream.authors.matching import ExpectedChanges
from kconf.store.upstream.requests import SendResult
from kconf.store.upstream.sender import Sender
from kconf.store.upstream.source import Shown, StateSource

log = getLogger(__name__)

_SEEN_WITHIN: Final = 10.0  # seconds for an acknowledged change to appear in the state
_LOG_END: Final = 5.0  # seconds


class Exchanged(NamedTuple):
    """The responses to a batch, its expected changes, and whether the state shows them."""

    sent: SendResult
    expected: ExpectedChanges
    shown: Shown


class Exchange:
    """One batch at a time. Called from the store's thread; `wake` from any thread."""

    def __init__(self, client: SyncAdminClient, sender: Sender, source: StateSource) -> None:
        self._client, self._sender, self._source = client, sender, source
        self._progress = Event()
        self._thread = ThreadPoolExecutor(1, "kconf-exchange")

    def wake(self) -> None:
        """The source has read something: publish it."""
        self._progress.set()

    def run(self, batch: Sequence[PendingCommit], publish: Callable[[], None]) -> Exchanged:
        """Send a batch. Calls `publish` whenever the source has read something, until the batch is finished."""
        finished = self._thread.submit(self._run, batch)
        finished.add_done_callback(lambda _: self.wake())
        try:
            while not finished.done():
                self._progress.wait()
                self._progress.clear()
                if not finished.done():
                    publish()
        finally:
            wait([finished])  # until then, its keys are in flight
        return finished.result()

    def _run(self, batch: Sequence[PendingCommit]) -> Exchanged:
        sent = self._sender.send(batch)
        expected = ExpectedChanges(batch, sent.refused.keys(), self._source.shown)
        shown = self._source.wait_for(expected, _SEEN_WITHIN)
        if not expected.are_certain:
            self._source.catch_up(self._log_end(), expected)
        return Exchanged(sent, expected, shown)

    def _log_end(self) -> int | None:
        """The end of the metadata log, or None if it is unknown."""
        try:
            return None if self._source.polling is not None else self._client._send(DescribeLogEnd(), _LOG_END)
        except KconfError as error:
            log.debug("cannot read the end of the metadata log: %s", error)
            return None

    def close(self) -> None:
        self._thread.shutdown()
