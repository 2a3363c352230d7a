"""What has happened since the start, as plain numbers: counting must cost nothing on the way of a request."""

from __future__ import annotations

from kconf.protocol.apis import APIS


class Counters:
    """Counters. Reading them is the metrics endpoint's business (metrics.py)."""

    __slots__ = (
        "connections",
        "failed_handshakes",
        "failed_logins",
        "failures",
        "idle",
        "quick",
        "refused",
        "requests",
        "turned_away",
    )

    def __init__(self) -> None:
        self.requests: dict[bytes, int] = {}  # by the first two bytes of the frame, the API's key
        self.connections = 0
        self.failed_logins = 0
        self.failed_handshakes = 0  # of TLS; they are failed logins too
        self.turned_away = 0  # connections beyond the limit of an address
        self.refused = 0  # connections closed for what they sent
        self.idle = 0  # connections closed for their silence
        self.quick = 0  # descriptions by the short way (quick.py)
        self.failures = 0  # requests that failed inside

    def count(self, frame: bytes) -> None:
        key = frame[:2]
        self.requests[key] = self.requests.get(key, 0) + 1

    def by_api(self) -> dict[str, int]:
        return {APIS[int.from_bytes(key, "big")].name: count for key, count in self.requests.items()}
