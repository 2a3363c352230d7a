"""IncrementalAlterConfigs of one key, with a new value every time, durable before the response.

Every connection has its own topics, so that the final values are known; they are read back after every round, and once
more from a kconf that was killed in between.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench import requests
from bench.arena import Arena, main
from bench.load import BenchError, Run, Shape
from bench.peers import Kconf, Peer
from bench.table import Goal, Row

KEY = "retention.ms"
SHAPES = {Shape(1, 1): 50.0, Shape(8, 1): 150.0, Shape(64, 1): 200.0}
TOPICS_EACH = 4  # of a connection
VALUES = 64


@dataclass(frozen=True, slots=True)
class Alters:
    """The frames for a number of connections, and what each of them sets."""

    connections: int
    prefix: str
    first_value: int = 100_000_000  # all values have the same number of digits, so all responses have the same size

    @property
    def topics(self) -> list[str]:
        return [self._topic(c, n) for c in range(self.connections) for n in range(TOPICS_EACH)]

    @property
    def sets(self) -> list[tuple[str, str]]:
        """Topic and value of each frame; frames are assigned to connections in turn, so each has its own topics."""
        return [
            (self._topic(c, n), str(self.first_value + n * self.connections + c))
            for n in range(VALUES)
            for c in range(self.connections)
        ]

    @property
    def frames(self) -> list[bytes]:
        return [requests.alter([topic], KEY, value) for topic, value in self.sets]

    def left_behind(self, sent: Sequence[int]) -> dict[str, str]:
        """The last value of each topic after each connection sent this many frames."""
        last: dict[str, str] = {}
        for c, count in enumerate(sent):
            hand = self.sets[c :: self.connections]
            last.update(hand[n % len(hand)] for n in range(max(0, count - len(hand)), count))
        return last

    def _topic(self, connection: int, number: int) -> str:
        return f"{self.prefix}-{connection:03}-{number % TOPICS_EACH}"


def rows(arena: Arena) -> Iterator[Row]:
    for shape, goal in SHAPES.items():
        yield from _rows(arena, shape, Goal("times", goal))
    for peer in arena.peers:
        if isinstance(peer, Kconf):
            check_crash(arena, peer)


def _rows(arena: Arena, shape: Shape, goal: Goal) -> Iterator[Row]:
    alters = Alters(shape.connections, f"bench-alter-{shape.connections}")
    arena.prepare(alters.topics)
    frames = alters.frames

    def measure(peer: Peer) -> Run:
        # Twice as long as others: Kafka responds to 64 connections in waves of more than a second.
        run = arena.run(peer, frames, shape, times=2)
        check_alters(peer, alters, run)
        return run

    made = arena.rounds(measure)
    notes = {"p99": made.series(lambda run: run.p99), "max": made.series(lambda run: run.max)}
    rates, p50 = made.series(lambda run: run.rate), made.series(lambda run: run.p50)
    yield Row(f"alter one key, {shape}", "/s", rates, [goal], others=made.others, notes=notes)
    goals = [Goal("part", 50)] if shape == Shape(8, 1) else []
    yield Row(f"alter one key, {shape}, p50", "ms", p50, goals, less_is_better=True, others=made.others)


def check_alters(peer: Peer, alters: Alters, run: Run) -> None:
    """Check that responses have no errors, and that the last values were set."""
    for answer in [*run.first, *run.last]:
        requests.check_altered(requests.read("IncrementalAlterConfigs", answer), 1)
    check_left_behind(peer, alters.left_behind(run.sent))


def check_left_behind(peer: Peer, expected: dict[str, str]) -> float:
    """Read the values back; returns the seconds until they were visible."""
    began = time.monotonic()
    while True:
        found = requests.values(peer.address, expected, KEY)
        wrong = [topic for topic, value in expected.items() if found.get(topic) != value]
        if not wrong:
            return time.monotonic() - began
        if time.monotonic() - began > peer.shows_writes_within:
            raise BenchError(f"{peer.name}: {len(wrong)} topics do not have their last value, such as {wrong[0]}.")
        time.sleep(0.05)


def check_crash(arena: Arena, peer: Kconf) -> None:
    """Check that acknowledged changes survive a SIGKILL."""
    alters = Alters(8, "bench-crash")
    requests.create_topics(peer.address, alters.topics)
    run = arena.run(peer, alters.frames, Shape(8, 1), times=0.5)
    peer.crash()
    check_left_behind(peer, alters.left_behind(run.sent))


if __name__ == "__main__":
    main(rows)
