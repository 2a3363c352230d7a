"""Versions that 3.x supports and 4.3.1 does not, with keys that are the same in both."""

from __future__ import annotations

from collections.abc import Iterator

from tests.conformance.differential.ask import Ask
from tests.conformance.differential.draw import BAD_NAMES, BROKER, TOPIC, Draw, topic

_OVERRIDES = (
    ("retention.ms", " 5000 "),
    ("cleanup.policy", "compact , delete"),
    ("preallocate", "TRUE"),
    ("min.cleanable.dirty.ratio", "0.50"),
    ("follower.replication.throttled.replicas", "*"),
)
_BROKER_KEYS = (
    *("node.id", "num.io.threads", "log.retention.hours", "log.retention.ms", "log.cleanup.policy"),
    *("ssl.keystore.password", "listeners", "compression.type", "no.such.key"),
)


def describe(draw: Draw) -> Iterator[Ask]:
    """DescribeConfigs without sources: topics with overrides, this broker, all brokers, and missing resources."""
    name = draw.name()
    yield draw.create(topic(name, 1, 1, configs=draw.some(_OVERRIDES, 3)))
    yield draw.describe((TOPIC, name))
    yield draw.describe((TOPIC, name), (TOPIC, draw.one(BAD_NAMES)), (TOPIC, draw.name("missing")), names=[])
    yield draw.describe((BROKER, "1"), names=draw.some(_BROKER_KEYS, 5))
    yield draw.describe((BROKER, ""), (BROKER, draw.one(("2", "x", "-1"))))
    yield draw.describe((TOPIC, name), (draw.one((0, 1, 3, 99)), name))
    yield draw.describe((TOPIC, name), names=["retention.ms", "segment.ms", "preallocate", "no.such.key"])
    yield draw.delete(name)
