"""Reads the brokers of a gateway's cluster in a thread of its own, so that brokers that do not respond delay nothing.

They are read on request, and every second while none of them responds or they cannot be checked. Then changes are
refused at once. The state is still followed, if it comes from the controllers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from logging import ERROR, getLogger
from threading import Event, Thread
from typing import Final

from kconf.client.admin_sync import SyncAdminClient
from kconf.errors import KconfError
from kconf.model.resource import ResourceType
from kconf.store.upstream.brokers import UpstreamBrokers
from kconf.store.upstream.polling.reading import is_unreachable
from kconf.util.rate_limited_log import RateLimitedLogger

log = getLogger(__name__)
_unexpected: Final = RateLimitedLogger(log, ERROR, per_second=0.1, burst=3)

_TIMEOUT: Final = 5.0  # seconds for a request
_RETRY: Final = 1.0  # seconds
_CLOSE: Final = 30.0  # seconds
_FAILED: Final = "the brokers cannot be checked because of an internal error; see the log"


class BrokerWatch:
    """`hidden` returns the keys whose definitions are needed. `on_change` is called if anything has changed.

    `client` and `brokers` are used only here from `start` on.
    """

    def __init__(
        self,
        client: SyncAdminClient,
        brokers: UpstreamBrokers,
        hidden: Callable[[], Collection[tuple[ResourceType, str]]],
        on_change: Callable[[], None],
    ) -> None:
        self._client, self._brokers, self._hidden, self._on_change = client, brokers, hidden, on_change
        self._lost: str | None = None
        self._failed: str | None = None  # set while they cannot be checked
        self._wake, self._closed = Event(), Event()
        self._thread = Thread(target=self._run, name="kconf-brokers", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def check(self) -> None:
        """Read the brokers now."""
        self._wake.set()

    @property
    def problem(self) -> str | None:
        """Why nothing can be sent to the brokers, or None."""
        return self._brokers.problem or self._lost or self._failed

    def _run(self) -> None:
        while not self._closed.is_set():
            self._wake.wait(_RETRY if self._lost or self._failed else None)
            self._wake.clear()
            if not self._closed.is_set():
                self._step()

    def _step(self) -> None:
        before = self.problem, self._brokers.static, self._brokers.release, self._brokers.keys
        try:
            self._check()
            self._failed = None
        except Exception:  # otherwise nobody would notice that the brokers are lost
            _unexpected.exception("changes are refused: %s", _FAILED)
            self._failed = _FAILED
        if before != (self.problem, self._brokers.static, self._brokers.release, self._brokers.keys):
            self._on_change()

    def _check(self) -> None:
        try:
            self._client.describe_cluster(timeout=_TIMEOUT)
        except KconfError as error:
            self._found(f"no broker of the cluster responds: {error}" if is_unreachable(error) else None)
        else:
            self._found(None)
            self._read()

    def _read(self) -> None:
        try:
            self._brokers.read(_TIMEOUT)
            self._brokers.learn_keys(self._hidden(), _TIMEOUT)
        except KconfError as error:
            log.debug("cannot read the brokers: %s", error)

    def _found(self, lost: str | None) -> None:
        if lost is not None and self._lost is None:
            log.error("changes are refused: %s", lost)
        if lost is None and self._lost is not None:
            log.warning("the brokers of the cluster respond again")
        self._lost = lost

    def close(self) -> None:
        self._closed.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(_CLOSE)
