"""Quotas: set 10,000 with one command, describe 100,000 compared with a real broker, resolve one pair of 1,000,000.

Kafka's command takes one entity at a time: it is called 20 times and extrapolated to 10,000 calls.
"""

from __future__ import annotations

import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from immutables import Map

from bench.arena import Arena, main
from bench.cli import CALLS, run, timed
from bench.load import BenchError
from bench.peers import Peer
from bench.table import Goal, Row
from kconf import SyncAdminClient
from kconf.engine.quotas.index import QuotaIndex
from kconf.engine.quotas.precedence import PRECEDENCE
from kconf.model.quota import QuotaSource
from kconf.model.resource import Overrides, Resource
from kconf.model.snapshot import Snapshot
from kconf.protocol.apis import BY_NAME
from kconf.protocol.headers import read_response, request
from kconf.protocol.messages.alter_client_quotas import AlterClientQuotasRequest, AlteredQuota, QuotaOp
from kconf.protocol.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    QuotaEntityPart,
    QuotaFilterComponent,
)
from lab import tools

ENTITIES = 100_000
AT_ONCE = 2_000  # entities in one alter
INDEXED = 1_000_000
LOADED = 10_000  # by one command
KEY = "producer_byte_rate"
VERSION = 1


def rows(arena: Arena) -> Iterator[Row]:
    yield _resolve(arena)
    yield from _command(arena)
    yield _set(arena)
    yield _describe(arena)
    yield _find(arena)


