"""What a real broker does not get over at once. Few, and last."""

from __future__ import annotations

from collections.abc import Iterator

from tests.conformance.differential.ask import Ask
from tests.conformance.differential.draw import BROKER, CLIENT_METRICS, GROUP, SET, TOPIC, Draw, topic

_SHORT = 2.0


def repeated(draw: Draw) -> Iterator[Ask]:
    """AlterConfigs with a resource twice: Kafka says nothing, and changes nothing."""
    name = draw.name()
    yield draw.create(topic(name, 1, 1))
    for version in draw.versions["AlterConfigs"]:
        wish = (TOPIC, name, [("retention.ms", "1")])
        yield draw.replace(wish, wish, version=version, patience=_SHORT)
    yield draw.delete(name)


def unknown_operation(draw: Draw) -> Iterator[Ask]:
    """Kafka fails the whole request, and makes the next one wait; on a broker it is that resource's error."""
    name = draw.name()
    yield draw.create(topic(name, 1, 1))
    for kind, each in ((TOPIC, name), (GROUP, name), (CLIENT_METRICS, name), (BROKER, "1")):
        yield draw.incremental((kind, each, [(draw.one((4, 9, -1)), "retention.ms", "1")]))
    yield draw.incremental(
        (TOPIC, name, [(7, "retention.ms", "1")]), (GROUP, name, [(SET, "no.such.key", "1")]), validate_only=True
    )
    yield draw.delete(name)
