"""Topic configs: every key with many texts, and alterations of every kind."""

from __future__ import annotations

from collections.abc import Iterator

from kconf.configdef.topic import TOPIC as ALL_KEYS
from tests.conformance.differential.ask import Ask
from tests.conformance.differential.draw import APPEND, BAD_NAMES, DELETE, SET, SUBTRACT, TOPIC, Draw, Op, topic
from tests.conformance.differential.values import candidates

KEYS = {name: key for name, key in ALL_KEYS.items() if not key.legacy}
_LISTS = tuple(name for name, key in KEYS.items() if key.default is not None and key.type == 7)
UNKNOWN = ("no.such.key", "retention", "log.retention.ms", "message.format.version", "", "RETENTION.MS", "a b", "ключ")


def sweep_key(draw: Draw, name: str) -> Iterator[Ask]:
    """One key with every text, each on its own topic."""
    texts = candidates(KEYS[name])
    names = [draw.name(name) for _ in texts]
    yield draw.create(*(topic(each) for each in names))
    yield draw.incremental(*((TOPIC, each, [(SET, name, text)]) for each, text in zip(names, texts, strict=True)))
    yield draw.describe(*((TOPIC, each) for each in names), synonyms=False)
    yield draw.incremental(*((TOPIC, each, [(draw.one((APPEND, SUBTRACT)), name, draw.one(texts))]) for each in names))
    yield draw.replace(*((TOPIC, each, [(name, draw.one(texts))]) for each in names))
    yield draw.create(*(topic(draw.name("v"), 1, 1, configs=[(name, text)]) for text in texts), validate_only=True)
    yield draw.delete(*names)


def changes(draw: Draw) -> Iterator[Ask]:
    """Alter a few topics repeatedly."""
    names = [draw.name() for _ in range(draw.random.randint(1, 3))]
    configs = [(key, draw.value(KEYS[key])) for key in draw.some(KEYS, draw.random.randint(0, 3))]
    yield draw.create(*(topic(each, 1, 1, configs=configs if index == 0 else ()) for index, each in enumerate(names)))
    for _ in range(draw.random.randint(3, 6)):
        yield _alter(draw, names)
        if draw.chance(0.4):
            yield _describe(draw, names)
    yield _describe(draw, names)
    yield draw.delete(*names)


def _alter(draw: Draw, names: list[str]) -> Ask:
    validate_only = draw.chance(0.2)
    targets = [(TOPIC, name) for name in draw.some(names, draw.random.randint(1, len(names)))]
    if draw.chance(0.15):
        targets.append((TOPIC, draw.one((*BAD_NAMES, draw.name("missing")))))
    if draw.chance(0.1):
        targets.append((draw.one((0, 1, 3, 5, 7, 9, 64, 127, -1)), draw.one(names)))
    if draw.chance(0.3):
        return draw.replace(
            *((kind, name, [(key, value) for _, key, value in _ops(draw, (SET,))]) for kind, name in targets),
            validate_only=validate_only,
        )
    if draw.chance(0.1):
        targets.append(targets[0])  # Kafka does not respond to AlterConfigs then; see stalls.py
    return draw.incremental(
        *((kind, name, _ops(draw, (SET, SET, SET, DELETE, APPEND, SUBTRACT))) for kind, name in targets),
        validate_only=validate_only,
    )


def _ops(draw: Draw, kinds: tuple[int, ...]) -> list[Op]:
    ops: list[Op] = []
    for _ in range(draw.random.choice((0, 1, 1, 1, 2, 3))):
        kind = draw.one(kinds)
        key = draw.one(_LISTS) if kind in (APPEND, SUBTRACT) and draw.chance(0.7) else draw.one(sorted(KEYS))
        value: str | None = _likely(draw, key) if draw.chance(0.75) else draw.value(KEYS[key])
        if draw.chance(0.05):
            key = draw.one(UNKNOWN)
        if draw.chance(0.05) or (kind == DELETE and draw.chance(0.7)):
            value = None
        ops.append((kind, key, value))
        if draw.chance(0.05):
            ops.append((draw.one(kinds), key, "1"))
    return ops


def _likely(draw: Draw, name: str) -> str:
    """A text that is probably valid for the key, so that something changes."""
    key = KEYS[name]
    if key.validator is not None and key.validator.choices:
        return draw.one(key.validator.choices)
    if "throttled" in name:
        return draw.one(("*", "0:1", "1:1,2:1"))
    return {1: "true", 6: "0.3"}.get(int(key.type), str(draw.random.choice((1, 2, 5, 9, 1048576, 50_000_000))))


def _describe(draw: Draw, names: list[str]) -> Ask:
    resources = [(TOPIC, name) for name in names]
    if draw.chance(0.2):
        resources.append((TOPIC, draw.one((*BAD_NAMES, draw.name("missing")))))
    if draw.chance(0.1):
        resources.append((draw.one((0, 1, 3, 5, 9, 64)), "x"))
    if draw.chance(0.1):
        resources.append(resources[0])
    filtered = draw.some((*KEYS, *UNKNOWN), draw.random.randint(0, 4)) if draw.chance(0.4) else None
    return draw.describe(*resources, names=filtered)