def _resolve(arena: Arena) -> Row:
    """Only kconf: a real broker has no such request."""
    index = QuotaIndex.of(Snapshot(1, configs=Map(dict(_entities()))))
    random = Random(8)
    pairs = [(f"user-{number}", f"client-{number}") for number in random.sample(range(INDEXED // 4), 50_000)]
    seconds = []
    for _ in range(max(arena.settings.rounds, 3)):
        began = time.process_time()  # processor time, because other processes may be busy
        for user, client in pairs:
            found = index.resolve(KEY, user, client)
        seconds.append((time.process_time() - began) / len(pairs))
        if (
            found is None
            or found.source is not QuotaSource.CLIENT_IN_USER
            or len(found.overridden) != len(PRECEDENCE) - 1
        ):
            raise BenchError(f"A wrong quota was returned: {found}.")
    micros = {"kconf": [each * 1e6 for each in seconds]}
    return Row(
        f"resolve one of {INDEXED:,} quotas, all {len(PRECEDENCE)} levels", "µs", micros, [Goal("most", 5.0)], True
    )


def _entities() -> Iterator[tuple[Resource, Overrides]]:
    """A million entities, with one at every level for every requested pair."""
    values: Overrides = {KEY: "1024"}
    for number in range(INDEXED // 4):
        user, client = f"user-{number}", f"client-{number}"
        for source in (
            QuotaSource.CLIENT_IN_USER,
            QuotaSource.DEFAULT_CLIENT_IN_USER,
            QuotaSource.USER,
            QuotaSource.CLIENT,
        ):
            yield source.entity(user, client).resource, values
    for number in range(INDEXED // 4):
        yield QuotaSource.CLIENT_IN_DEFAULT_USER.entity(None, f"client-{number}").resource, values
    for source in (QuotaSource.DEFAULT_CLIENT_IN_DEFAULT_USER, QuotaSource.DEFAULT_USER, QuotaSource.DEFAULT_CLIENT):
        yield source.entity(None, None).resource, values


def _command(arena: Arena) -> Iterator[Row]:
    """On the same real broker, from the start of a process to its exit."""
    if set(arena.names) != {"kafka", "kconf"}:
        return
    (address,) = (peer.address for peer in arena.peers if peer.name == "kafka")
    loop = []
    for number in range(CALLS):
        words = ["--alter", "--user", f"loop-{number}", "--add-config", f"{KEY}=1024"]
        loop.append(timed(tools.kafka_configs, address, *words)[0])
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "quotas.csv"
        seconds = [_load(address, path, 1024 + number) for number in range(arena.settings.rounds)]
    _clear(address)
    series = {"kafka": [sum(loop) / CALLS * LOADED], "kconf": seconds}
    notes = {"calls": loop}
    goal = Goal("part", 1.0, "faster")
    yield Row(
        f"set {LOADED:,} quotas: a loop of kafka-configs, kconf quota load", "s", series, [goal], True, notes=notes
    )


def _clear(address: str) -> None:
    """Remove the quotas, because the other rows describe only their own."""
    with SyncAdminClient(address) as admin:
        while found := {each: dict.fromkeys(quotas) for each, quotas in admin.describe_client_quotas().items()}:
            admin.alter_client_quotas(found).raise_for_failures()
            time.sleep(0.1)


def _load(address: str, path: Path, value: int) -> float:
    path.write_text(f"user,{KEY}\n" + "".join(f"load-{number:05d},{value}\n" for number in range(LOADED)))
    spent, out = timed(run, "kconf", "quota", "load", str(path), "--yes", "-b", address, "-o", "csv")
    if out.count(",done,") != LOADED:
        raise BenchError(f"kconf quota load set {out.count(',done,')} of {LOADED} quotas.")
    return spent


class Line:
    """One connection with one request at a time."""

    def __init__(self, peer: Peer) -> None:
        host, _, port = peer.address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=120)
        self._answers = self._socket.makefile("rb")

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, name: str, message: object) -> bytes:
        return self.send(_frame(name, message))

    def send(self, frame: bytes) -> bytes:
        self._socket.sendall(frame)
        return self._answers.read(int.from_bytes(self._answers.read(4), "big"))


def _frame(name: str, message: object) -> bytes:
    return request(BY_NAME[name], VERSION, 7, "bench", message)


def _read(name: str, answer: bytes) -> Any:
    return read_response(BY_NAME[name], VERSION, answer)[1]


def _users() -> Sequence[str]:
    return [f"user-{number:06}" for number in range(ENTITIES)]


def _set(arena: Arena) -> Row:
    """Set the quotas that the other rows describe, once per server."""
    users = _users()
    frames = [_altered(users[first : first + AT_ONCE]) for first in range(0, ENTITIES, AT_ONCE)]
    made: dict[str, list[float]] = {}
    for peer in arena.peers:
        with Line(peer) as line:
            began = time.perf_counter()
            answers = [line.send(frame) for frame in frames]
            made[peer.name] = [ENTITIES / (time.perf_counter() - began)]
            for answer in answers:
                told = _read("AlterClientQuotas", answer).entries
                if len(told) != AT_ONCE or any(each.error_code for each in told):
                    raise BenchError(f"{peer.name} refused to set quotas.")
            _wait(peer, line)
    return Row(f"set {ENTITIES:,} quotas, {AT_ONCE:,} in a request: quotas", "/s", made)


def _altered(users: Sequence[str]) -> bytes:
    entries = [AlteredQuota([QuotaEntityPart("user", name)], [QuotaOp(KEY, 1024.0)]) for name in users]
    return _frame("AlterClientQuotas", AlterClientQuotasRequest(entries))


def _wait(peer: Peer, line: Line) -> None:
    """Wait: a broker learns of a change after the controller has responded."""
    until = time.monotonic() + 60
    while len(_read("DescribeClientQuotas", line.ask("DescribeClientQuotas", _all())).entries) < ENTITIES:
        if time.monotonic() > until:
            raise BenchError(f"{peer.name} does not show all quotas.")
        time.sleep(0.1)


def _all() -> DescribeClientQuotasRequest:
    return DescribeClientQuotasRequest([QuotaFilterComponent("user", 2)])


def _describe(arena: Arena) -> Row:
    def measure(peer: Peer) -> float:
        with Line(peer) as line:
            for _ in range(3):
                line.ask("DescribeClientQuotas", _all())
            began = time.perf_counter()
            answer = line.ask("DescribeClientQuotas", _all())
            seconds = time.perf_counter() - began
        told = _read("DescribeClientQuotas", answer)
        if {each.entity[0].entity_name for each in told.entries} != set(_users()):
            raise BenchError(f"{peer.name} did not describe all quotas.")
        return seconds

    made = arena.rounds(measure)
    series = made.series(lambda seconds: seconds)
    return Row(f"describe all of {ENTITIES:,} quotas", "ms", series, [Goal("part", 1.0)], True, made.others)


def _find(arena: Arena) -> Row:
    """Describe one user of many."""
    random = Random(9)

    def measure(peer: Peer) -> float:
        with Line(peer) as line:
            names = random.sample(_users(), 300)
            began = time.perf_counter()
            for name in names:
                answer = line.ask(
                    "DescribeClientQuotas", DescribeClientQuotasRequest([QuotaFilterComponent("user", 0, name)])
                )
            seconds = time.perf_counter() - began
        (entry,) = _read("DescribeClientQuotas", answer).entries
        if entry.entity[0].entity_name != names[-1] or entry.values[0].value != 1024.0:
            raise BenchError(f"{peer.name} returned another quota than the requested one.")
        return seconds / len(names)

    made = arena.rounds(measure)
    series = made.series(lambda seconds: seconds)
    return Row(f"describe one of {ENTITIES:,} quotas", "ms", series, [Goal("part", 1.0)], True, made.others)


if __name__ == "__main__":
    main(rows)
