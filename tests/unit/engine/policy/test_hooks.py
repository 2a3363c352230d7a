from __future__ import annotations

from uuid import UUID

import pytest

from kconf.configdef.catalog import Catalog
from kconf.configdef.define import config_def
from kconf.configdef.key import BrokerFallback, ConfigDef, ConfigKey
from kconf.engine.configs.resolver import ConfigResolver
from kconf.engine.policy.hooks import (
    NO_POLICY,
    AlterProposal,
    Effective,
    GrowthProposal,
    PolicyHooks,
    PolicyWarning,
    TopicProposal,
    Values,
    Warnings,
    changed_values,
)
from kconf.errors import PolicyViolation
from kconf.model.alteration import AlterConfigOp, OpType
from kconf.model.entry import ValueType
from kconf.model.resource import NO_OVERRIDES, Overrides, Resource, ResourceType, Topic

ORDERS = Resource.topic("orders")
TOPIC = Topic("orders", UUID(int=1), ((1, 2), (2, 3), (3, 1)))


def keys(*found: ConfigKey) -> ConfigDef:
    return config_def(found)


CATALOGUE = Catalog(
    topic=keys(
        ConfigKey(name="keep.ms", type=ValueType.LONG, default="10", fallbacks=(BrokerFallback("log.keep.ms"),)),
        ConfigKey(name="tags", type=ValueType.LIST, default="a"),
    ),
    broker=keys(
        ConfigKey(name="log.keep.ms", type=ValueType.LONG, default="10"),
        ConfigKey(name="secret", type=ValueType.PASSWORD),
        ConfigKey(name="group.pause.ms", type=ValueType.INT, default="7"),
    ),
    group=keys(
        ConfigKey(name="pause.ms", type=ValueType.INT, default="7", fallbacks=(BrokerFallback("group.pause.ms"),))
    ),
    client_metrics=keys(ConfigKey(name="interval.ms", type=ValueType.INT, default="100")),
)


def resolver(static: Overrides = NO_OVERRIDES, everywhere: Overrides = NO_OVERRIDES) -> ConfigResolver:
    return ConfigResolver(CATALOGUE, static, everywhere, {})


class Recorder:
    """Records its calls, and returns what a test sets."""

    def __init__(self, *warnings: str, refuse: str = "") -> None:
        self.asked: list[AlterProposal | TopicProposal | GrowthProposal] = []
        self._warnings, self._refuse = warnings, refuse

    def _answer(self, proposal: AlterProposal | TopicProposal | GrowthProposal) -> Warnings:
        self.asked.append(proposal)
        if self._refuse:
            raise PolicyViolation(self._refuse)
        return self._warnings

    def check_alter(self, proposal: AlterProposal) -> Warnings:
        return self._answer(proposal)

    def check_create(self, proposal: TopicProposal) -> Warnings:
        return self._answer(proposal)


class Grower(Recorder):
    def check_growth(self, proposal: GrowthProposal) -> Warnings:
        return self._answer(proposal)


# -- Kafka's map -----------------------------------------------------------------------------------------------------


def test_the_map_has_resulting_values_and_none_for_removed_overrides() -> None:
    """broker-semantics 3.21: resulting values of changed keys, DELETE as null."""
    requests = [
        AlterConfigOp(OpType.SET, "a", "1"),
        AlterConfigOp(OpType.APPEND, "b", "y"),
        AlterConfigOp(OpType.DELETE, "c"),
    ]

    changed = changed_values(ORDERS, requests, {"b": "x", "c": "3", "d": "4"}, {"a": "1", "b": "x,y", "d": "4"})

    assert changed == {"a": "1", "b": "x,y", "c": None}


@pytest.mark.parametrize("kind", [ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLIENT_METRICS])
def test_the_map_does_not_have_unchanged_values_and_can_be_empty(kind: ResourceType) -> None:
    requests = [AlterConfigOp(OpType.SET, "a", "1"), AlterConfigOp(OpType.DELETE, "never.set")]

    assert changed_values(Resource(kind, "x"), requests, {"a": "1"}, {"a": "1"}) == {}


@pytest.mark.parametrize("broker", [Resource.broker(1), Resource.brokers()])
def test_the_map_of_a_broker_has_unchanged_values_too(broker: Resource) -> None:
    requests = [AlterConfigOp(OpType.SET, "a", "1"), AlterConfigOp(OpType.DELETE, "never.set")]

    assert changed_values(broker, requests, {"a": "1"}, {"a": "1"}) == {"a": "1", "never.set": None}


def test_keys_that_a_replacement_drops_are_passed_as_touched_and_not_in_the_map() -> None:
    """3.21: implicit deletions are never passed to Kafka's policy; a rule must still see them."""
    policy = Recorder()

    PolicyHooks(policy).alteration(
        ORDERS, [AlterConfigOp(OpType.SET, "keep.ms", "5")], {"tags": "b"}, {"keep.ms": "5"}, resolver()
    )

    (proposal,) = policy.asked
    assert isinstance(proposal, AlterProposal)
    assert dict(proposal.changed) == {"keep.ms": "5"}
    assert proposal.touched == {"keep.ms", "tags"}
    assert (dict(proposal.previous), dict(proposal.resulting)) == ({"tags": "b"}, {"keep.ms": "5"})


# -- the gate --------------------------------------------------------------------------------------------------------


def test_without_policies_everything_is_accepted() -> None:
    NO_POLICY.alteration(ORDERS, [], {}, {}, resolver())
    NO_POLICY.creation_configs("orders", {"tags": "x"}, resolver())
    NO_POLICY.creation(TOPIC, {}, resolver(), assigned=False)
    NO_POLICY.growth(TOPIC, TOPIC, {}, resolver())

    assert NO_POLICY.warnings == []


