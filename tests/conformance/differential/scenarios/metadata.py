"""Metadata, DescribeCluster and DescribeTopicPartitions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kconf.protocol.messages.describe_cluster import DescribeClusterRequest
from kconf.protocol.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest, TopicRequest
from kconf.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.conformance.differential.ask import Ask, id_of
from tests.conformance.differential.draw import BAD_NAMES, Draw, topic


def metadata(draw: Draw) -> Iterator[Ask]:
    names = [draw.name() for _ in range(3)]
    yield draw.create(*(topic(each, draw.one((1, 2, 5)), 1) for each in names), version=7)
    for _ in range(6):
        yield _metadata(draw, names)
    yield draw.delete(names[0])
    yield _metadata(draw, names)
    yield draw.delete(*names)


def _metadata(draw: Draw, names: list[str]) -> Ask:
    version = draw.one(draw.versions["Metadata"])
    wanted: list[MetadataRequestTopic] | None
    wanted = [_wanted(draw, names, version) for _ in range(draw.random.choice((0, 1, 1, 2, 4)))]
    if version >= 1 and draw.chance(0.15):
        wanted = None
    request = MetadataRequest(wanted, False, draw.chance(0.5), draw.chance(0.5))
    return draw.ask("Metadata", request, version)


def _wanted(draw: Draw, names: list[str], version: int) -> MetadataRequestTopic:
    name = draw.one((*names, *names, *BAD_NAMES, draw.name("missing"), "__consumer_offsets"))
    if version < 4:  # this version has no flag to forbid auto-creation
        name = draw.one((*names, *BAD_NAMES))
    if version >= 10 and draw.chance(0.35):
        wrong = draw.random.randbytes(16)
        return draw.one(
            (
                MetadataRequestTopic(id_of(draw.one(names)), None),
                MetadataRequestTopic(id_of(draw.one(names)), name),
                MetadataRequestTopic(wrong, None),
                MetadataRequestTopic(wrong, name),
                MetadataRequestTopic(name=None),
            )
        )
    return MetadataRequestTopic(name=name)


def auto_create(draw: Draw) -> Iterator[Ask]:
    """A requested topic that does not exist is created; this response or the next one contains it."""
    name = draw.name()
    version = draw.one(draw.versions["Metadata"])
    odd = draw.one(("", ".", "a b", "x" * 250))
    for wanted in ([name, odd], [name]):
        request = MetadataRequest([MetadataRequestTopic(name=each) for each in wanted], True)
        yield draw.ask("Metadata", request, version, moving=True)
    yield draw.ask("Metadata", MetadataRequest([MetadataRequestTopic(name=name)], True), 12, moving=True)
    yield replace(draw.describe((2, name)), moving=True)
    yield draw.delete(name)


def cluster(draw: Draw) -> Iterator[Ask]:
    for _ in range(3):
        endpoint = draw.one((1, 1, 1, 2, 3, 0, -1))
        yield draw.ask("DescribeCluster", DescribeClusterRequest(draw.chance(0.5), endpoint, draw.chance(0.5)))


def partitions(draw: Draw) -> Iterator[Ask]:
    names = [draw.name() for _ in range(3)]
    yield draw.create(*(topic(each, draw.one((1, 3, 5)), 1) for each in names))
    for _ in range(6):
        wanted = draw.some((*names, draw.name("missing"), draw.one(BAD_NAMES)), draw.random.randint(0, 4))
        if wanted and draw.chance(0.2):
            wanted.append(wanted[0])
        cursor = None
        if draw.chance(0.5):
            name = draw.one((*names, *wanted, draw.name("missing"), "", "zzz"))
            cursor = Cursor(name, draw.one((0, 0, 1, 2, 4, 5, 100, -1)))
        limit = draw.one((2000, 2000, 1, 2, 4, 0, -1, 100_000))
        topics = [TopicRequest(each) for each in wanted]
        yield draw.ask("DescribeTopicPartitions", DescribeTopicPartitionsRequest(topics, limit, cursor))
    yield draw.delete(*names)
