"""Requests under way on several lines at once, for the SyncAdminClient: a selector waits for all of them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector

from kconf.client.settings import Address, ClientSettings
from kconf.client.transport.call_runner import NodeRequest, Reply
from kconf.client.transport.in_flight import reason
from kconf.client.transport.selector_connection import SyncNodeConnection
from kconf.errors import ConnectionFailed, KconfError, ProtocolError, RequestTimedOut


class SyncSendBatch:
    """Requests under way on several lines."""

    def __init__(self, settings: ClientSettings, asks: Sequence[NodeRequest], deadline: float) -> None:
        self._settings, self._asks, self._deadline = settings, asks, deadline
        self._replies: dict[int, Reply] = {}
        self._queues: dict[Address, deque[int]] = {}
        self._wires: dict[Address, SyncNodeConnection] = {}
        self._heard: dict[Address, float] = {}
        self.broken: list[Address] = []
        for number, ask in enumerate(asks):
            self._queues.setdefault(ask.address, deque()).append(number)

    def add(self, address: Address, wire: SyncNodeConnection) -> None:
        self._wires[address] = wire
        self._heard[address] = time.monotonic()

    def replies(self) -> list[Reply]:
        return [self._replies[number] for number in range(len(self._asks))]

    def run(self) -> None:
        with DefaultSelector() as selector:
            for address, wire in self._wires.items():
                selector.register(wire, EVENT_READ, address)
            for address in list(self._wires):
                self._guarded(selector, address, write=True, read=False)
            while len(self._replies) < len(self._asks):
                for key, events in selector.select(self._patience()):
                    self._guarded(selector, key.data, bool(events & EVENT_WRITE), bool(events & EVENT_READ))
                self._time_out(selector)

    def _guarded(self, selector: DefaultSelector, address: Address, write: bool, read: bool) -> None:
        """Move what can be moved on a line; what goes wrong there concerns that line alone."""
        wire = self._wires.get(address)
        if wire is None:
            return
        try:
            if write:
                wire.write()
            if read:
                self._read(address, wire)
            self._fill(address, wire)
            selector.modify(wire, wire.events, address)
        except OSError as error:
            self._break(selector, address, reason(error))
        except ProtocolError as error:
            self._replies.update(dict.fromkeys((each.whom for each in wire.line.waiting), error))
            self._break(selector, address, str(error))

    def _read(self, address: Address, wire: SyncNodeConnection) -> None:
        more = True
        while more:
            for frame in wire.read():
                whom, answer = wire.line.answered(frame)
                self._replies[whom] = answer
                self._heard[address] = now = time.monotonic()
                if answer.throttle_ms > 0:
                    wire.muted = now + answer.throttle_ms / 1000
                self._fill(address, wire)
            more = wire.has_more()

    def _fill(self, address: Address, wire: SyncNodeConnection) -> None:
        queue = self._queues[address]
        while queue and len(wire.line.waiting) < self._settings.in_flight:
            number = queue.popleft()
            try:
                wire.send(self._asks[number], number)
            except KconfError as error:
                self._replies[number] = error

    def fail(self, address: Address, error: KconfError) -> None:
        """Nothing that is queued for an address can be sent."""
        queue = self._queues[address]
        while queue:
            self._replies[queue.popleft()] = error

    def _break(self, selector: DefaultSelector, address: Address, why: str) -> None:
        wire = self._wires.pop(address)
        selector.unregister(wire)
        self.broken.append(address)
        for waiting in wire.line.waiting:
            error = ConnectionFailed(f"the line to {address} broke before the answer: {why}")
            error.sent = True
            self._replies.setdefault(waiting.whom, error)
        self.fail(address, ConnectionFailed(f"the line to {address} broke: {why}"))

    def _limit(self, address: Address) -> float:
        since = max(self._heard[address], self._wires[address].muted)
        return min(self._deadline, since + self._settings.request_timeout)

    def _patience(self) -> float:
        ends = [self._limit(address) for address in self._wires if self._is_busy(address)]
        return max(min(ends, default=self._deadline) - time.monotonic(), 0.0)

    def _is_busy(self, address: Address) -> bool:
        return bool(self._wires[address].line.waiting or self._queues[address])

    def _time_out(self, selector: DefaultSelector) -> None:
        now = time.monotonic()
        for address in [each for each in self._wires if self._is_busy(each) and now >= self._limit(each)]:
            for waiting in self._wires[address].line.waiting:
                self._replies[waiting.whom] = RequestTimedOut(
                    f"{address} gave no answer to {waiting.call.name} in time"
                )
            self._break(selector, address, "no answer in time")
