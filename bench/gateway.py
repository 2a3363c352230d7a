"""A gateway compared with its cluster: the same requests to both addresses."""

from __future__ import annotations

import statistics
import threading
import time
import urllib.request
from collections.abc import Iterator

from bench import machine, requests
from bench.alter import KEY, Alters, check_alters
from bench.arena import Arena, main
from bench.load import Run, Shape
from bench.peers import Kafka, Kconf, Peer, free_port
from bench.table import Goal, Row
from kconf.client.admin_sync import SyncAdminClient
from kconf.model.alteration import AlterConfigOp, OpType
from kconf.model.resource import Resource

DESCRIBES = {Shape(8, 1): 3.0, Shape(8, 8): 10.0}
ALTERS = {Shape(1, 1): 0.9, Shape(64, 1): 20.0}
TOPIC = "bench-gateway"
TOPICS = [f"bench-start-{n:05}" for n in range(10_000)]
CHANGES = 300
POLL_MS = 5000
POLLS = 5


def rows(arena: Arena) -> Iterator[Row]:
    with Kafka() as kafka, gateway(kafka) as kconf:
        requests.create_topics(kafka.address, [TOPIC], requests.OVERRIDES)
        time.sleep(1.0)
        for shape, goal in DESCRIBES.items():
            yield _describe(arena, [kafka, kconf], shape, goal)
        for shape, goal in ALTERS.items():
            yield _alter(arena, [kafka, kconf], shape, goal)
        yield _feed(kconf)
        requests.create_topics(kafka.address, TOPICS, requests.OVERRIDES)
        yield from _start(arena, kconf)
        yield _poll(kafka)


def gateway(kafka: Kafka) -> Kconf:
    return Kconf(options=["--upstream", kafka.address, "--controllers", kafka.controllers])


def _describe(arena: Arena, peers: list[Peer], shape: Shape, goal: float) -> Row:
    frames = [requests.describe([TOPIC], details=False)]

    def measure(peer: Peer) -> Run:
        run = arena.run(peer, frames, shape)
        for answer in [*run.first, *run.last]:
            requests.check_described(requests.read("DescribeConfigs", answer), details=False)
        return run

    made = arena.rounds(measure, peers)
    rates = made.series(lambda run: run.rate)
    return Row(f"describe a topic, {shape}", "/s", rates, [Goal("times", goal)], others=made.others)


def _alter(arena: Arena, peers: list[Peer], shape: Shape, goal: float) -> Row:
    alters = Alters(shape.connections, f"bench-gateway-{shape.connections}")
    requests.create_topics(peers[0].address, alters.topics, requests.OVERRIDES)
    frames = alters.frames

    def measure(peer: Peer) -> Run:
        run = arena.run(peer, frames, shape, times=2)
        check_alters(peer, alters, run)
        return run

    made = arena.rounds(measure, peers)
    rates, notes = made.series(lambda run: run.rate), {"p99": made.series(lambda run: run.p99)}
    return Row(f"alter one key, {shape}", "/s", rates, [Goal("times", goal)], others=made.others, notes=notes)


def _feed(kconf: Kconf) -> Row:
    """The time from the response of a change to its arrival at a feed reader."""
    seen: dict[str, float] = {}
    with SyncAdminClient(kconf.address) as admin, SyncAdminClient(kconf.address) as reading:
        watch = reading.watch_changes()
        started = threading.Event()

        def read() -> None:
            with watch as changes:
                started.set()
                for revision in changes:
                    for change in revision.changes:
                        seen[str(change.after)] = time.perf_counter()
                    if len(seen) >= CHANGES:
                        return

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        started.wait(30)
        answered = {}
        for number in range(CHANGES):
            value = str(200_000_000 + number)
            op = AlterConfigOp(OpType.SET, KEY, value)
            admin.incremental_alter_configs({Resource.topic(TOPIC): [op]}).raise_for_failures()
            answered[value] = time.perf_counter()
        reader.join(60)
    delays = sorted(max(seen[value] - at, 0.0) for value, at in answered.items())
    p99 = max(delays[int(len(delays) * 0.99)], 1e-6)
    goals = [Goal("most", 0.020, "≤ 20 ms")]
    notes = {"p50 ms": statistics.median(delays) * 1000}
    return Row("change in the feed after its response, p99", "s", {"kconf": [p99]}, goals, True, notes=notes)


def _start(arena: Arena, kconf: Kconf) -> Iterator[Row]:
    seconds = []
    for _ in range(arena.settings.rounds):
        kconf.restart()
        seconds.append(kconf.start_seconds)
    goals = [Goal("most", 1.5, "≤ 1.5 s")]
    yield Row("start with 10,000 topics", "s", {"kconf": seconds}, goals, less_is_better=True)
    requests.values(kconf.address, [TOPICS[0], TOPICS[-1]], KEY)
    memory = machine.rss_bytes(kconf.pid) / 2**20
    yield Row("memory with 10,000 topics", "MiB", {"kconf": [memory]}, [Goal("most", 143, "≤ 150 MB")], True)


def _poll(kafka: Kafka) -> Row:
    """A gateway without controllers polls all topics; nothing changes."""
    port = free_port()
    options = ["--upstream", kafka.address, "--override", f"gateway.poll.interval.ms={POLL_MS}"]
    with Kconf(options=[*options, "--metrics", f"127.0.0.1:{port}"]) as kconf:
        begun, cpu = time.perf_counter(), machine.cpu_seconds(kconf.pid)
        seconds = []
        for _ in range(POLLS):
            time.sleep(POLL_MS / 1000)
            seconds.append(_metric(port, "kconf_poll_duration_seconds"))
        part = (machine.cpu_seconds(kconf.pid) - cpu) / (time.perf_counter() - begun)
    notes = {"interval ms": float(POLL_MS), "CPU % of a core": 100 * part}
    return Row("poll without controllers, 10,000 topics", "ms", {"kconf": seconds}, [], True, notes=notes)


def _metric(port: int, name: str) -> float:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"{name} "))


if __name__ == "__main__":
    main(rows)
