"""Several servers on one ZooKeeper: changes per second, the delay until all servers have them, and start times.

Only kconf, on a real ZooKeeper of the lab with its log on disk, which shares the machine with the servers and the load
generator. All values are read back from every server.
"""

from __future__ import annotations

import contextlib
import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, cast

from bench import load, requests
from bench.alter import KEY, Alters, check_alters, check_left_behind
from bench.arena import Arena, Watch, main
from bench.load import BenchError, Run, Shape
from bench.peers import Kconf, Peer
from bench.table import Goal, Row
from kconf import QuotaEntity, Resource, SyncAdminClient
from lab.zookeeper import ZooKeeper

SEEN = 300  # changes whose delay is measured
ALIVE = 1000  # notifications
TOPICS, QUOTAS = 50_000, 50_000
CATCH_UP = 10.0  # seconds until another server shows an acknowledged change


class Follower(Kconf):
    """A server that receives the changes of another one."""

    shows_writes_within = CATCH_UP


def rows(arena: Arena) -> Iterator[Row]:
    if "kconf" not in arena.names:
        return
    for size in (1, 3):
        with ZooKeeper() as zookeeper, servers(zookeeper, size) as fleet:
            watched = [*fleet, cast(Peer, zookeeper)]  # only its pid is used
            if size > 1:
                yield from _seen(arena, fleet, watched)  # first, because the others leave thousands of notifications
            for each in (1, 64 // size):
                yield _changes(arena, fleet, each, Watch(watched))
    yield _start(arena)


@contextlib.contextmanager
def servers(zookeeper: ZooKeeper, size: int) -> Iterator[list[Kconf]]:
    with contextlib.ExitStack() as stack:
        url = zookeeper.url("/bench")
        yield [stack.enter_context(Follower(url=url, node_id=1 + place)) for place in range(size)]


def _changes(arena: Arena, fleet: Sequence[Kconf], connections: int, watch: Watch) -> Row:
    """Every server has this many connections, each with one change at a time."""
    shape = Shape(connections, 1)
    work = [Alters(connections, f"bench-{len(fleet)}-{connections}-{peer.node_id}") for peer in fleet]
    for alters in work:
        requests.create_topics(fleet[0].address, alters.topics)
        _await(fleet, alters.topics[-1])
    rates: list[float] = []
    with watch:
        for _ in range(arena.settings.rounds):
            runs = _together(arena, fleet, work, shape)
            rates.append(sum(run.rate for run in runs))
            for run, alters in zip(runs, work, strict=True):
                for peer in fleet:
                    check_alters(peer, alters, run)
    many = f"{len(fleet)} servers" if len(fleet) > 1 else "1 server"
    goals = [Goal("least", 1500)] if connections > 1 else []
    return Row(f"ZooKeeper, {many}: alter one key, {shape} on each", "/s", {"kconf": rates}, goals, others=watch.others)


def _together(arena: Arena, fleet: Sequence[Kconf], work: Sequence[Alters], shape: Shape) -> list[Run]:
    seconds, warm_up = 2 * arena.settings.seconds, arena.settings.warm_up
    running = [
        load.start(peer.address, alters.frames, shape, seconds=seconds, warm_up=warm_up)
        for peer, alters in zip(fleet, work, strict=True)
    ]
    return [each.result() for each in running]


def _await(fleet: Sequence[Kconf], topic: str) -> None:
    """Wait until every server has the topic."""
    until = time.monotonic() + CATCH_UP
    while not all(requests.values(peer.address, [topic], KEY) for peer in fleet):
        if time.monotonic() > until:
            raise BenchError(f"Some servers do not show {topic} {CATCH_UP:.0f} s after its creation.")
        time.sleep(0.01)


def _seen(arena: Arena, fleet: Sequence[Kconf], watched: Sequence[Peer]) -> Iterator[Row]:
    """The time from the acknowledgement on one server until all others have the change."""
    notified = Alters(64, "bench-notify").topics
    requests.create_topics(fleet[0].address, ["bench-seen", *notified])
    _await(fleet, notified[-1])
    for alive in (0, ALIVE):
        delays: list[float] = []
        with Watch(watched) as watch:
            for _ in range(arena.settings.rounds):
                if alive:
                    _notify(fleet, notified, alive)
                delays += _delays(fleet)
        p50, *_, p99 = statistics.quantiles(delays, n=100, method="inclusive")[49:99]
        label = f"ZooKeeper, 3 servers: from response until all servers have it, with {alive:,} notifications"
        notes = {"changes": len(delays), "max": max(delays)}
        for name, figure, goal in (
            ("p50", p50, Goal("most", 0.010, "≤ 10 ms")),
            ("p99", p99, Goal("most", 0.050, "≤ 50 ms")),
        ):
            row = {"kconf": [max(figure, 1e-6)]}
            yield Row(f"{label}, {name}", "ms", row, [goal], less_is_better=True, others=watch.others, notes=notes)


def _notify(fleet: Sequence[Kconf], topics: Sequence[str], count: int) -> None:
    """Make this many changes, whose notifications stay for a minute; returns when all servers have them."""
    first = 10**12 + time.time_ns() // 1_000_000 % 10**9 * 1000
    frames = [requests.alter([topics[n % len(topics)]], KEY, str(first + n)) for n in range(count)]
    load.once(fleet[0].address, frames, Shape(64, 1))
    last = requests.values(fleet[0].address, topics, KEY)
    for peer in fleet:
        check_left_behind(peer, {topic: value for topic, value in last.items() if value is not None})


def _delays(fleet: Sequence[Kconf]) -> list[float]:
    first = 10**12 + time.time_ns() // 1_000_000 % 10**9 * 1000
    values = [str(first + number) for number in range(SEEN)]
    readers = [_Reader(peer, values[-1]) for peer in fleet[1:]]
    acknowledged: dict[str, float] = {}
    for value in values:
        body = requests.ask(fleet[0].address, "IncrementalAlterConfigs", requests.alter(["bench-seen"], KEY, value))
        acknowledged[value] = time.monotonic()
        requests.check_altered(body, 1)
    seen = [reader.join() for reader in readers]
    return [max(0.0, max(each[value] for each in seen) - acknowledged[value]) for value in values]


class _Reader:
    """Follows the topic on one server, and records when each value arrived."""

    def __init__(self, peer: Kconf, last: str) -> None:
        self._seen: dict[str, float] = {}
        self._last = last
        self._client = SyncAdminClient(peer.address)
        self._watch = self._client.watch_changes(about=[Resource.topic("bench-seen")])
        self._watch.__enter__()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        for revision in self._watch:
            now = time.monotonic()
            for change in revision.changes:
                self._seen[str(change.after)] = now
            if self._last in self._seen:
                return

    def join(self) -> dict[str, float]:
        self._thread.join(60)
        if self._last not in self._seen:
            raise BenchError("A server did not show all changes within a minute.")
        self._client.close()
        return self._seen


def _start(arena: Arena) -> Row:
    """Half topics with an override, half client quotas; fewer in a quick round."""
    part = 1 if arena.settings.rounds > 1 else 20
    topics, quotas = TOPICS // part, QUOTAS // part
    with ZooKeeper(properties={"jute.maxbuffer": "4194304"}) as zookeeper, Kconf(url=zookeeper.url("/full")) as peer:
        requests.create_topics(peer.address, [f"bench-{n:05}" for n in range(topics)], {KEY: "86400000"})
        _set_quotas(peer, quotas)
        seconds = []
        with Watch([peer, cast(Peer, zookeeper)]) as watch:
            for _ in range(arena.settings.rounds):
                peer.restart()
                seconds.append(peer.start_seconds)
        _check_full(peer, topics, quotas)
    name = f"ZooKeeper: start with {topics + quotas:,} entities"
    return Row(name, "s", {"kconf": seconds}, [Goal("most", 15, "≤ 15 s")], less_is_better=True, others=watch.others)


def _set_quotas(peer: Kconf, count: int) -> None:
    with SyncAdminClient(peer.address) as admin:
        for start in range(0, count, 500):
            some: dict[QuotaEntity, Any] = {
                QuotaEntity.of({"client-id": f"c-{n:05}"}): {"producer_byte_rate": 1000.0 + n}
                for n in range(start, min(start + 500, count))
            }
            admin.alter_client_quotas(some).raise_for_failures()


def _check_full(peer: Kconf, topics: int, quotas: int) -> None:
    with SyncAdminClient(peer.address) as admin:
        found = len(admin.list_topics()), len(admin.describe_client_quotas())
    if found != (topics, quotas):
        raise BenchError(f"After a restart there are {found[0]} topics and {found[1]} quotas.")


if __name__ == "__main__":
    main(rows)
