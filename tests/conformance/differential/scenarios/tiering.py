"""Tiered storage of topics: allowed combinations. Without a remote tier on the brokers all are refused."""

from __future__ import annotations

from collections.abc import Iterator

from tests.conformance.differential.ask import Ask
from tests.conformance.differential.draw import DELETE, SET, TOPIC, Draw, topic

_TEXTS = {
    "remote.storage.enable": ("true", "true", "false", "TRUE"),
    "remote.log.copy.disable": ("true", "false"),
    "remote.log.delete.on.disable": ("true", "false"),
    "retention.ms": ("-1", "1000", "100000", "9000000"),
    "retention.bytes": ("-1", "1000", "100000"),
    "local.retention.ms": ("-2", "-1", "500", "1000", "100000", "9000000"),
    "local.retention.bytes": ("-2", "-1", "500", "1000", "100000"),
    "cleanup.policy": ("delete", "compact", "compact,delete", ""),
}


def tiering(draw: Draw) -> Iterator[Ask]:
    names = [draw.name() for _ in range(3)]
    configs = [[("cleanup.policy", "delete"), *_configs(draw)] for _ in names]
    yield draw.create(*(topic(name, 1, 1, configs=each) for name, each in zip(names, configs, strict=True)))
    yield draw.create(*(topic(name, 1, 1, configs=[("cleanup.policy", "delete")]) for name in names))
    for _ in range(draw.random.randint(4, 8)):
        targets = draw.some(names, draw.random.randint(1, 3))
        if draw.chance(0.3):
            yield draw.replace(*((TOPIC, name, _configs(draw)) for name in targets), validate_only=draw.chance(0.2))
        else:
            requests = (
                (TOPIC, name, [(DELETE if draw.chance(0.2) else SET, key, text) for key, text in _configs(draw)])
                for name in targets
            )
            yield draw.incremental(*requests, validate_only=draw.chance(0.2))
    yield draw.delete(*names)


def _configs(draw: Draw) -> list[tuple[str, str]]:
    return [(key, draw.one(_TEXTS[key])) for key in draw.some(_TEXTS, draw.random.randint(0, 3))]
