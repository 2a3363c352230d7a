"""Configs of groups and of client-metrics subscriptions, which exist when they have configs."""

from __future__ import annotations

from collections.abc import Iterator

from kconf.configdef.client_metrics import CLIENT_METRICS as METRICS_KEYS
from kconf.configdef.group import GROUP as GROUP_KEYS
from kconf.configdef.key import ConfigDef
from tests.conformance.differential.ask import Ask
from tests.conformance.differential.draw import APPEND, CLIENT_METRICS, DELETE, GROUP, SET, SUBTRACT, Draw, Op
from tests.conformance.differential.values import candidates

TABLES: dict[int, ConfigDef] = {GROUP: GROUP_KEYS, CLIENT_METRICS: METRICS_KEYS}
_ODD_NAMES = ("", " ", "a b/c", "ä", "x" * 300, ".", "<default>")
_UNKNOWN = ("no.such.key", "retention.ms", "", "group.consumer.session.timeout.ms", "INTERVAL.MS")
_TIMES = (
    "1",
    "100",
    "999",
    "1000",
    "5000",
    "5001",
    "15000",
    "15001",
    "30000",
    "45000",
    "60000",
    "60001",
    "3600000",
    "3600001",
)


def sweep_key(draw: Draw, kind: int, name: str) -> Iterator[Ask]:
    """One key with every text, each on its own resource."""
    texts = tuple(dict.fromkeys((*candidates(TABLES[kind][name]), *_TIMES)))
    names = [draw.name("g") for _ in texts]
    yield draw.incremental(*((kind, each, [(SET, name, text)]) for each, text in zip(names, texts, strict=True)))
    yield draw.describe(*((kind, each) for each in names))
    yield draw.incremental(*((kind, each, [(APPEND, name, "x")]) for each in names[:3]))
    yield draw.replace(*((kind, each, [(name, draw.one(texts))]) for each in names))
    yield draw.replace(*((kind, each, []) for each in names))


def changes(draw: Draw) -> Iterator[Ask]:
    kind = draw.one((GROUP, CLIENT_METRICS))
    names = [draw.name("g") for _ in range(2)]
    for _ in range(draw.random.randint(3, 6)):
        targets = draw.some(names, draw.random.randint(1, 2))
        if draw.chance(0.15):
            targets.append(draw.one(_ODD_NAMES))
        validate_only = draw.chance(0.2)
        if draw.chance(0.3):
            requests = ((kind, each, [(key, value) for _, key, value in _ops(draw, kind, (SET,))]) for each in targets)
            yield draw.replace(*requests, validate_only=validate_only)
        else:
            kinds = (SET, SET, SET, SET, DELETE, APPEND, SUBTRACT)
            yield draw.incremental(
                *((kind, each, _ops(draw, kind, kinds)) for each in targets), validate_only=validate_only
            )
        if draw.chance(0.4):
            filtered = draw.some((*TABLES[kind], *_UNKNOWN), 3) if draw.chance(0.5) else None
            resources = [(kind, each) for each in (*names, draw.one(_ODD_NAMES))]
            yield draw.describe(*resources, names=filtered)
    yield draw.replace(*((kind, each, []) for each in (*names, *_ODD_NAMES[1:])))


def _ops(draw: Draw, kind: int, ops: tuple[int, ...]) -> list[Op]:
    keys = TABLES[kind]
    found: list[Op] = []
    for _ in range(draw.random.choice((0, 1, 1, 2, 3))):
        op, key = draw.one(ops), draw.one(sorted(keys))
        value: str | None = draw.one(_TIMES) if key.endswith(".ms") and draw.chance(0.8) else draw.value(keys[key])
        if draw.chance(0.07):
            key = draw.one(_UNKNOWN)
        if draw.chance(0.05) or op == DELETE:
            value = None
        found.append((op, key, value))
        if draw.chance(0.04):
            found.append((op, key, value))
    return found