def test_a_policy_gets_the_caller_the_resource_and_whether_it_is_a_dry_run() -> None:
    policy = Recorder()

    PolicyHooks(policy, None, "User:ada", validate_only=True).alteration(ORDERS, [], {}, {}, resolver(), TOPIC)

    (proposal,) = policy.asked
    assert isinstance(proposal, AlterProposal)
    assert (proposal.resource, proposal.principal, proposal.validate_only) == (ORDERS, "User:ada", True)
    assert proposal.topic is TOPIC
    assert dict(proposal.changed) == {}


def test_a_refusal_is_raised_and_warnings_are_kept_once_each() -> None:
    gate = PolicyHooks(Recorder("careful", "careful"))
    gate.alteration(ORDERS, [], {}, {}, resolver())
    gate.alteration(Resource.topic("b"), [], {}, {}, resolver())

    assert gate.warnings == [PolicyWarning(ORDERS, "careful"), PolicyWarning(Resource.topic("b"), "careful")]
    with pytest.raises(PolicyViolation, match=r"^no$"):
        PolicyHooks(Recorder(refuse="no")).alteration(ORDERS, [], {}, {}, resolver())


def test_the_alter_policy_checks_the_configs_of_a_new_topic_if_it_has_any() -> None:
    policy = Recorder()
    gate = PolicyHooks(policy)

    gate.creation_configs("orders", {}, resolver())
    gate.creation_configs("orders", {"tags": "x"}, resolver())

    (proposal,) = policy.asked
    assert isinstance(proposal, AlterProposal)
    assert (proposal.resource, dict(proposal.changed), dict(proposal.previous)) == (ORDERS, {"tags": "x"}, {})


def test_the_create_policy_gets_either_counts_or_an_assignment() -> None:
    """broker-semantics 5.7"""
    policy = Recorder()
    gate = PolicyHooks(None, policy)

    gate.creation(TOPIC, {"tags": "x"}, resolver(), assigned=False)
    gate.creation(TOPIC, {}, resolver(), assigned=True)

    counted, assigned = policy.asked
    assert isinstance(counted, TopicProposal)
    assert isinstance(assigned, TopicProposal)
    assert (counted.partitions, counted.replication_factor, counted.assignments) == (3, 2, None)
    assert dict(counted.configs) == {"tags": "x"}
    assert (assigned.partitions, assigned.replication_factor) == (None, None)
    assert assigned.assignments == {0: (1, 2), 1: (2, 3), 2: (3, 1)}
    assert counted.shape == assigned.shape == (3, 2)


def test_added_partitions_are_passed_only_to_a_policy_with_check_growth() -> None:
    old = Topic("orders", TOPIC.id, TOPIC.replicas[:1])
    plain, grower = Recorder(), Grower()

    PolicyHooks(None, plain).growth(old, TOPIC, {}, resolver())
    PolicyHooks(None, grower).growth(old, TOPIC, {}, resolver())

    assert plain.asked == []
    (proposal,) = grower.asked
    assert isinstance(proposal, GrowthProposal)
    assert (proposal.topic.partitions, proposal.previous) == (3, 1)


# -- values ----------------------------------------------------------------------------------------------------------


def test_no_repr_shows_a_sensitive_value() -> None:
    policy = Recorder()
    broker = Resource.broker(1)

    requested = [AlterConfigOp(OpType.SET, "secret", "hunter2"), AlterConfigOp(OpType.SET, "unknown.key", "hunter3")]
    PolicyHooks(policy).alteration(
        broker,
        requested,
        {"secret": "hunter1"},
        {"secret": "hunter2", "unknown.key": "hunter3", "log.keep.ms": "5"},
        resolver(),
    )

    (proposal,) = policy.asked
    assert isinstance(proposal, AlterProposal)
    assert "hunter" not in repr(proposal)
    assert "'log.keep.ms': '5'" in repr(proposal)
    assert proposal.changed["secret"] == "hunter2"
    assert "hunter" not in f"{proposal.changed} {proposal.resulting!r} {proposal.previous} {proposal.effective!r}"


def test_values_equal_a_plain_mapping() -> None:
    assert Values({"a": "1"}) == {"a": "1"}
    assert Values({"a": "1"}) == Values({"a": "1"}, lambda _: True)


def test_effective_values_of_a_topic_come_from_broker_levels_if_it_has_no_override() -> None:
    effective = Effective(ORDERS, {"tags": " x , y"}, resolver({"log.keep.ms": "99"}))

    assert dict(effective) == {"keep.ms": "99", "tags": "x,y"}
    assert effective.get("nothing") is None


def test_effective_values_follow_the_levels_of_each_resource_type() -> None:
    levels = resolver({"log.keep.ms": "1"}, {"group.pause.ms": "8"})

    assert Effective(Resource.broker(1), {"log.keep.ms": "3"}, levels)["log.keep.ms"] == "3"
    assert Effective(Resource.broker(1), {}, levels)["group.pause.ms"] == "8"
    assert dict(Effective(Resource.brokers(), {"log.keep.ms": "2"}, levels)) == {"log.keep.ms": "2"}
    assert dict(Effective(Resource.group("g"), {}, levels)) == {"pause.ms": "8"}
    assert dict(Effective(Resource.client_metrics("m"), {}, levels)) == {"interval.ms": "100"}


def test_effective_values_are_equal_if_all_lower_levels_are_equal() -> None:
    assert Effective(ORDERS, {}, resolver()) == Effective(ORDERS, {}, resolver())
    assert Effective(ORDERS, {}, resolver()) != Effective(ORDERS, {"tags": "x"}, resolver())
    assert Effective(ORDERS, {}, resolver()) != Effective(ORDERS, {}, resolver(everywhere={"log.keep.ms": "4"}))
