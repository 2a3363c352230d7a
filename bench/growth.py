"""Whether a describe is slower with many topics: 100,000 topics compared with 100, measured in turns.

Only kconf: a broker cannot have 100,000 topics on such a machine. Topics are described in random order from a fixed
seed, so that neither a single topic nor the order of creation is favored.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator, Sequence

from bench import load, machine, requests
from bench.arena import Arena, main
from bench.load import BenchError, Run, Shape
from bench.peers import Kconf
from bench.table import Goal, Row

SHAPE = Shape(8, 8)
FEW, MANY = 100, 100_000
NAME = "bench-growth.warehouse.orders-{:06}.events"  # realistic length for that many topics


def rows(arena: Arena) -> Iterator[Row]:
    if "kconf" not in arena.names:
        return
    with contextlib.ExitStack() as stack:
        few, many = (stack.enter_context(_Grown(count)) for count in (FEW, MANY))
        yield Row(f"create {MANY:,} topics with 3 overrides: topics", "/s", {"kconf": [MANY / many.created_in]})
        first = load.once(many.address, many.frames, SHAPE)
        many.check(first)
        yield Row(f"describe each of {MANY:,} topics, first time", "/s", {"kconf": [first.rate]})
        made = arena.rounds(lambda peer: arena.run(peer, _frames(peer), SHAPE), [few, many])
        for peer in (few, many):
            peer.check(made.by_peer[peer.name][-1])
        rates = made.series(lambda run: run.rate)
        for peer in (few, many):
            work = f"describe {peer.count:,} topics in turns, {SHAPE}"
            yield Row(work, "/s", {"kconf": rates[peer.name]}, others=made.others)
        against = [b / a for a, b in zip(rates[few.name], rates[many.name], strict=True)]
        goal = Goal("least", 0.9, "≥ 0.9")
        work = f"describe rate with {MANY:,} topics compared with {FEW}"
        yield Row(work, "×", {"kconf": against}, [goal], others=made.others)
        yield Row(f"memory (RSS) with {MANY:,} topics", "MiB", {"kconf": [machine.rss_bytes(many.pid) / 2**20]})


class _Grown(Kconf):
    """kconf with this many topics."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count
        self.name = f"kconf with {count:,}"
        self.topics = [NAME.format(n) for n in range(count)]
        random.Random(21).shuffle(self.topics)
        self.frames = [requests.describe([name]) for name in self.topics]
        self.created_in = 0.0

    def __enter__(self) -> _Grown:
        super().__enter__()
        creates = [requests.create(names, requests.OVERRIDES) for names in requests.batches(sorted(self.topics), 500)]
        self.created_in = load.once(self.address, creates, Shape(1, 1)).seconds
        return self

    def check(self, run: Run) -> None:
        """Check that all responses have the same size, because names and values do, and that samples are complete."""
        for answer in run.first:
            requests.check_described(requests.read("DescribeConfigs", answer))
        if run.body_sizes[0] != run.body_sizes[1]:
            raise BenchError(
                f"{self.name}: the responses have different sizes, {run.body_sizes[0]} to {run.body_sizes[1]} bytes."
            )


def _frames(peer: object) -> Sequence[bytes]:
    assert isinstance(peer, _Grown)
    return peer.frames


if __name__ == "__main__":
    main(rows)
