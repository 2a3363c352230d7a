"""What is known of one connection: who is at the other end, and what its requests share."""

from __future__ import annotations

from collections.abc import Callable

from kconf.model.acl import Authorize, allow_all

ANONYMOUS = "User:ANONYMOUS"


class LongPollTimer:
    """Ends a connection's long poll early: when the client has gone, or has sent another request."""

    __slots__ = ("is_over", "wake")

    def __init__(self) -> None:
        self.is_over = False
        self.wake: Callable[[], None] | None = None  # set while a long poll waits

    def renew(self) -> None:
        self.is_over = False

    def end(self) -> None:
        self.is_over = True
        if self.wake is not None:
            self.wake()


class ConnectionContext:
    """One connection, as far as authentication and the handlers of requests are concerned."""

    __slots__ = (
        "advertised_host",
        "advertised_port",
        "authorize",
        "host",
        "listener",
        "long_poll",
        "mute_ms",
        "principal",
    )

    def __init__(self, host: str, advertised_host: str, advertised_port: int, listener: str = "PLAINTEXT") -> None:
        self.principal = ANONYMOUS
        self.authorize: Authorize = allow_all
        self.host = host
        self.advertised_host = advertised_host
        self.advertised_port = advertised_port
        self.listener = listener
        self.long_poll = LongPollTimer()
        self.mute_ms = 0  # the connection is not read for this long after the response (api/throttling.py)
