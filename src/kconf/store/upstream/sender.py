"""Sends changes to the cluster: with the gateway's principal, or as the author of each change.

Only changes with the same identity are merged into one request. Requests of several users run concurrently.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from kconf.client.admin_sync import SyncAdminClient
from kconf.client.calls.base import Call
from kconf.client.settings import ClientSettings
from kconf.model.plan import PendingCommit, Refusals
from kconf.model.results import Results
from kconf.store.upstream.deadline import remaining
from kconf.store.upstream.identities import Identities
from kconf.store.upstream.requests import TIMEOUT, SendResult, Transmit, send

if TYPE_CHECKING:
    from kconf.model.alteration import RequestedChange

_AT_ONCE: Final = 8  # users at the same time
_LONGEST_THROTTLE: Final = 2.0
"""Seconds for which changes of others wait because a user has exceeded a quota of the cluster. `request_percentage`
throttles for a second at most."""


class Sender:
    """Sends changes. If `identities` is None, everything is sent with the client's principal."""

    def __init__(self, client: SyncAdminClient, identities: Identities | None) -> None:
        self._client, self._identities = client, identities
        self._threads = ThreadPoolExecutor(_AT_ONCE, "kconf-upstream")  # started when needed

    def send(self, batch: Sequence[PendingCommit]) -> SendResult:
        """Send changes, no two of them about the same resource. After the last deadline, nothing more is sent."""
        deadline = min(monotonic() + TIMEOUT, max(each.deadline for each in batch))
        parts: dict[str, list[Sequence[RequestedChange]]] = {}
        for pending in batch:
            user = "" if self._identities is None else pending.caller.principal
            parts.setdefault(user, []).append(pending.operations)
        sent = SendResult({}, set())
        for each in self._send_all(parts.items(), deadline):
            sent.add(each)
        return sent

    def _send_all(
        self, parts: Iterable[tuple[str, Sequence[Sequence[RequestedChange]]]], deadline: float
    ) -> Iterable[SendResult]:
        def send_part(part: tuple[str, Sequence[Sequence[RequestedChange]]]) -> SendResult:
            return send(self._transmit(part[0], deadline), part[1])

        given = list(parts)
        return map(send_part, given) if len(given) == 1 else self._threads.map(send_part, given)

    def _transmit(self, user: str, deadline: float) -> Transmit:
        identities, own = self._identities, self._client

        def transmit(call: Call[Any, Any, Results[Any, Any]]) -> Results[Any, Any]:
            if identities is None or not user:
                return own._send(call, remaining(deadline))
            call.longest_throttle = _LONGEST_THROTTLE
            return identities.call(user, lambda client: client._send(call, remaining(deadline)), deadline=deadline)

        return transmit

    def close(self) -> None:
        self._threads.shutdown()


class DryRunSender:
    """Validates changes with the cluster. Thread-safe.

    Its connections are not those of changes, which would wait for its responses otherwise.
    """

    def __init__(self, settings: ClientSettings, identities: Identities | None) -> None:
        self._settings, self._identities = settings, identities
        self._lock = Lock()
        self._is_closed = False
        self._idle: list[SyncAdminClient] = []  # one for each call that was in progress at the same time

    def validate(self, pending: PendingCommit) -> Refusals:
        deadline = min(monotonic() + TIMEOUT, pending.deadline)

        def transmit(call: Call[Any, Any, Results[Any, Any]]) -> Results[Any, Any]:
            principal = pending.caller.principal
            if self._identities is None or not principal:
                return self._send(call, deadline)
            call.longest_throttle = _LONGEST_THROTTLE
            return self._identities.call(
                principal,
                lambda client: client._send(call, remaining(deadline)),
                validates=True,
                deadline=deadline,
            )

        return send(transmit, [pending.operations], validate_only=True).refused

    def _send(self, call: Call[Any, Any, Results[Any, Any]], deadline: float) -> Results[Any, Any]:
        try:
            client = self._idle.pop()
        except IndexError:
            client = SyncAdminClient._from_settings(self._settings)
        try:
            return client._send(call, remaining(deadline))
        finally:
            self._release(client)

    def _release(self, client: SyncAdminClient) -> None:
        with self._lock:
            if not self._is_closed:
                self._idle.append(client)
                return
        client.close()

    def close(self) -> None:
        """Close the idle clients now, and those in use after their calls."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for each in idle:
            each.close()
