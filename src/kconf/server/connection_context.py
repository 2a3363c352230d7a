"""The state of one connection that its requests share."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Hashable
from typing import NamedTuple

from kconf.model.acl import Authorize, allow_all

ANONYMOUS = "User:ANONYMOUS"


class Origin(NamedTuple):
    """For whom a gateway sends a request: the client that takes turns with others, and who learns that it waits
    (upstream/pool.py).
    """

    client: Hashable
    on_wait: Callable[[Future[None] | None], None] | None = None


class LongPollTimer:
    """Ends a connection's long poll early, when the client has disconnected or sent another request."""

    __slots__ = ("is_over", "on_wait", "wake")

    def __init__(self) -> None:
        self.is_over = False
        self.wake: Callable[[], None] | None = None  # set while a long poll waits
        self.on_wait: Callable[[], None] | None = None  # called when a large request starts to wait

    def renew(self) -> None:
        self.is_over = False

    def begin(self, wake: Callable[[], None]) -> None:
        """A long poll starts to wait. `wake` ends it."""
        self.wake = wake
        if self.on_wait is not None:
            self.on_wait()
            self.on_wait = None

    def end(self) -> None:
        self.is_over = True
        if self.wake is not None:
            self.wake()


class ConnectionContext:
    """One connection, as authentication and request handlers see it."""

    __slots__ = (
        "advertised_host",
        "advertised_port",
        "authorize",
        "host",
        "listener",
        "long_poll",
        "mute_ms",
        "node",
        "principal",
        "waiting",
    )

    def __init__(
        self,
        host: str,
        advertised_host: str,
        advertised_port: int,
        listener: str = "PLAINTEXT",
        node: int | None = None,
    ) -> None:
        self.principal = ANONYMOUS
        self.authorize: Authorize = allow_all
        self.host = host
        self.advertised_host = advertised_host
        self.advertised_port = advertised_port
        self.listener = listener
        self.node = node  # gateways: the broker that the client addresses, if any
        self.long_poll = LongPollTimer()
        self.mute_ms = 0  # how long the connection is not read after the response (api/throttling.py)
        self.waiting: Future[None] | None = None  # a large request that is not started yet

    def wait_for_turn(self, turn: Future[None] | None) -> None:
        self.waiting = turn

    def close(self) -> None:
        """The client has disconnected: end its long poll and drop requests that are not started."""
        self.long_poll.end()
        if self.waiting is not None:
            self.waiting.cancel()
