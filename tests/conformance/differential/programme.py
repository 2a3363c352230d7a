"""The order of a run: every key once, then the scenario families in turn, and finally `stalls`.

A scenario's name is its seed: `broker_configs.changes/17` generates the same requests in every run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

from kconf.protocol.apis import BY_NAME
from kconf.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.conformance.differential.ask import SERVED, Ask
from tests.conformance.differential.draw import Draw
from tests.conformance.differential.duel import Duel
from tests.conformance.differential.scenarios import (
    broker_configs,
    data_plane,
    features,
    frames,
    groups,
    metadata,
    min_insync,
    mixed,
    old,
    others,
    stalls,
    tiering,
    topic_configs,
    topicctl,
    topics,
)
from tests.conformance.differential.side import Side

Versions = Mapping[str, Sequence[int]]
Scenario = Callable[[Draw], Iterable[Ask]]

DRAWN: Mapping[str, Scenario] = {
    "topic-configs": topic_configs.changes,
    "tiering": tiering.tiering,
    "broker-configs": broker_configs.changes,
    "brokers-odd": broker_configs.odd,
    "listeners": broker_configs.listeners,
    "min-insync": min_insync.changes,
    "groups": groups.changes,
    "topics": topics.create,
    "growth": topics.grow,
    "deletion": topics.delete,
    "metadata": metadata.metadata,
    "auto-creation": metadata.auto_create,
    "cluster": metadata.cluster,
    "partitions": metadata.partitions,
    "versions": others.versions,
    "lists": others.lists,
    "loggers": others.loggers,
    "acls": others.acls,
    "mixed": mixed.resources,
    "data-plane": data_plane.partitions,
    "surplus": frames.surplus,
    "cut": frames.cut,
    "beyond": frames.beyond,
}

OLD: Mapping[str, Scenario] = {
    "old-topics": topics.create,
    "old-deletion": topics.delete,
    "old-acls": others.acls,
    "old-describe": old.describe,
    "old-surplus": frames.surplus,
    "old-cut": frames.cut,
}

OLD_VERSIONS: Versions = {
    "CreateTopics": (0, 1),
    "DeleteTopics": (0,),
    "DescribeConfigs": (0,),
    "DescribeAcls": (0,),
    "CreateAcls": (0,),
    "DeleteAcls": (0,),
}
"""What kconf serves and 4.3.1 does not."""

LAST: Mapping[str, Scenario] = {
    "topicctl": topicctl.apply,
    "features": features.updates,
    "coordinators": data_plane.coordinators,
    "huge": stalls.huge,
    "spelling": stalls.spelling,
    "masked": stalls.masked,
    "repeated": stalls.repeated,
    "unknown-operation": stalls.unknown_operation,
}


def sweeps() -> Iterator[tuple[str, Scenario]]:
    """Every key of every resource type, once."""
    for name in topic_configs.KEYS:
        yield f"topic-key/{name}", partial(topic_configs.sweep_key, name=name)
    for name in broker_configs.DYNAMIC_KEYS:
        yield f"broker-key/{name}", partial(broker_configs.sweep_key, name=name)
    for kind, keys in groups.TABLES.items():
        for name in keys:
            yield f"group-key/{kind}/{name}", partial(groups.sweep_key, kind=kind, name=name)


def drawn(rounds: Iterable[int], families: Mapping[str, Scenario] = DRAWN) -> Iterator[tuple[str, Scenario]]:
    """The families in turn, once per round; the seed contains the round number."""
    for number in rounds:
        for family, scenario in families.items():
            yield f"{family}/{number}", scenario


def last(duel: Duel) -> Iterator[tuple[str, Scenario]]:
    data_plane.await_coordinators(duel.kafka)
    return ((f"{name}/1", each) for name, each in LAST.items())


def named(name: str) -> Scenario:
    """The scenario that a report names."""
    family = name.rpartition("/")[0]
    known = {**DRAWN, **LAST, **OLD}
    return known[family] if family in known else dict(sweeps())[name]


def play(duel: Duel, scenarios: Iterable[tuple[str, Scenario]], versions: Versions) -> None:
    for name, scenario in scenarios:
        duel.play(name, scenario(Draw(name, versions, has_elr=duel.elr_version > 0)))


def common_versions(duel: Duel, without: Collection[str] = ()) -> dict[str, range]:
    """The versions that both servers have. A gateway also answers APIs that it does not advertise, because it refuses
    them."""
    kafka = _served(duel.kafka)
    kconf = {BY_NAME[name].key: (BY_NAME[name].min, BY_NAME[name].max) for name in SERVED} | _served(duel.kconf)
    both = {name: (kafka[BY_NAME[name].key], kconf[BY_NAME[name].key]) for name in SERVED if name not in without}
    return {name: range(max(one[0], other[0]), min(one[1], other[1]) + 1) for name, (one, other) in both.items()}


def _served(side: Side) -> dict[int, tuple[int, int]]:
    answer = side.ask(Ask("ApiVersions", 0, ApiVersionsRequest()))
    assert isinstance(answer, ApiVersionsResponse), f"{side.name} {answer}"
    return {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}
