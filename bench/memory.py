"""Memory usage after all other benchmarks, with 10,000 topics, each of them described and altered.

Alone (`python -m bench.memory`) it measures only the work of this file; in `python -m bench` it runs last.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench import load, machine, requests
from bench.alter import KEY, Alters
from bench.arena import Arena, main
from bench.load import Shape
from bench.peers import Peer
from bench.table import Goal, Row

TOPICS = [f"bench-memory-{n:05}" for n in range(10_000)]
SIX = Goal("part", 6)


def rows(arena: Arena) -> Iterator[Row]:
    arena.prepare(TOPICS)
    for peer in arena.peers:
        _work(peer)
    held = {peer.name: [machine.rss_bytes(peer.pid) / 2**20] for peer in arena.peers}
    yield Row("memory (RSS) after all benchmarks, 10,000 topics", "MiB", held, [SIX], less_is_better=True)


def _work(peer: Peer) -> None:
    """Send the same number of requests of every measured kind to both."""
    each_topic = [requests.describe([name]) for name in TOPICS]
    load.once(peer.address, each_topic, Shape(8, 8))
    load.once(peer.address, [requests.describe([name], details=True) for name in TOPICS], Shape(8, 8))
    many = requests.batches(TOPICS, 1_000)
    load.once(peer.address, [requests.describe(names) for names in many], Shape(1, 1))
    load.once(peer.address, [requests.alter(names, KEY, "300000000") for names in many], Shape(1, 1))
    alters = Alters(8, "bench-memory-alter")
    requests.create_topics(peer.address, alters.topics)
    load.once(peer.address, alters.frames[:256], Shape(8, 1))
    load.once(peer.address, each_topic, Shape(8, 8))


if __name__ == "__main__":
    main(rows)
