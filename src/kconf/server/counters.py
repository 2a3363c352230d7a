"""Counts since the start, as plain integers: counting must cost nothing on the way of a request.

To add a metric: a counter here, and its line in metrics.py. Connections and logins are counted in
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
        self.requests: dict[bytes, int] = {}  # by the first two bytes of the frame, the API key
        self.connections = 0
        self.failed_logins = 0
        self.failed_handshakes = 0  # of TLS; they count as failed logins too
        self.rejected_connections = 0  # beyond max.connections.per.ip
        self.invalid_requests = 0  # connections closed because of what they sent
        self.idle_connections = 0  # closed after connections.max.idle.ms
        self.fast_path = 0  # DescribeConfigs requests answered by the fast path
        self.failed_relays = 0  # connections closed since a broker behind a gateway was away
        self.failed_requests = 0  # handlers that raised an unexpected exception

    def count_request(self, frame: bytes) -> None:
        key = frame[:2]
        self.requests[key] = self.requests.get(key, 0) + 1

    def by_api(self) -> dict[str, int]:
        return {_name(int.from_bytes(key, "big")): count for key, count in self.requests.items()}


def _name(key: int) -> str:
    return APIS[key].name if key in APIS else OPAQUE[key]
