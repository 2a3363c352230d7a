"""The cost of change feed readers: memory and processor time while they wait, and the effect on alters.

Only kconf: Kafka has no change feed. Readers of another topic are never woken; readers of everything are woken by every
commit, which is the worst case. The readers share the machine with the server and the load generator.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self, cast

from bench import machine, requests
from bench.alter import Alters, check_alters
from bench.arena import Arena, main
from bench.load import BenchError, Run, Shape
from bench.peers import Kconf, Peer
from bench.table import Goal, Row
from kconf.protocol.apis import BY_NAME
from kconf.protocol.headers import LENGTH, request
from kconf.protocol.messages.list_config_changes import ChangeFilter, ListConfigChangesRequest

READERS = 1000
SHAPE = Shape(8, 1)
IDLE = 5.0  # seconds to measure waiting readers
API = BY_NAME["ListConfigChanges"]
ELSEWHERE = (ChangeFilter(2, "bench-feed-never"),)
# After length, correlation ID and tags: throttle time, error, null message, oldest, current.
ERROR, NEXT_AFTER = slice(13, 15), slice(32, 40)


def rows(arena: Arena) -> Iterator[Row]:
    if "kconf" not in arena.names:
        return
    alters = Alters(SHAPE.connections, "bench-feed")
    with Kconf() as peer:
        requests.create_topics(peer.address, alters.topics, requests.OVERRIDES)
        yield from _waiting(peer)

        def altered() -> Run:
            run = arena.run(peer, alters.frames, SHAPE)
            check_alters(peer, alters, run)
            return run

        def measure(_: Peer) -> _Made:
            alone = altered()
            with Readers(peer.address, READERS, ELSEWHERE):
                elsewhere = altered()
            with Readers(peer.address, READERS, ()) as readers:
                began, cpu = time.monotonic(), machine.cpu_seconds(peer.pid)
                everything = altered()
                seconds = time.monotonic() - began
                rate, busy = readers.delivered / seconds, (machine.cpu_seconds(peer.pid) - cpu) / seconds
            return _Made(alone, elsewhere, everything, rate, busy)

        made = arena.rounds(measure, [peer])
        others = made.others
        yield Row(f"alter one key, {SHAPE}, no readers", "/s", made.series(lambda one: one.alone.rate), others=others)
        name = f"… with {READERS:,} readers that wait for something else"
        yield Row(name, "/s", made.series(lambda one: one.elsewhere.rate), others=others)
        part = made.series(lambda one: one.elsewhere.rate / one.alone.rate)
        yield Row("… as a fraction of it without readers", "×", part, [Goal("least", 0.9, "≥ 0.9")], others=others)
        name = f"… with {READERS:,} readers that receive every change"
        notes = {"cores of the server": made.series(lambda one: one.busy)}
        yield Row(name, "/s", made.series(lambda one: one.everything.rate), others=others, notes=notes)
        part = made.series(lambda one: one.everything.rate / one.alone.rate)
        yield Row("… as a fraction of it without readers", "×", part, [Goal("least", 0.5, "≥ 0.5")], others=others)
        yield Row("… responses to them meanwhile", "/s", made.series(lambda one: one.delivered), others=others)


@dataclass(frozen=True, slots=True)
class _Made:
    alone: Run
    elsewhere: Run
    everything: Run
    delivered: float
    busy: float


def _waiting(peer: Kconf) -> Iterator[Row]:
    before = machine.rss_bytes(peer.pid)
    with Readers(peer.address, READERS, ELSEWHERE):
        waiting = machine.rss_bytes(peer.pid)
        cpu = machine.cpu_seconds(peer.pid)
        time.sleep(IDLE)
        used = (machine.cpu_seconds(peer.pid) - cpu) / IDLE * 100
    kib = {"kconf": [(waiting - before) / READERS / 1024]}
    name = f"{READERS:,} waiting readers: memory (RSS) of each, including its connection"
    yield Row(name, "KiB", kib, [Goal("most", 32, "≤ 32 KiB")], less_is_better=True)
    goal = Goal("most", 1, "≤ 1 % of a core")
    yield Row(f"{READERS:,} waiting readers: CPU", "%", {"kconf": [max(used, 0.01)]}, [goal], less_is_better=True)


class Readers:
    """Readers in a separate thread, each with its own connection."""

    def __init__(self, address: str, count: int, filters: Sequence[ChangeFilter]) -> None:
        self._address, self._count, self.filters = address, count, filters
        self.delivered = 0
        self.errors = 0
        self._ready, self._loop = threading.Event(), asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._run(),), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._ready.wait(60):
            raise BenchError(f"{self._count} readers could not connect within a minute.")
        time.sleep(0.5)  # for the last of them to be read
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()
        self._loop.close()
        if self.errors:
            raise BenchError(f"{self.errors} responses to readers had an error.")

    async def _run(self) -> None:
        self._over = asyncio.Event()
        host, _, port = self._address.rpartition(":")
        made = [await self._loop.create_connection(lambda: _Reader(self), host, int(port)) for _ in range(self._count)]
        self._ready.set()
        await self._over.wait()
        for transport, _ in made:
            transport.abort()
        await asyncio.sleep(0)


class _Reader(asyncio.Protocol):
    """Requests the next page continuously."""

    def __init__(self, owner: Readers) -> None:
        self._owner = owner
        self._data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._ask(-1)

    def data_received(self, data: bytes) -> None:
        self._data += data
        if len(self._data) < 4 or len(self._data) < 4 + LENGTH.unpack_from(self._data)[0]:
            return
        answer, self._data = self._data, b""
        self._owner.errors += answer[ERROR] != b"\x00\x00"
        self._owner.delivered += 1
        self._ask(int.from_bytes(answer[NEXT_AFTER], "big"))

    def _ask(self, after: int) -> None:
        message = ListConfigChangesRequest(after, 300_000, 1000, self._owner.filters)
        self._transport.write(request(API, 0, 1, "reader", message))


if __name__ == "__main__":
    main(rows)
