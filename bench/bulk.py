"""Many topics in a request: 2,000 topics altered and described 1,000 at a time, and created 500 at a time.

One connection, one request in flight; figures are topics per second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from bench import load, requests
from bench.alter import KEY, check_left_behind
from bench.arena import Arena, main
from bench.load import Run, Shape
from bench.peers import Peer
from bench.table import Goal, Row

TOPICS = [f"bench-bulk-{n:04}" for n in range(2_000)]
IN_A_REQUEST = 1_000
CREATED_IN_A_REQUEST = 500
TWICE = Goal("times", 2)
ONE = Shape(1, 1)


def rows(arena: Arena) -> Iterator[Row]:
    arena.prepare(TOPICS)
    yield _altered(arena)
    yield _described(arena, [TWICE])
    yield _described(arena, [], numbered=True)
    yield _created(arena)


def _altered(arena: Arena) -> Row:
    many = requests.batches(TOPICS, IN_A_REQUEST)
    fresh = iter(range(200_000_000, 900_000_000))
    visible: dict[str, list[float]] = {}

    def measure(peer: Peer) -> Run:
        # New values each time: a broker may lag by many requests, and must not seem to have caught up.
        values = [str(next(fresh)) for _ in range(64)]
        frames = [requests.alter(names, KEY, value) for value in values for names in many]
        run = arena.run(peer, frames, ONE)
        for answer in [*run.first, *run.last]:
            requests.check_altered(requests.read("IncrementalAlterConfigs", answer), IN_A_REQUEST)
        last = (run.sent[0] - 1) % len(frames)
        waited = check_left_behind(peer, dict.fromkeys(many[last % len(many)], values[last // len(many)]))
        visible.setdefault(peer.name, []).append(waited)
        return run

    row = _row(arena, measure, f"alter 2,000 topics, {IN_A_REQUEST:,} in a request", [TWICE])
    return replace(row, notes={**row.notes, "seconds until described": visible})


def _described(arena: Arena, goals: list[Goal], *, numbered: bool = False) -> Row:
    frames = [requests.describe(names) for names in requests.batches(TOPICS, IN_A_REQUEST)]
    if numbered:
        frames = [requests.numbered(each) for each in frames]

    def measure(peer: Peer) -> Run:
        run = arena.run(peer, frames, ONE, numbered=numbered)
        for answer in run.first:
            requests.check_described(requests.read("DescribeConfigs", answer), IN_A_REQUEST)
        return run

    work = f"describe 2,000 topics, {IN_A_REQUEST:,} in a request"
    return _row(arena, measure, work + (", no request twice" if numbered else ""), goals)


def _row(arena: Arena, measure: Callable[[Peer], Run], work: str, goals: list[Goal]) -> Row:
    made = arena.rounds(measure)
    rates = made.series(lambda run: run.rate * IN_A_REQUEST)
    notes = {"p50": made.series(lambda run: run.p50)}
    return Row(f"{work}: topics", "/s", rates, goals, others=made.others, notes=notes)


def _created(arena: Arena) -> Row:
    fresh = iter(range(1_000_000))

    def measure(peer: Peer) -> Run:
        names = [f"bench-create-{next(fresh):06}" for _ in range(len(TOPICS))]
        frames = [requests.create(each) for each in requests.batches(names, CREATED_IN_A_REQUEST)]
        run = load.once(peer.address, frames, ONE)
        for answer in run.first:
            requests.check_created(requests.read("CreateTopics", answer), CREATED_IN_A_REQUEST)
        return run

    made = arena.rounds(measure)
    rates = made.series(lambda run: len(TOPICS) / run.seconds)
    return Row(f"create topics, {CREATED_IN_A_REQUEST} in a request: topics", "/s", rates, [TWICE], others=made.others)


if __name__ == "__main__":
    main(rows)
