"""Configs of broker 1 and of the cluster default.

`validate_only` makes the same checks, so every dynamic key is tried with every text that way. Only values that the real
broker survives are actually set: no listeners, connection limits, large buffers or fewer threads.
"""

from __future__ import annotations

from collections.abc import Iterator

from kconf.configdef.broker import BROKER as KEYS
from kconf.configdef.dynamic import DYNAMIC, LOG_DEFAULTS
from kconf.model.entry import ValueType
from tests.conformance.differential.ask import Ask
from tests.conformance.differential.draw import APPEND, BROKER, DELETE, SET, SUBTRACT, TOPIC, Draw, Op, topic
from tests.conformance.differential.values import candidates

OWN, ALL = "1", ""
DYNAMIC_KEYS = tuple(sorted(DYNAMIC))
_READ_ONLY = tuple(sorted(name for name, key in KEYS.items() if name not in DYNAMIC and not key.legacy))
_APPLIED = (
    *sorted(LOG_DEFAULTS),
    "background.threads",
    "follower.fetch.last.tiered.offset.enable",
    "follower.replication.throttled.rate",
    "group.consumer.assignment.interval.ms",
    "group.coordinator.cached.buffer.max.bytes",
    "leader.replication.throttled.rate",
    "log.cleaner.io.max.bytes.per.second",
    "num.io.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
    "producer.id.expiration.ms",
    "remote.fetch.max.wait.ms",
    "remote.log.manager.copier.thread.pool.size",
    "remote.log.manager.copy.max.bytes.per.second",
    "replica.alter.log.dirs.io.max.bytes.per.second",
    "transaction.partition.verification.enable",
)
# From each of these, a broker can return to its own value in one step. If it cannot, clearing both levels at once
# leaves a real broker with a number that is stored nowhere, and it then refuses every change.
_THREADS = {
    "background.threads": ("5", "8", "10", "16"),
    "num.io.threads": ("4", "5", "8"),
    "num.recovery.threads.per.data.dir": ("1", "3", "4"),
    "num.replica.fetchers": ("1", "2"),
    "remote.log.manager.copier.thread.pool.size": ("5", "10", "20"),
}
_CUSTOM = (
    "my.custom.key",
    "zookeeper.connect",
    "log.message.format.version",
    "retention.ms",
    "a b",
    "metrics.jmx.include",
)
_PREFIXED = (
    "listener.name.plaintext.max.connections",
    "listener.name.plaintext.max.connection.creation.rate",
    "listener.name.plaintext.num.network.threads",
    "listener.name.plaintext.ssl.keystore.location",
    "listener.name.plaintext.ssl.keystore.password",
    "listener.name.plaintext.ssl.key.password",
    "listener.name.plaintext.ssl.client.auth",
    "listener.name.plaintext.sasl.jaas.config",
    "listener.name.plaintext.plain.sasl.jaas.config",
    "listener.name.nowhere.ssl.truststore.type",
    "listener.name.nowhere.max.connections",
    "listener.name.nowhere.sasl.enabled.mechanisms",
    "listener.name.nowhere.log.retention.ms",
    "listener.name.nowhere.no.such.key",
    "listener.name.",
    "listener.name.x",
)
_PREFIXED_TEXTS = ("", "1", "0", "-1", "abc", "JKS", "required", "/no/such/file", "2147483647", "100000")
_NAMES = ("1", "01", "+1", " 1", "2", "-1", "x", "", "1.0", "99999999999", "٣", "0x1", "<default>", "--1", "+")
_OVERRIDES = (
    "127.0.0.1:100",
    "localhost:100000,127.0.0.1:100000",
    "127.0.0.1",
    "no such host:1",
    ":1",
    "a:b",
    "127.0.0.1:-1",
    "127.0.0.1: 5",
)
_LISTENERS = (
    "PLAINTEXT://127.0.0.1:0",
    "SSL://:0",
    "nonsense",
    "PLAINTEXT://h:1,PLAINTEXT://h:2",
    "A://h:1,B://h:1",
    "",
)
_SPECIAL = {
    "listeners": _LISTENERS,
    "listener.security.protocol.map": (
        "PLAINTEXT:PLAINTEXT",
        "PLAINTEXT:SSL,CONTROLLER:PLAINTEXT",
        "nonsense",
        "A:B",
        "",
    ),
    "max.connections.per.ip.overrides": _OVERRIDES,
    "cordoned.log.dirs": ("*", "/no/such/dir", "", "*,*", "*,/x"),
    "principal.builder.class": ("org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",),
    "config.providers": ("", "file", "x,y", "a,,b"),
    "metric.reporters": ("org.apache.kafka.common.metrics.JmxReporter", "", "no.such.Class", "java.lang.String", ","),
    "ssl.client.auth": ("required", "none", "REQUIRED", "nonsense"),
    "ssl.endpoint.identification.algorithm": ("https", "", "nonsense"),
    "sasl.mechanism.inter.broker.protocol": ("GSSAPI", "PLAIN", "", "nonsense"),
}


def texts(name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*_SPECIAL.get(name, ()), *candidates(KEYS[name]))))


def sweep_key(draw: Draw, name: str) -> Iterator[Ask]:
    """One dynamic key with every text, for this broker and the cluster default, as a dry run."""
    for text in texts(name):
        requests = [(BROKER, each, [(SET, name, text)]) for each in (OWN, ALL)]
        if draw.chance(0.2):
            yield draw.replace(*((kind, each, [(name, text)]) for kind, each, _ in requests), validate_only=True)
        else:
            yield draw.incremental(*requests, validate_only=True)
    if KEYS[name].type is ValueType.LIST or draw.chance(0.1):
        for op in (APPEND, SUBTRACT):
            yield draw.incremental((BROKER, OWN, [(op, name, draw.one(texts(name)))]), validate_only=True)


