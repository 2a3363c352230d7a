"""Describes during alters: the tail latency of describes, compared with that on an idle server.

8 connections describe the same topics that 8 others alter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench import load, requests
from bench.alter import Alters, check_alters
from bench.arena import Arena, main
from bench.load import BenchError, Run, Shape
from bench.peers import Peer
from bench.table import Goal, Row

SHAPE = Shape(8, 1)


@dataclass(frozen=True, slots=True)
class Mixed:
    quiet: Run
    busy: Run
    alters: Run


def rows(arena: Arena) -> Iterator[Row]:
    alters = Alters(SHAPE.connections, "bench-mixed")
    arena.prepare(alters.topics)
    # Every topic has a value of the final length from the start, so that all responses have the same size.
    for peer in arena.peers:
        load.once(peer.address, alters.frames[: len(alters.topics)], SHAPE)
    describes = [requests.describe([topic]) for topic in alters.topics]

    def measure(peer: Peer) -> Mixed:
        quiet = arena.run(peer, describes, SHAPE)
        seconds, warm_up = arena.settings.seconds, arena.settings.warm_up
        behind = load.start(peer.address, alters.frames, SHAPE, seconds=seconds + 1.0, warm_up=warm_up)
        busy = arena.run(peer, describes, SHAPE, same="size")
        mixed = Mixed(quiet, busy, behind.result())
        for answer in [*quiet.first, *busy.first, *busy.last]:
            requests.check_described(requests.read("DescribeConfigs", answer))
        if busy.body_sizes != quiet.body_sizes:
            raise BenchError(f"{peer.name}: the responses to describes have different sizes while alters run.")
        check_alters(peer, alters, mixed.alters)
        return mixed

    made = arena.rounds(measure)
    notes = {
        "describes/s alone": made.series(lambda each: each.quiet.rate),
        "describes/s during alters": made.series(lambda each: each.busy.rate),
        "alters/s": made.series(lambda each: each.alters.rate),
    }
    quiet, busy = made.series(lambda each: each.quiet.p99), made.series(lambda each: each.busy.p99)
    yield Row("describes 8×1 alone, p99", "ms", quiet, less_is_better=True, others=made.others)
    yield Row("describes 8×1 while alters run 8×1, p99", "ms", busy, less_is_better=True, others=made.others)
    times, goals = made.series(lambda each: each.busy.p99 / each.quiet.p99), [Goal("most", 3, "kconf ≤ 3×")]
    yield Row("… as a multiple of p99 alone", "×", times, goals, less_is_better=True, others=made.others, notes=notes)
    yield Row("… alters meanwhile", "/s", made.series(lambda each: each.alters.rate), others=made.others)
    yield Row("… describes meanwhile", "/s", made.series(lambda each: each.busy.rate), others=made.others)


if __name__ == "__main__":
    main(rows)
