"""DescribeConfigs of one topic, all its keys, plain and with synonyms and documentation."""

from __future__ import annotations

from collections.abc import Iterator

from bench import requests
from bench.arena import Arena, main
from bench.load import Run, Shape
from bench.peers import Peer
from bench.table import Goal, Row

TOPIC = "bench-describe"
GOALS = {Shape(1, 1): 2.0, Shape(8, 1): 3.0, Shape(8, 8): 5.0}


def rows(arena: Arena) -> Iterator[Row]:
    arena.prepare([TOPIC])
    for details in (False, True):
        for shape, goal in GOALS.items():
            yield _row(arena, shape, [Goal("times", goal)], details=details)
    # kconf caches responses by the bytes of the request. This measures requests that never repeat.
    for shape in GOALS:
        yield _row(arena, shape, [], numbered=True)


def _row(arena: Arena, shape: Shape, goals: list[Goal], *, details: bool = False, numbered: bool = False) -> Row:
    question = requests.describe([TOPIC], details=details)
    frames = [requests.numbered(question) if numbered else question]

    def measure(peer: Peer) -> Run:
        run = arena.run(peer, frames, shape, numbered=numbered)
        for answer in [*run.first, *run.last]:
            requests.check_described(requests.read("DescribeConfigs", answer), details=details)
        return run

    made = arena.rounds(measure)
    what = "with synonyms and documentation" if details else "all keys"
    if numbered:
        what += ", no request twice"
    notes = {
        "p50": made.series(lambda run: run.p50),
        "p99": made.series(lambda run: run.p99),
        "response bytes": made.series(lambda run: run.body_sizes[1]),
        "load generator µs per request": made.series(lambda run: run.cpu_seconds / sum(run.sent) * 1e6),
    }
    rates = made.series(lambda run: run.rate)
    return Row(f"describe a topic, {what}, {shape}", "/s", rates, goals, others=made.others, notes=notes)


if __name__ == "__main__":
    main(rows)
