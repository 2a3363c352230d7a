"""Sends changes to the cluster: with the gateway's principal, or as the author of each change.

Only changes with the same identity are merged into one request. Requests of several users run concurrently.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from kconf.client.admin_sync import SyncAdminClient
from kconf.client.calls.base import Call
from kconf.model.plan import PendingCommit
from kconf.model.results import Results
from kconf.store.upstream.identities import Identities
from kconf.store.upstream.requests import TIMEOUT, SendResult, Transmit, send, transmit

if TYPE_CHECKING:
    from kconf.model.alteration import RequestedChange

_AT_ONCE: Final = 8  # users at the same time


class Sender:
    """Sends changes. If `identities` is None, everything is sent with the client's principal."""

    def __init__(self, client: SyncAdminClient, identities: Identities | None) -> None:
        self._own, self._identities = transmit(client), identities
        self._threads = ThreadPoolExecutor(_AT_ONCE, "kconf-upstream")  # started when needed

    def send(self, batch: Sequence[PendingCommit], *, validate_only: bool = False) -> SendResult:
        """Send changes, no two of them about the same resource."""
        parts: dict[str, list[Sequence[RequestedChange]]] = {}
        for pending in batch:
            user = "" if self._identities is None else pending.caller.principal
            parts.setdefault(user, []).append(pending.operations)
        sent = SendResult({}, set())
        for each in self._send_all(parts.items(), validate_only):
            sent.add(each)
        return sent

    def _send_all(
        self, parts: Iterable[tuple[str, Sequence[Sequence[RequestedChange]]]], validate_only: bool
    ) -> Iterable[SendResult]:
        def send_part(part: tuple[str, Sequence[Sequence[RequestedChange]]]) -> SendResult:
            return send(self._transmit(part[0]), part[1], validate_only=validate_only)

        given = list(parts)
        return map(send_part, given) if len(given) == 1 else self._threads.map(send_part, given)

    def _transmit(self, user: str) -> Transmit:
        identities = self._identities
        if identities is None or not user:
            return self._own

        def as_user(call: Call[Any, Any, Results[Any, Any]]) -> Results[Any, Any]:
            return identities.call(user, lambda client: client._send(call, TIMEOUT))

        return as_user

    def close(self) -> None:
        self._threads.shutdown()
