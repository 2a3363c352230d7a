"""Sends changes to the cluster: with the gateway's principal, or as the author of each change.

Only changes with the same identity are merged into one request. Requests of several users run concurrently.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from kconf.client.admin_sync import SyncAdminClient
from kconf.client.calls.base import Call
from kconf.errors import RequestTimedOut
from kconf.model.plan import PendingCommit
from kconf.model.results import Results
from kconf.store.upstream.identities import Identities
from kconf.store.upstream.requests import TIMEOUT, SendResult, Transmit, send

if TYPE_CHECKING:
    from kconf.model.alteration import RequestedChange

_AT_ONCE: Final = 8  # users at the same time


class Sender:
    """Sends changes. If `identities` is None, everything is sent with the client's principal."""

    def __init__(self, client: SyncAdminClient, identities: Identities | None) -> None:
        self._client, self._identities = client, identities
        self._threads = ThreadPoolExecutor(_AT_ONCE, "kconf-upstream")  # started when needed

    def send(self, batch: Sequence[PendingCommit], *, validate_only: bool = False) -> SendResult:
        """Send changes, no two of them about the same resource. After the last deadline, nothing more is sent."""
        deadline = min(monotonic() + TIMEOUT, max(each.deadline for each in batch))
        parts: dict[str, list[Sequence[RequestedChange]]] = {}
        for pending in batch:
            user = "" if self._identities is None else pending.caller.principal
            parts.setdefault(user, []).append(pending.operations)
        sent = SendResult({}, set())
        for each in self._send_all(parts.items(), deadline, validate_only):
            sent.add(each)
        return sent

    def _send_all(
        self, parts: Iterable[tuple[str, Sequence[Sequence[RequestedChange]]]], deadline: float, validate_only: bool
    ) -> Iterable[SendResult]:
        def send_part(part: tuple[str, Sequence[Sequence[RequestedChange]]]) -> SendResult:
            return send(self._transmit(part[0], deadline), part[1], validate_only=validate_only)

        given = list(parts)
        return map(send_part, given) if len(given) == 1 else self._threads.map(send_part, given)

    def _transmit(self, user: str, deadline: float) -> Transmit:
        identities, own = self._identities, self._client

        def transmit(call: Call[Any, Any, Results[Any, Any]]) -> Results[Any, Any]:
            if identities is None or not user:
                return own._send(call, _remaining(deadline))
            return identities.call(user, lambda client: client._send(call, _remaining(deadline)))

        return transmit

    def close(self) -> None:
        self._threads.shutdown()


def _remaining(deadline: float) -> float:
    """The seconds until a deadline. Raises RequestTimedOut if it has passed."""
    remaining = deadline - monotonic()
    if remaining <= 0:
        error = RequestTimedOut("earlier requests took too long")
        error.sent = False
        raise error
    return remaining