def changes(draw: Draw) -> Iterator[Ask]:
    """Alter both levels repeatedly, with a topic that inherits from them, and then clear them."""
    name = draw.name()
    yield draw.create(topic(name, 1, 1, configs=[("segment.ms", "1000")] if draw.chance(0.3) else ()))
    for _ in range(draw.random.randint(3, 6)):
        yield _alter(draw)
        if draw.chance(0.5):
            yield draw.describe((TOPIC, name))
        if draw.chance(0.3):
            yield draw.create(topic(draw.name("dry"), 1, 1), validate_only=True)
    yield _describe(draw)
    yield draw.clear_brokers()
    yield draw.delete(name)


def _alter(draw: Draw) -> Ask:
    targets = draw.one(((OWN,), (ALL,), (OWN, ALL)))
    if draw.chance(0.2):
        return draw.replace(
            *((BROKER, each, [(key, value) for _, key, value in _ops(draw, (SET,))]) for each in targets)
        )
    kinds = (SET, SET, SET, DELETE, APPEND, SUBTRACT)
    return draw.incremental(*((BROKER, each, _ops(draw, kinds)) for each in targets))


def _ops(draw: Draw, kinds: tuple[int, ...]) -> list[Op]:
    ops: list[Op] = []
    for _ in range(draw.random.choice((0, 1, 1, 2, 3))):
        kind = draw.one(kinds)
        key = draw.one(_APPLIED)
        value: str | None = _likely(draw, key) if key in _THREADS or draw.chance(0.8) else draw.one(texts(key))
        if draw.chance(0.1):
            key, value = draw.one(_CUSTOM), "x"
        elif draw.chance(0.05):
            key, value = draw.one(_READ_ONLY), "1"
        if draw.chance(0.03) or kind == DELETE:
            value = None
        ops.append((kind, key, value))
        if draw.chance(0.03):
            ops.append((kind, key, value))
    return ops


def _likely(draw: Draw, name: str) -> str:
    key = KEYS[name]
    if key.validator is not None and key.validator.choices:
        return draw.one(key.validator.choices)
    if name in _THREADS:
        return draw.one(_THREADS[name])
    return {1: "true", 6: "0.3"}.get(int(key.type), str(draw.random.choice((1000, 5000, 1048576, 50_000_000))))


def _describe(draw: Draw) -> Ask:
    resources = [(BROKER, draw.one(_NAMES)) for _ in range(draw.random.randint(1, 3))]
    names = draw.some((*_APPLIED, *_READ_ONLY, "no.such.key"), 3) if draw.chance(0.4) else None
    return draw.describe(*dict.fromkeys(resources), names=names)


def odd(draw: Draw) -> Iterator[Ask]:
    """Read-only keys, keys for one listener, custom keys, nulls and repetitions, on brokers of every name."""
    for _ in range(6):
        name = draw.one(_NAMES)
        ops = [_odd_op(draw) for _ in range(draw.random.choice((0, 1, 1, 1, 2)))]
        if draw.chance(0.3):
            yield draw.replace((BROKER, name, [(key, value) for _, key, value in ops]), validate_only=True)
        else:
            yield draw.incremental((BROKER, name, ops), validate_only=True)
    yield _describe(draw)


def _odd_op(draw: Draw) -> Op:
    op = draw.one((SET, SET, SET, DELETE, APPEND, SUBTRACT))
    key = draw.one((draw.one(_READ_ONLY), draw.one(_PREFIXED), draw.one(_PREFIXED), draw.one(_CUSTOM), ""))
    value = draw.one(_PREFIXED_TEXTS) if key.startswith("listener") else draw.one(("1", "x", "", "true"))
    return op, key, None if draw.chance(0.1) else value


def listeners(draw: Draw) -> Iterator[Ask]:
    """Set, describe and remove keys for one listener."""
    keys = draw.some(_STORED_PREFIXED, 3)
    yield draw.incremental((BROKER, OWN, [(SET, key, value) for key, value in keys]))
    yield draw.describe((BROKER, OWN))
    yield draw.incremental((BROKER, OWN, [(SET, "max.connections", "100000")]), validate_only=True)
    yield draw.incremental((BROKER, ALL, [(SET, "listener.name.plaintext.max.connections", "100000")]))
    yield draw.incremental((BROKER, OWN, [(APPEND, keys[0][0], "x")]))
    yield draw.clear_brokers()


_STORED_PREFIXED = (
    ("listener.name.plaintext.max.connections", "100000"),
    ("listener.name.plaintext.max.connection.creation.rate", " 100000 "),
    ("listener.name.nowhere.max.connections", "5"),
    ("listener.name.nowhere.ssl.truststore.type", "PEM"),
    ("listener.name.nowhere.ssl.keystore.password", "secret"),
    ("listener.name.nowhere.sasl.jaas.config", "secret"),
    ("listener.name.nowhere.plain.sasl.jaas.config", "secret"),
    ("listener.name.nowhere.no.such.key", "x"),
    ("listener.name.plaintext.plain.sasl.jaas.config", "secret"),
    ("listener.name.plaintext.ssl.client.auth", "required"),
    ("my.custom.key", "x"),
)
