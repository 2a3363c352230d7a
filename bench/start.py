"""The time from process start to the first response to ApiVersions, with an empty store and with 10,000 topics."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from bench import requests
from bench.arena import MAKERS, Arena, main
from bench.load import BenchError
from bench.peers import Peer
from bench.table import Goal, Row

TOPICS = [f"bench-start-{n:05}" for n in range(10_000)]


def rows(arena: Arena) -> Iterator[Row]:
    with contextlib.ExitStack() as stack:
        peers = [stack.enter_context(MAKERS[name](arena.settings)) for name in arena.names]
        goals = [Goal("part", 6, "≥ 6× faster"), Goal("most", 0.4, "≤ 0.4 s")]
        yield _row(arena, peers, "start with an empty store", goals)
        for peer in peers:
            requests.create_topics(peer.address, TOPICS, requests.OVERRIDES)
        yield _row(arena, peers, "start with 10,000 topics, 3 overrides each", [Goal("most", 1.0, "≤ 1 s")])
        for peer in peers:
            _check_there(peer)


def _row(arena: Arena, peers: list[Peer], work: str, goals: list[Goal]) -> Row:
    def measure(peer: Peer) -> float:
        peer.restart()
        return peer.start_seconds

    made = arena.rounds(measure, peers)
    return Row(work, "s", made.by_peer, goals, less_is_better=True, others=made.others)


def _check_there(peer: Peer) -> None:
    """Check that the topics exist after the start."""
    for key, value in requests.OVERRIDES.items():
        if requests.values(peer.address, [TOPICS[0], TOPICS[-1]], key) != {TOPICS[0]: value, TOPICS[-1]: value}:
            raise BenchError(f"{peer.name} lost {key} of its topics during a restart.")


if __name__ == "__main__":
    main(rows)
