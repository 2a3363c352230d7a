"""Requests that harm a real broker or mislead its users. Few, and run last."""

from __future__ import annotations

from collections.abc import Iterator

from kconf.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from tests.conformance.differential.ask import Ask
from tests.conformance.differential.draw import BROKER, CLIENT_METRICS, GROUP, SET, TOPIC, Draw, topic

_SHORT = 2.0


def huge(draw: Draw) -> Iterator[Ask]:
    """More partitions than a request may have, as a dry run: Kafka would stop halfway."""
    names = [draw.name() for _ in range(2)]
    yield draw.create(*(topic(each, 1, 1) for each in names))
    for counts in ((10_001, 2), (10_002, 2), (9_000, 9_000)):
        requests = [CreatePartitionsTopic(name, number) for name, number in zip(names, counts, strict=True)]
        yield draw.ask("CreatePartitions", CreatePartitionsRequest(requests, 30_000, True))
    yield draw.create(topic(draw.name(), 2147483647, 1), validate_only=True)
    yield draw.create(topic(draw.name(), 10_000, 1), topic(draw.name(), 1, 1), validate_only=True)
    yield draw.delete(*names)


def spelling(draw: Draw) -> Iterator[Ask]:
    """Broker 1 with another spelling of its ID: Kafka accepts it and stores a config that is never used."""
    for name in ("01", "+1"):
        yield draw.incremental((BROKER, name, [(SET, "log.cleaner.backoff.ms", "20000")]))
        yield draw.replace((BROKER, name, []))


def masked(draw: Draw) -> Iterator[Ask]:
    """An invalid value for one listener and a valid one for another: Kafka checks only one of them, by hash order."""
    for name in ("nowhere", "a"):
        bad, good = f"listener.name.{name}.max.connections", "listener.name.plaintext.max.connections"
        yield draw.incremental((BROKER, "", [(SET, bad, "-1"), (SET, good, "100000")]), validate_only=True)


def repeated(draw: Draw) -> Iterator[Ask]:
    """AlterConfigs with a repeated resource: Kafka reports no error and changes nothing."""
    name = draw.name()
    yield draw.create(topic(name, 1, 1))
    for version in draw.versions["AlterConfigs"]:
        requested = (TOPIC, name, [("retention.ms", "1")])
        yield draw.replace(requested, requested, version=version, patience=_SHORT)
    yield draw.delete(name)


def unknown_operation(draw: Draw) -> Iterator[Ask]:
    """Kafka fails the whole request and delays the next one; for a broker, only that resource fails."""
    name = draw.name()
    yield draw.create(topic(name, 1, 1))
    for kind, each in ((TOPIC, name), (GROUP, name), (CLIENT_METRICS, name), (BROKER, "1")):
        yield draw.incremental((kind, each, [(draw.one((4, 9, -1)), "retention.ms", "1")]))
    yield draw.incremental(
        (TOPIC, name, [(7, "retention.ms", "1")]), (GROUP, name, [(SET, "no.such.key", "1")]), validate_only=True
    )
    yield draw.delete(name)
