"""Arguments that AdminClient's methods cannot use: an error names the argument, and nothing is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from kconf.client.calls.acls import CreateAcls, DeleteAcls, DescribeAcls
from kconf.client.calls.client_quotas import AlterClientQuotas, DescribeClientQuotas
from kconf.client.calls.configs import AlterConfigs, DescribeConfigs, IncrementalAlterConfigs, ListConfigResources
from kconf.client.calls.effective_quotas import AlterQuotas, DescribeQuotas, WhatIf
from kconf.client.calls.scram import AlterUserScramCredentials, DescribeUserScramCredentials
from kconf.client.calls.topics import CreatePartitions, CreateTopics, DeleteTopics, DescribeTopics
from kconf.errors import ApiError, ErrorCode, InvalidRequest
from kconf.model.alteration import AlterConfigOp, NewTopic, OpType
from kconf.model.entry import Entry, Source, View
from kconf.model.quota import QuotaEntity
from kconf.model.resource import Resource, ResourceType

ORDERS = Resource.topic("orders")
ALICE = QuotaEntity.of({"user": "alice"})
SECRET = "hunter2-planted"


def any_of(value: object) -> Any:
    return value


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: DescribeConfigs(any_of(["topic:orders"])),
            "resources must be a list of Resource, but contains the string 'topic:",
        ),
        (lambda: DescribeConfigs(any_of("topic:orders")), "resources must be a list of Resource, not the string"),
        (
            lambda: DescribeConfigs(any_of(ORDERS)),
            "resources must be a list of Resource, not one Resource (topic:orders)",
        ),
        (lambda: DescribeConfigs(any_of(3)), "resources must be a list of Resource, not an int"),
        (
            lambda: DescribeConfigs([Resource(ResourceType.BROKER, any_of(1))]),
            "the name of a resource must be a string",
        ),
        (lambda: DescribeConfigs([ORDERS], keys=any_of([1])), "keys must be a list of str, but contains an int"),
        (lambda: DescribeConfigs([ORDERS], keys=any_of({"topic:orders": []})), "keys must have keys of type Resource"),
        (lambda: DescribeConfigs([ORDERS], keys={ORDERS: "retention.ms"}), "keys[topic:orders] must be a list of str"),
        (lambda: IncrementalAlterConfigs(any_of([ORDERS])), "alterations must be a mapping with keys of type Resource"),
        (lambda: IncrementalAlterConfigs({any_of("topic:orders"): []}), "alterations must have keys of type Resource"),
        (
            lambda: IncrementalAlterConfigs({ORDERS: any_of({"retention.ms": "1"})}),
            "alterations[topic:orders] must be a list of AlterConfigOp, not a dict",
        ),
        (
            lambda: IncrementalAlterConfigs({ORDERS: any_of(AlterConfigOp(OpType.SET, "a", SECRET))}),
            "alterations[topic:orders] must be a list of AlterConfigOp, not an AlterConfigOp",
        ),
        (lambda: IncrementalAlterConfigs({ORDERS: any_of([("set", "a", SECRET)])}), "but contains a tuple"),
        (lambda: IncrementalAlterConfigs({ORDERS: [AlterConfigOp(any_of("set"), "a", SECRET)]}), "must be an OpType"),
        (
            lambda: IncrementalAlterConfigs({ORDERS: [AlterConfigOp(OpType.SET, "a", any_of([SECRET]))]}),
            "alterations[topic:orders]: a must be a string or a number, not a list",
        ),
        (lambda: IncrementalAlterConfigs({ORDERS: []}, expected=any_of([1])), "expected must be a mapping"),
        (lambda: AlterConfigs({ORDERS: any_of([("a", "1")])}), "configs[topic:orders] must be a mapping with keys of"),
        (
            lambda: ListConfigResources(any_of(["topic"])),
            "types must be a list of ResourceType, but contains the string 'topic'",
        ),
        (
            lambda: CreateTopics(any_of("orders"), timeout_ms=1),
            "topics must be a list of NewTopic or str, not the string",
        ),
        (
            lambda: CreateTopics([any_of({"name": "a"})], timeout_ms=1),
            "topics must be a list of NewTopic or str, but contains a dict",
        ),
        (lambda: CreateTopics([NewTopic("a", any_of("3"))], timeout_ms=1), "topics: a: a number of partitions"),
        (lambda: DeleteTopics(any_of("orders"), timeout_ms=1), "topics must be a list of str or UUID, not the string"),
        (lambda: DescribeTopics(any_of(UUID(int=1))), "topics must be a list of str or UUID, not a UUID"),
        (lambda: CreatePartitions(any_of([("a", 3)]), timeout_ms=1), "counts must be a mapping with keys of type str"),
        (lambda: CreatePartitions({"a": any_of("3")}, timeout_ms=1), "counts[a] must be an int, not the string '3'"),
        (lambda: DescribeUserScramCredentials(any_of("alice")), "users must be a list of str, not the string 'alice'"),
        (lambda: AlterUserScramCredentials(any_of([("alice", SECRET)])), "but contains a tuple"),
        (
            lambda: CreateAcls(any_of(["User:a"])),
            "bindings must be a list of AclBinding, but contains the string 'User:a'",
        ),
        (lambda: DeleteAcls(any_of("User:a")), "filters must be a list of AclFilter, not the string"),
        (lambda: DescribeAcls(any_of("User:a")), "wanted must be an AclFilter, not the string 'User:a'"),
        (lambda: DescribeClientQuotas(any_of("alice")), "wanted must be a QuotaFilter, not the string 'alice'"),
        (
            lambda: AlterClientQuotas(any_of({"alice": {}})),
            "alterations must have keys of type QuotaEntity, but contains the string",
        ),
        (
            lambda: AlterQuotas(any_of({"alice": {}})),
            "alterations must have keys of type QuotaEntity, but contains the string",
        ),
        (lambda: AlterClientQuotas({ALICE: any_of([1])}), "must be a mapping with keys of type str"),
        (lambda: AlterClientQuotas({ALICE: {"producer_byte_rate": any_of([1])}}), "must be a number"),
        (
            lambda: DescribeQuotas(any_of(["alice"])),
            "entities must be a list of QuotaEntity, but",
        ),
        (lambda: WhatIf(any_of("alice"), {"producer_byte_rate": 1.0}), "entity must be a QuotaEntity, not the string"),
    ],
)
def test_an_argument_of_another_type_is_named_without_secrets(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidRequest) as raised:
        call()

    assert message in str(raised.value)
    assert SECRET not in str(raised.value)


def test_numbers_and_booleans_are_accepted_as_config_values() -> None:
    ops = [AlterConfigOp(OpType.SET, key, any_of(value)) for key, value in (("a", 7), ("b", True), ("c", 0.5))]

    altered = IncrementalAlterConfigs({ORDERS: ops}).alterations[ORDERS]
    replaced = AlterConfigs({ORDERS: any_of({"retention.ms": 7})}).configs[ORDERS]
    topic = CreateTopics([NewTopic("a", 1, 1, configs=any_of({"retention.ms": 7}))], timeout_ms=1).topics["a"]

    assert [each.value for each in altered] == ["7", "true", "0.5"]
    assert replaced == {"retention.ms": "7"}
    assert dict(topic.configs) == {"retention.ms": "7"}


def test_a_requested_key_that_no_resource_has_is_refused() -> None:
    view = View((Entry("retention.ms", "1", Source.TOPIC), Entry("vendor.key", "1", Source.TOPIC)))
    described: dict[Resource, View | ApiError] = {ORDERS: view}

    with pytest.raises(InvalidRequest, match=r"keys: topic has no key 'retention\.m'; did you mean retention\.ms\?"):
        DescribeConfigs([ORDERS], keys=["retention.ms", "retention.m"]).finish(described)
    DescribeConfigs([ORDERS], keys=["retention.ms", "vendor.key", "segment.ms"]).finish(described)
    DescribeConfigs([ORDERS], keys=["nope"]).finish({ORDERS: ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)})
