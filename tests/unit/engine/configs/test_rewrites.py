"""A config is set to its current value."""

from __future__ import annotations

from uuid import UUID

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.engine.configs.alter import AlterTarget, plan_alter
from kconf.engine.configs.resolver import ConfigResolver
from kconf.errors import ApiError, ErrorCode
from kconf.model.alteration import AlterConfigOp, OpType, ResourceAlterations
from kconf.model.journal import Change, ChangeKind
from kconf.model.resource import Resource, ResourceType, Topic
from kconf.model.snapshot import Snapshot, topic_to_json

KEY, VALUE = "log.cleaner.threads", "2"
RESOLVER = ConfigResolver(kafka_43(), {}, {}, {})
SET = [AlterConfigOp(OpType.SET, KEY, VALUE)]


def gateway(*, rewrites: bool = True) -> AlterTarget:
    return AlterTarget(1, RESOLVER, others={1: RESOLVER, 2: RESOLVER}, rewrites=rewrites, is_gateway=True)


@pytest.mark.parametrize("resource", [Resource.broker(1), Resource.broker(2), Resource.brokers()])
@pytest.mark.parametrize("replace", [True, False])
def test_a_gateway_sends_a_broker_config_that_has_the_same_value(resource: Resource, replace: bool) -> None:
    """Kafka writes the record again, so that the broker reloads its files (KAFKA-14136)."""
    stored = Change(ChangeKind.CONFIG, resource, KEY, None, VALUE, "set")
    snapshot = Snapshot.EMPTY.apply([stored], 1)
    requests = [ResourceAlterations(resource, SET)]
    plan = plan_alter(snapshot, requests, gateway(), replace=replace)
    assert plan.changes == [Change(ChangeKind.CONFIG, resource, KEY, VALUE, VALUE, "rewrite")]
    assert plan.operations == requests
    polled = plan_alter(snapshot, requests, gateway(rewrites=False), replace=replace)
    assert (polled.changes, polled.unchanged, polled.operations) == ([], plan.changes, requests)


def test_deleting_an_unset_config_is_not_journaled() -> None:
    requests = [ResourceAlterations(Resource.broker(1), [AlterConfigOp(OpType.DELETE, KEY)])]
    assert plan_alter(Snapshot.EMPTY, requests, gateway(), replace=False).changes == []


@pytest.mark.parametrize("replace", [True, False])
def test_a_gateway_sends_a_topic_config_that_its_state_already_has(replace: bool) -> None:
    """Another client may have changed it since: the cluster decides what changes."""
    orders, key = Resource.topic("orders"), "retention.ms"
    topic = Topic("orders", UUID(int=1), ((1,),))
    created = Change(ChangeKind.TOPIC, orders, "", None, topic_to_json(topic), "create")
    stored = Change(ChangeKind.CONFIG, orders, key, None, "1", "set")
    snapshot = Snapshot.EMPTY.apply([created, stored], 1)
    requests = [ResourceAlterations(orders, [AlterConfigOp(OpType.SET, key, "1")])]
    plan = plan_alter(snapshot, requests, gateway(), replace=replace)
    assert plan.changes == []
    assert plan.unchanged == [Change(ChangeKind.CONFIG, orders, key, "1", "1", "rewrite")]
    assert plan.operations == requests
    assert plan.guards == {orders: 1}
    own = plan_alter(snapshot, requests, AlterTarget(1, RESOLVER), replace=replace)
    assert (own.changes, own.unchanged, own.operations) == ([], [], [])


@pytest.mark.parametrize("replace", [False, True])
def test_a_refusal_by_the_cluster_is_that_of_a_broker_whose_id_has_zeros_before_it(replace: bool) -> None:
    request = ResourceAlterations(Resource(ResourceType.BROKER, "01"), SET)
    plan = plan_alter(Snapshot.EMPTY, [request], gateway(), replace=replace)

    (operation,) = plan.operations
    assert isinstance(operation, ResourceAlterations)
    assert {operation.resource} == {each.resource for each in plan.changes} == {Resource.broker(1)}
    refused = ApiError(ErrorCode.INVALID_CONFIG, "no")
    assert plan.outcome_after({operation.resource: refused}, Snapshot.EMPTY) == [refused]
