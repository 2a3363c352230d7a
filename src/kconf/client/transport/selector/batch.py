"""Sends a batch of requests of the SyncAdminClient on several connections, with one selector."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector

from kconf.client.settings import Address, ClientSettings
from kconf.client.transport.failures import reason
from kconf.client.transport.requests import NodeRequest, Reply, no_response, not_sent_in_time
from kconf.client.transport.selector.connection import SyncNodeConnection
from kconf.errors import ConnectionFailed, KconfError, ProtocolError, ThrottlingQuotaExceeded


class SelectorBatch:
    """Requests and replies are identified by their index in the batch."""

    def __init__(self, settings: ClientSettings, requests: Sequence[NodeRequest], deadline: float) -> None:
        self._settings, self._requests, self._deadline = settings, requests, deadline
        self._replies: dict[int, Reply] = {}
        self._queues: dict[Address, deque[int]] = {}
        self._connections: dict[Address, SyncNodeConnection] = {}
        self._last_response: dict[Address, float] = {}
        self.failed: list[Address] = []
        for index, request in enumerate(requests):
            self._queues.setdefault(request.address, deque()).append(index)

    def add(self, address: Address, connection: SyncNodeConnection) -> None:
        self._connections[address] = connection
        self._last_response[address] = now = time.monotonic()
        self._refuse_throttled(self._queues[address], connection.throttled_until - now)

    def _refuse_throttled(self, queue: deque[int], seconds: float) -> None:
        """Fail the requests that may not wait until their connection is no longer throttled."""
        for index in [each for each in queue if self._requests[each].call.longest_throttle < seconds]:
            queue.remove(index)
            self._replies[index] = ThrottlingQuotaExceeded(
                f"a quota of this account is exceeded; try again in {seconds:.0f} s"
            )

    def replies(self) -> list[Reply]:
        return [self._replies[index] for index in range(len(self._requests))]

    def run(self) -> None:
        with DefaultSelector() as selector:
            for address, connection in self._connections.items():
                selector.register(connection, EVENT_READ, address)
            for address in list(self._connections):
                self._transfer(selector, address, write=True, read=False)
            while len(self._replies) < len(self._requests):
                for key, events in selector.select(self._select_timeout()):
                    self._transfer(selector, key.data, bool(events & EVENT_WRITE), bool(events & EVENT_READ))
                self._time_out(selector)

    def _transfer(self, selector: DefaultSelector, address: Address, write: bool, read: bool) -> None:
        """Write and read what is possible. An error affects the requests of this connection only."""
        connection = self._connections.get(address)
        if connection is None:
            return
        try:
            if write:
                connection.write()
            if read:
                self._read(address, connection)
            self._send_queued(address, connection)
            selector.modify(connection, connection.events, address)
        except OSError as error:
            self._fail_connection(selector, address, reason(error))
        except ProtocolError as error:
            self._replies.update(dict.fromkeys((each.handle for each in connection.in_flight.waiting), error))
            self._fail_connection(selector, address, str(error))

    def _read(self, address: Address, connection: SyncNodeConnection) -> None:
        more = True
        while more:
            for frame in connection.read():
                index, result = connection.in_flight.complete(frame)
                self._replies[index] = result
                self._last_response[address] = now = time.monotonic()
                if result.throttle_ms > 0:
                    connection.throttled_until = now + result.throttle_ms / 1000
                self._send_queued(address, connection)
            more = connection.has_buffered_data()

    def _send_queued(self, address: Address, connection: SyncNodeConnection) -> None:
        queue = self._queues[address]
        while queue and len(connection.in_flight.waiting) < self._settings.limits.in_flight:
            index = queue.popleft()
            try:
                connection.send(self._requests[index], index)
            except KconfError as error:
                self._replies[index] = error

    def fail_queued(self, address: Address, error: KconfError) -> None:
        """Fail all requests that are queued for an address."""
        queue = self._queues[address]
        while queue:
            self._replies[queue.popleft()] = error

    def time_out_queued(self, address: Address, *, silent: bool = False) -> None:
        """Time out all requests that are queued for an address."""
        queue = self._queues[address]
        while queue:
            index = queue.popleft()
            self._replies[index] = not_sent_in_time(self._requests[index], silent=silent)

    def _fail_connection(self, selector: DefaultSelector, address: Address, cause: str) -> None:
        connection = self._connections.pop(address)
        selector.unregister(connection)
        self.failed.append(address)
        for each in connection.in_flight.waiting:
            error = ConnectionFailed(f"the connection to {address} was lost before the response: {cause}")
            error.sent = True
            self._replies.setdefault(each.handle, error)
        self.fail_queued(address, ConnectionFailed(f"the connection to {address} was lost: {cause}"))

    def _timeout_at(self, address: Address) -> float:
        since = max(self._last_response[address], self._connections[address].throttled_until)
        return min(self._deadline, since + self._settings.timeouts.request)

    def _select_timeout(self) -> float:
        limits = [self._timeout_at(address) for address in self._connections if self._is_busy(address)]
        return max(min(limits, default=self._deadline) - time.monotonic(), 0.0)

    def _is_busy(self, address: Address) -> bool:
        return bool(self._connections[address].in_flight.waiting or self._queues[address])

    def _time_out(self, selector: DefaultSelector) -> None:
        now = time.monotonic()
        for address in [each for each in self._connections if self._is_busy(each) and now >= self._timeout_at(each)]:
            for each in self._connections[address].in_flight.waiting:
                self._replies[each.handle] = no_response(each.request)
            if now >= self._deadline:
                self.time_out_queued(address)
            self._fail_connection(selector, address, "no response in time")
