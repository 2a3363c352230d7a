"""Resources of all types in one request: each has its own result, in the order of the request."""

from __future__ import annotations

from collections.abc import Iterator

from tests.conformance.differential.ask import Ask
from tests.conformance.differential.draw import (
    BROKER,
    BROKER_LOGGER,
    CLIENT_METRICS,
    DELETE,
    GROUP,
    SET,
    TOPIC,
    Draw,
    Op,
    topic,
)

_GOOD: dict[int, Op] = {
    TOPIC: (SET, "retention.ms", "5000"),
    BROKER: (SET, "log.cleaner.backoff.ms", "20000"),
    BROKER_LOGGER: (SET, "root", "INFO"),
    CLIENT_METRICS: (SET, "interval.ms", "5000"),
    GROUP: (SET, "consumer.session.timeout.ms", "50000"),
}
_BAD: tuple[Op, ...] = (
    (SET, "retention.ms", "x"),
    (SET, "no.such.key", "1"),
    (SET, "node.id", "7"),
    (SET, "root", "LOUD"),
    (SET, "retention.ms", None),
    (DELETE, "no.such.key", None),
)
_LONG = ",".join(["0:1"] * 8_000)


def resources(draw: Draw) -> Iterator[Ask]:
    name = draw.name()
    yield draw.create(topic(name, 1, 1))
    names = {
        TOPIC: (name, draw.name("missing"), ""),
        BROKER: ("1", "", "2"),
        BROKER_LOGGER: ("1", "2"),
        CLIENT_METRICS: (name, ""),
        GROUP: (name, ""),
        9: (name,),
    }
    for _ in range(3):
        requests = [_requested(draw, names) for _ in range(draw.random.randint(2, 7))]
        distinct = [*{(kind, each): (kind, each, ops) for kind, each, ops in requests}.values()]
        validate_only = draw.chance(0.3)
        if draw.chance(0.3):
            pairs = ((kind, each, [(key, value) for _, key, value in ops]) for kind, each, ops in distinct)
            yield draw.replace(*pairs, validate_only=validate_only)
        else:
            yield draw.incremental(*requests, validate_only=validate_only)
        wanted = [(kind, draw.one(names[kind])) for kind in draw.some([*_GOOD], 4)]
        yield draw.describe(*wanted, names=draw.one((None, ["retention.ms", "root", "interval.ms", "retention.ms"])))
    yield draw.incremental((TOPIC, name, [(SET, "follower.replication.throttled.replicas", _LONG)]))
    yield draw.clear_brokers()
    yield draw.replace((CLIENT_METRICS, name, []), (GROUP, name, []))
    yield draw.incremental((BROKER_LOGGER, "1", [(SET, "root", "INFO")]))
    yield draw.describe((TOPIC, name), (9, name))  # an unknown type fails its neighbors too
    yield draw.delete(name)


def _requested(draw: Draw, names: dict[int, tuple[str, ...]]) -> tuple[int, str, list[Op]]:
    kind = draw.one([*names])
    op = _GOOD[kind] if kind in _GOOD and draw.chance(0.6) else draw.one(_BAD)
    return kind, draw.one(names[kind]), [op]
