"""Counters since the start, as plain integers, since they are incremented on the hot path.

To add a metric, add a counter here and export it in metrics.py. Connections and logins are counted in
network/connection_registry.py, requests in api/router.py.
"""

from __future__ import annotations

from kconf.protocol.apis import APIS, OPAQUE


class Counters:
    """Incremented by the event loop's thread only; metrics.py reads them."""

    __slots__ = (
        "connections",
        "failed_handshakes",
        "failed_logins",
        "failed_relays",
        "failed_requests",
        "fast_path",
        "idle_connections",
        "invalid_requests",
        "rejected_connections",
        "requests",
    )

    def __init__(self) -> None:
        self.requests: dict[bytes, int] = {}  # by API key: the first two bytes of the frame
        self.connections = 0
        self.failed_logins = 0
        self.failed_handshakes = 0  # TLS handshakes; also counted as failed logins
        self.rejected_connections = 0  # connections refused because of a limit
        self.invalid_requests = 0  # connections closed because of an invalid request
        self.idle_connections = 0  # connections closed after connections.max.idle.ms
        self.fast_path = 0  # DescribeConfigs requests answered by the fast path
        self.failed_relays = 0  # connections closed because a broker behind a gateway was unavailable
        self.failed_requests = 0  # handlers that raised an unexpected exception

    def count_request(self, frame: bytes) -> None:
        key = frame[:2]
        self.requests[key] = self.requests.get(key, 0) + 1

    def by_api(self) -> dict[str, int]:
        return {_name(int.from_bytes(key, "big")): count for key, count in self.requests.items()}


def _name(key: int) -> str:
    return APIS[key].name if key in APIS else OPAQUE[key]
