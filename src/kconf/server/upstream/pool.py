"""The connections of a gateway to one broker, shared fairly between clients.

A broker answers the requests of a connection one after the other, so each connection has one request in flight. Clients
take turns, and each has a limited share of the connections, so that slow requests of one client do not block others.
Requests wait in a bounded queue. After a failed connection attempt, requests fail immediately for a while.

A broker does not read from a throttled connection, so that connection rests and others are used, up to twice the
limits. Then requests wait until a rest ends.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Hashable
from typing import Final, NamedTuple

from kconf.client.transport.raw_connection import RawConnection
from kconf.errors import KconfError, UpstreamUnavailable
from kconf.util.rate_limited_log import RateLimitedLogger

_unexpected: Final = RateLimitedLogger(logging.getLogger(__name__), logging.ERROR, per_second=0.1, burst=3)

GATEWAY: Final = object()
"""The gateway itself, as a client of a pool."""

_UNREACHABLE_FOR: Final = 1.0  # seconds after a failed connection attempt without another one
_IDLE: Final = 60.0  # seconds until an idle connection is closed
_WITH_RESTING: Final = 2  # times the limits: connections in use and resting ones


class PoolLimits(NamedTuple):
    """The limits for one broker. Times are in seconds."""

    connections: int = 16
    share: int = 4  # connections that one client may use at the same time
    waiting: int = 1000
    waiting_bytes: int = 64 << 20
    request: float = 30.0
    connect: float = 10.0


def _no_throttle(_: bytes) -> int:
    return 0


class RawRequest(NamedTuple):
    """A frame to forward, without its length prefix, and the client that sent it.

    `on_wait` is called with a future while the request waits, which may be cancelled, and with None when the wait is
    over. `throttle_of` reads the throttle time of the connection, in milliseconds, from the response. `timeout` limits
    the seconds until the response, including the wait; by default only the time of the broker is limited.
    """

    client: Hashable
    frame: bytes
    on_wait: Callable[[asyncio.Future[None] | None], None] | None = None
    throttle_of: Callable[[bytes], int] = _no_throttle
    timeout: float | None = None


class _Waiting(NamedTuple):
    turn: asyncio.Future[None]
    size: int


class BrokerPool:
    """A pool of connections to one broker. `connect` opens one, or raises KconfError."""

    def __init__(self, name: str, connect: Callable[[], Awaitable[RawConnection]], limits: PoolLimits) -> None:
        self._name, self._connect, self._limits = name, connect, limits
        self._idle: deque[tuple[float, RawConnection]] = deque()  # idle since; the most recently used one is last
        self._in_use: Counter[Hashable] = Counter()
        self._resting: Counter[Hashable] = Counter()  # by the client whose request was throttled
        self._queues: dict[Hashable, deque[_Waiting]] = {}  # in the order of their turns
        self._waiting = self._waiting_bytes = 0
        self._unreachable_until = 0.0
        self._answered_at = float("-inf")
        self._has_failed = False  # the last attempt to connect, or a request, without a response since then
        self._open: set[RawConnection] = set()
        self._closed = False

    async def send(self, request: RawRequest) -> bytes:
        """Send a request and return the response, without its length prefix. Raises UpstreamUnavailable."""
        loop = asyncio.get_running_loop()
        deadline = None if request.timeout is None else loop.time() + request.timeout
        try:
            async with asyncio.timeout_at(deadline):
                await self._turn(request)
        except TimeoutError:
            raise UpstreamUnavailable(f"earlier requests to {self._name} took too long") from None
        sent_at = loop.time()
        limit = sent_at + self._limits.request
        try:
            async with asyncio.timeout_at(limit if deadline is None else min(limit, deadline)):
                response = await self._exchange(request)
        except TimeoutError:
            self._has_failed = self._has_failed or self._answered_at < sent_at
            raise UpstreamUnavailable(f"{self._name} did not respond in time") from None
        except KconfError as error:
            raise UpstreamUnavailable(str(error)) from None
        finally:
            self._release(request.client)
        self._answered_at, self._has_failed = loop.time(), False
        return response

    async def _exchange(self, request: RawRequest) -> bytes:
        connection = await self._connection()
        try:
            response = await connection.exchange(request.frame)
            throttled = request.throttle_of(response)
        except BaseException:
            self._drop(connection)
            raise
        if throttled > 0:
            self._resting[request.client] += 1
            loop = asyncio.get_running_loop()
            loop.call_later(throttled / 1000, self._end_rest, request.client, connection)
        else:
            self._put_back(connection)
        return response

    @property
    def is_busy(self) -> bool:
        return bool(self._in_use or self._waiting)

    @property
    def is_unreachable(self) -> bool:
        """Whether the broker has not responded since it refused a connection, or left a request without a response.

        It is still asked, but requests that another broker can answer should not wait for it.
        """
        return self._has_failed

    def close_idle(self) -> None:
        """Close connections that have been idle for long, except one."""
        oldest = asyncio.get_running_loop().time() - _IDLE
        while len(self._idle) > 1 and self._idle[0][0] < oldest:
            self._drop(self._idle.popleft()[1])

    def close(self) -> None:
        self._closed = True
        for queue in self._queues.values():
            for waiting in queue:
                self._uncount(waiting)
                if not waiting.turn.done():
                    waiting.turn.set_exception(self._gone())
        self._queues.clear()
        for each in tuple(self._open):
            self._drop(each)

    def _gone(self) -> UpstreamUnavailable:
        return UpstreamUnavailable(f"{self._name} is no longer a member of the cluster")

    # -- turns ---------------------------------------------------------------------------------------------------------

    async def _turn(self, request: RawRequest) -> None:
        client, size, on_wait = request.client, len(request.frame), request.on_wait
        if self._closed:
            raise self._gone()
        if client not in self._queues and self._has_room(client):
            self._in_use[client] += 1
            return
        limits = self._limits
        if self._waiting >= limits.waiting or self._waiting_bytes + size > limits.waiting_bytes:
            raise UpstreamUnavailable(f"too many requests are waiting for {self._name}")
        waiting = _Waiting(asyncio.get_running_loop().create_future(), size)
        self._queues.setdefault(client, deque()).append(waiting)
        self._waiting += 1
        self._waiting_bytes += size
        if on_wait is not None:
            on_wait(waiting.turn)
        try:
            await waiting.turn
        except asyncio.CancelledError:
            if waiting.turn.done() and not waiting.turn.cancelled():  # its turn has come in the meantime
                self._release(client)
            else:
                self._remove_waiting(client, waiting)
            raise
        finally:
            if on_wait is not None:
                on_wait(None)

    def _has_room(self, client: Hashable) -> bool:
        limits, in_use, of_client = self._limits, self._in_use.total(), self._in_use[client]
        return (
            in_use < limits.connections
            and of_client < limits.share
            and in_use + self._resting.total() < _WITH_RESTING * limits.connections
            and of_client + self._resting[client] < _WITH_RESTING * limits.share
        )

    def _release(self, client: Hashable) -> None:
        _decrement(self._in_use, client)
        self._wake()

    def _end_rest(self, client: Hashable, connection: RawConnection) -> None:
        _decrement(self._resting, client)
        self._put_back(connection)
        self._wake()

    def _wake(self) -> None:
        """Give turns to waiting requests."""
        while (following := next((each for each in self._queues if self._has_room(each)), None)) is not None:
            queue = self._queues.pop(following)
            waiting = queue.popleft()
            if queue:
                self._queues[following] = queue  # move to the end: other clients are next
            self._uncount(waiting)
            if not waiting.turn.done():
                self._in_use[following] += 1
                waiting.turn.set_result(None)

    def _remove_waiting(self, client: Hashable, waiting: _Waiting) -> None:
        """Remove a waiting request. `_release` may have removed it already."""
        queue = self._queues.get(client)
        if queue is not None and waiting in queue:
            queue.remove(waiting)
            self._uncount(waiting)
            if not queue:
                del self._queues[client]

    def _uncount(self, waiting: _Waiting) -> None:
        self._waiting -= 1
        self._waiting_bytes -= waiting.size

    # -- connections ---------------------------------------------------------------------------------------------------

    async def _connection(self) -> RawConnection:
        if self._closed:
            raise self._gone()
        while self._idle:
            _, connection = self._idle.pop()
            if connection.is_usable:
                return connection
            self._drop(connection)
        if asyncio.get_running_loop().time() < self._unreachable_until:
            raise UpstreamUnavailable(f"{self._name} is unreachable: the last attempt to connect failed")
        try:
            async with asyncio.timeout(self._limits.connect):
                connection = await self._connect()
        except (KconfError, TimeoutError) as error:
            raise self._failed_to_connect(str(error) or f"{self._name} does not respond") from None
        except Exception as error:
            _unexpected.exception("cannot connect to %s because of an unexpected error", self._name)
            raise self._failed_to_connect(f"cannot connect to {self._name}: {type(error).__name__}") from error
        self._open.add(connection)
        return connection

    def _failed_to_connect(self, why: str) -> UpstreamUnavailable:
        self._unreachable_until = asyncio.get_running_loop().time() + _UNREACHABLE_FOR
        self._has_failed = True
        return UpstreamUnavailable(why)

    def _put_back(self, connection: RawConnection) -> None:
        if self._closed or not connection.is_usable:
            self._drop(connection)
        elif connection in self._open:
            self._idle.append((asyncio.get_running_loop().time(), connection))

    def _drop(self, connection: RawConnection) -> None:
        self._open.discard(connection)
        connection.abort()


def _decrement(counter: Counter[Hashable], client: Hashable) -> None:
    counter[client] -= 1
    if not counter[client]:
        del counter[client]
