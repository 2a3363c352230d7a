"""min.insync.replicas at every level; with eligible leader replicas, the cluster default cannot be removed (KIP-966).

Both levels of the feature are tested: 0 with a minimal server.properties, 1 with a full one, which also sets the key.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.conformance.differential.ask import Ask
from tests.conformance.differential.draw import APPEND, BROKER, DELETE, SET, SUBTRACT, TOPIC, Draw, Op, topic
from tests.conformance.differential.scenarios.broker_configs import ALL, OWN

KEY = "min.insync.replicas"
_OTHER = "log.retention.ms"
_TEXTS = ("1", "2", "2", "3", " 4 ", "0", "-1", "x", "")


def changes(draw: Draw) -> Iterator[Ask]:
    name = draw.name()
    levels = ((BROKER, ALL), (BROKER, ALL), (BROKER, OWN), (TOPIC, name))
    yield draw.create(topic(name, 1, 1))
    yield draw.describe(*dict.fromkeys(levels), names=[KEY], synonyms=True)
    for _ in range(4):
        kind, each = draw.one(levels)
        if draw.chance(0.3):
            configs = [(KEY, draw.one(_TEXTS))] if draw.chance(0.5) else []
            more = [(_OTHER if kind == BROKER else "retention.ms", "1000")] if draw.chance(0.5) else []
            yield draw.replace((kind, each, [*configs, *more]), validate_only=draw.chance(0.5))
        else:
            others: list[Op] = [(SET, "retention.ms" if kind == TOPIC else _OTHER, "2000")] if draw.chance(0.3) else []
            yield draw.incremental((kind, each, [*others, _op(draw)]), validate_only=draw.chance(0.4))
        yield draw.describe((TOPIC, name), names=[KEY], synonyms=True)
    yield draw.clear_brokers()
    yield draw.delete(name)


def _op(draw: Draw) -> Op:
    op = draw.one((SET, SET, DELETE, DELETE, APPEND, SUBTRACT))
    return op, KEY, None if op == DELETE else draw.one(_TEXTS)
