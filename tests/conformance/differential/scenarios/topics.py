"""Create topics, add partitions and delete topics, with invalid numbers, names, assignments and repetitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kconf.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kconf.protocol.messages.create_topics import CreatableTopic
from kconf.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tests.conformance.differential.ask import Ask, id_of
from tests.conformance.differential.draw import BAD_NAMES, TOPIC, Draw, topic

_COUNTS = (-1, -1, -1, 1, 1, 2, 3, 0, -2, -2147483648, 10_001)
_FACTORS = (-1, -1, -1, 1, 1, 1, 0, 2, -2, 32767, -32768)
_TIMEOUTS = (30_000, 30_000, 30_000, 30_000, 1000, 2147483647, 0, -1)
_ASSIGNMENTS: tuple[tuple[tuple[int, Sequence[int]], ...], ...] = (
    ((0, [1]),),
    ((0, [1]), (1, [1])),
    ((1, [1]), (0, [1])),
    ((0, [1]), (0, [1])),
    ((1, [1]),),
    ((-1, [1]),),
    ((0, []),),
    ((0, [2]),),
    ((0, [1, 1]),),
    ((0, [1, 2]),),
    ((0, [1]), (1, [1, 2])),
    ((0, [1]), (1, [])),
    ((0, [-1]),),
)
_ADDED: tuple[Sequence[Sequence[int]], ...] = (
    *([], [[1]], [[1], [1]], [[1], [1], [1]], [[]]),
    *([[2]], [[1, 1]], [[1, 2]], [[1], []], [[-1]]),
)
_CONFIGS: tuple[Sequence[tuple[str, str | None]], ...] = (
    [],
    [],
    [("retention.ms", "5000")],
    [("retention.ms", " 5 "), ("preallocate", "TRUE")],
    [("retention.ms", "1"), ("retention.ms", "2")],
    [("retention.ms", None)],
    [("no.such.key", "1")],
    [("cleanup.policy", "zip")],
    [("min.compaction.lag.ms", "10"), ("max.compaction.lag.ms", "5")],
    [("segment.ms", None), ("segment.ms", "5")],
    [("segment.ms", "5"), ("no.such.key", None)],
    [("internal.segment.bytes", "1000")],
    [("remote.storage.enable", "true")],
)
_INTERNAL = (
    "__consumer_offsets",
    "__transaction_state",
    "__share_group_state",
    "__cluster_metadata",
    "__remote_log_metadata",
)


def create(draw: Draw) -> Iterator[Ask]:
    made = [draw.name() for _ in range(3)]
    yield draw.create(*(topic(each, draw.one((-1, 1, 2)), -1, configs=draw.one(_CONFIGS[:4])) for each in made[:2]))
    for _ in range(draw.random.randint(2, 5)):
        requests = [_requested(draw, made) for _ in range(draw.random.choice((0, 1, 1, 2, 4)))]
        if requests and draw.chance(0.15):
            requests.append(draw.one(requests))
        dry = draw.chance(0.5)
        if dry and draw.chance(0.3):
            requests.append(topic(draw.one(_INTERNAL), 1, 1))
        yield draw.create(*requests, timeout_ms=draw.one(_TIMEOUTS), validate_only=dry)
        made += [each.name for each in requests if each.name.startswith("topics")]
    yield draw.describe(*((TOPIC, each) for each in dict.fromkeys(made)), synonyms=False, documentation=False)
    yield draw.delete(*dict.fromkeys(made))


def _requested(draw: Draw, made: list[str]) -> CreatableTopic:
    name = draw.name()
    if draw.chance(0.25):
        name = draw.one((*BAD_NAMES, *made, made[0].replace("-t", ".t"), made[0].replace("-t", "_t"), "x" * 249))
    if name.startswith("topics") and draw.chance(0.05):
        name = draw.one((f"{name}.a", f"{name}_a"))
    if draw.chance(0.3):
        counts = (-1, -1) if draw.chance(0.8) else (draw.one(_COUNTS), draw.one(_FACTORS))
        return topic(name, *counts, assignment=draw.one(_ASSIGNMENTS), configs=draw.one(_CONFIGS))
    return topic(name, draw.one(_COUNTS), draw.one(_FACTORS), configs=draw.one(_CONFIGS))


def grow(draw: Draw) -> Iterator[Ask]:
    names = [draw.name() for _ in range(2)]
    yield draw.create(*(topic(each, 2, 1) for each in names))
    for _ in range(draw.random.randint(3, 6)):
        requests = [_growth(draw, names) for _ in range(draw.random.choice((0, 1, 1, 2)))]
        if requests and draw.chance(0.15):
            requests.append(requests[0])
        request = CreatePartitionsRequest(requests, draw.one(_TIMEOUTS), draw.chance(0.4))
        yield draw.ask("CreatePartitions", request)
    yield draw.delete(*names)


def _growth(draw: Draw, names: list[str]) -> CreatePartitionsTopic:
    name = draw.one((*names, *names, *names, draw.name("missing"), draw.one(BAD_NAMES)))
    count = draw.one((3, 3, 4, 5, 2, 1, 0, -1, -2147483648))
    if draw.chance(0.6):
        return CreatePartitionsTopic(name, count)
    brokers = draw.one(_ADDED)
    return CreatePartitionsTopic(name, count, [CreatePartitionsAssignment(each) for each in brokers])


def delete(draw: Draw) -> Iterator[Ask]:
    names = [draw.name() for _ in range(4)]
    yield draw.create(*(topic(each, 1, 1, configs=draw.one(_CONFIGS[:3])) for each in names), version=7)
    for _ in range(draw.random.randint(2, 4)):
        timeout = draw.one(_TIMEOUTS)
        if draw.chance(0.5):
            requests = [
                draw.one((*names, draw.name("missing"), *BAD_NAMES[:4])) for _ in range(draw.random.randint(0, 3))
            ]
            yield draw.delete(*requests, timeout_ms=timeout)
        else:
            states = [_state(draw, names) for _ in range(draw.random.randint(0, 3))]
            if states and draw.chance(0.2):
                states.append(states[0])
            yield draw.ask("DeleteTopics", DeleteTopicsRequest(states, [], timeout), 6)
    yield draw.describe(*((TOPIC, each) for each in names), names=["retention.ms"])
    yield draw.delete(*names)
    yield draw.create(topic(names[0], 1, 1), version=7)
    yield draw.delete(names[0])


def _state(draw: Draw, names: list[str]) -> DeleteTopicState:
    name = draw.one(names)
    return draw.one(
        (
            DeleteTopicState(name),
            DeleteTopicState(None, id_of(name)),
            DeleteTopicState(None, id_of(name)),
            DeleteTopicState(name, id_of(name)),
            DeleteTopicState(None),
            DeleteTopicState(None, draw.random.randbytes(16)),
            DeleteTopicState(draw.name("missing")),
            DeleteTopicState(""),
        )
    )
