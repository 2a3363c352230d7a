"""Risks for topics from changes of the topics, or of the brokers they inherit from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

from kconf.client.admin_sync import SyncAdminClient
from kconf.client.calls.configs import DescribedConfigs
from kconf.engine.risks import Risk
from kconf.errors import ApiError, ErrorCode
from kconf.model.cluster import NO_ID, PartitionDescription, TopicDescription, TopicListing
from kconf.model.entry import Entry, Source, Synonym, View
from kconf.model.resource import Resource, ResourceType
from kconf.model.results import Results
from kconf.operations.planned_change import TOPIC, PlannedChange
from kconf.operations.risks.topics import TopicRisks

ISR = "min.insync.replicas"


class Cluster:
    """Two brokers, and topics with their replicas; `own` sets every key itself. Values are by node, level and key."""

    def __init__(self, values: Mapping[int, Mapping[Source, Mapping[str, str]]] | None = None, **topics: int) -> None:
        self.values = {1: {}, 2: {}} if values is None else values
        self.topics = topics
        self.refused: set[ResourceType] = set()

    def describe_cluster(self) -> Any:
        return SimpleNamespace(nodes=dict.fromkeys(self.values))

    def list_topics(self, *, internal: bool) -> dict[str, TopicListing]:
        return {name: TopicListing(name, NO_ID, False, 1, count) for name, count in self.topics.items()}

    def describe_topics(self, names: Iterable[str]) -> Results[str, TopicDescription]:
        return Results({each: self._topic(each) for each in names})

    def _topic(self, name: str) -> TopicDescription | ApiError:
        if ResourceType.TOPIC in self.refused:
            return ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        replicas = tuple(range(self.topics[name]))
        return TopicDescription(name, NO_ID, False, (PartitionDescription(0, 1, replicas, replicas),))

    def describe_configs(
        self, resources: Iterable[Resource], *, keys: Mapping[Resource, Sequence[str]], synonyms: bool = False
    ) -> DescribedConfigs:
        return DescribedConfigs({each: self._view(each, keys[each]) for each in resources})

    def _view(self, resource: Resource, names: Sequence[str]) -> View | ApiError:
        if resource.type in self.refused:
            return ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        if resource.type is ResourceType.TOPIC:
            source = Source.TOPIC if resource.name == "own" else Source.DEFAULT
            return View(tuple(Entry(name, "1", source) for name in names))
        levels = {**self.values[int(resource.name)], Source.DEFAULT: {ISR: "1", "log.cleanup.policy": "delete"}}
        found = []
        for name in names:
            synonyms = tuple(Synonym(name, each[name], source) for source, each in levels.items() if name in each)
            if synonyms:
                found.append(Entry(name, synonyms[0].value, synonyms[0].source, synonyms=synonyms))
        return View(tuple(found))


def risks(cluster: Cluster, *changes: PlannedChange) -> list[tuple[str, str]]:
    found: list[Risk] = TopicRisks(cast(SyncAdminClient, cluster), changes).of(changes[0])
    return [(each.name, each.why) for each in found]


def change(resource: Resource, key: str, old: str | None, new: str | None) -> PlannedChange:
    return PlannedChange(resource, key, old, new, "set" if new else "delete", old, new)


def test_too_few_replicas_are_a_risk_named_with_their_number() -> None:
    requested = change(Resource.topic("orders"), ISR, "1", "2")

    assert risks(Cluster(orders=2), requested) == []
    assert risks(Cluster(orders=1), requested) == [
        (
            "min-insync-replicas",
            "2 replicas must be in sync and the topic has 1 replica, so producers with acks=all fail",
        )
    ]


def test_a_topic_whose_replicas_cannot_be_read_is_not_reported_as_safe() -> None:
    cluster = Cluster(orders=3)
    cluster.refused = {ResourceType.TOPIC}

    assert risks(cluster, change(Resource.topic("orders"), ISR, "1", "2")) == [
        ("min-insync-replicas", "the replication factor of the topic is unknown")
    ]


def test_a_default_is_a_risk_only_for_topics_that_inherit_it() -> None:
    cluster = Cluster(few=1, own=1, many=3, single=1)

    ((name, why),) = risks(cluster, change(Resource.brokers(), ISR, "1", "2"))
    assert name == "min-insync-replicas"
    assert why.endswith("; 2 topics inherit the value: few (1 replica), single (1 replica)")
    assert risks(Cluster(own=1, many=3), change(Resource.brokers(), ISR, "1", "2")) == []


def test_a_default_that_every_broker_overrides_is_no_risk() -> None:
    own = {Source.BROKER: {ISR: "1"}}

    assert risks(Cluster({1: own, 2: own}, few=1), change(Resource.brokers(), ISR, "1", "2")) == []
    assert risks(Cluster({1: own, 2: {}}, few=1), change(Resource.brokers(), ISR, "1", "2")) != []


def test_a_topic_that_gets_its_own_value_in_the_same_plan_does_not_inherit() -> None:
    default = change(Resource.brokers(), ISR, "1", "2")
    own = change(Resource.topic("few"), ISR, "1", "1")._replace(before=None, after="1")

    assert risks(Cluster(few=1), default, own) == []


def test_unsetting_a_value_has_the_risks_of_the_inherited_one() -> None:
    cluster = Cluster({1: {Source.STATIC: {"log.cleanup.policy": "compact"}}}, orders=1)
    unset = PlannedChange(Resource.brokers(), "log.cleanup.policy", "delete", None, "delete", "delete", "compact")
    cluster.values = {1: {Source.DEFAULT_BROKER: {"log.cleanup.policy": "delete"}, **cluster.values[1]}}

    assert risks(cluster, unset) == [
        ("compaction", "records without a key are rejected; 1 topic inherits the value: orders")
    ]


def test_topics_that_cannot_be_read_are_not_reported_as_missing() -> None:
    cluster = Cluster(orders=1)
    cluster.refused = {ResourceType.TOPIC}

    (found,) = risks(cluster, change(Resource.brokers(), "log.cleanup.policy", "delete", "compact"))
    assert found == ("compaction", "records without a key are rejected; the topics that inherit the value are unknown")


def test_unclean_elections_by_default_are_a_risk_for_future_topics() -> None:
    (found,) = risks(Cluster(), change(Resource.brokers(), "unclean.leader.election.enable", "false", "true"))

    assert found[1].endswith("; no topic inherits the value now")


def test_a_new_topic_has_the_risks_of_its_configs_and_replication_factor() -> None:
    def new(replicas: int, **configs: str) -> PlannedChange:
        named = {key.replace("_", "."): value for key, value in configs.items()}
        shown = {"replication_factor": replicas, "configs": named}
        return PlannedChange(Resource.topic("new"), "", None, "new", "create", kind=TOPIC, shown=shown)

    cluster = Cluster({1: {Source.DEFAULT_BROKER: {ISR: "2"}}})

    assert [name for name, _ in risks(cluster, new(1))] == ["min-insync-replicas"]
    assert risks(cluster, new(2)) == []
    assert risks(cluster, new(1, min_insync_replicas="1", cleanup_policy="compact", max_message_bytes="1")) == []
    assert [name for name, _ in risks(cluster, new(3, unclean_leader_election_enable="true"))] == [
        "unclean-leader-election"
    ]
