"""CreateTopics (19)."""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID

from kconf.engine.configs.resolver import ConfigResolver
from kconf.engine.policy.hooks import PolicyHooks
from kconf.engine.topics.create import METADATA_TOPIC, Created, plan_create_topics
from kconf.errors import ApiError, ErrorCode, KafkaError, RequestTimedOut
from kconf.model.acl import CLUSTER_NAME, AclType, Operation
from kconf.model.alteration import NewTopic
from kconf.model.entry import Source
from kconf.model.plan import Plan
from kconf.model.resource import Overrides
from kconf.protocol.codec.serde import encode
from kconf.protocol.messages.create_topics import (
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kconf.server.api.reasons import with_reason
from kconf.server.api.topic_mutations import (
    audit,
    doubtful_topics,
    mutation_quota,
    needs_time,
    submit,
    throttle_time_ms,
)
from kconf.server.context import ApiRequest, ServerContext
from kconf.service import State
from kconf.util.slices import in_slices

_NO_ID = UUID(int=0)


async def handle(context: ServerContext, request: CreateTopicsRequest, call: ApiRequest) -> CreateTopicsResponse:
    topics = [
        NewTopic(
            topic.name,
            topic.num_partitions,
            topic.replication_factor,
            [(each.partition_index, each.broker_ids) for each in in_slices(topic.assignments)],
            [(each.name, each.value) for each in in_slices(topic.configs)],
        )
        for topic in in_slices(request.topics)
    ]
    quota, charge = mutation_quota(context, call, strict_from=6)

    def plan(state: State, hooks: PolicyHooks) -> Plan[dict[str, Created | ApiError]]:
        cluster = context.cluster(state)
        return plan_create_topics(state.snapshot, topics, cluster, authorize=call.authorize, gate=hooks, charge=charge)

    def may_create(name: str) -> bool:
        everywhere = call.authorize(Operation.CREATE, AclType.CLUSTER, CLUSTER_NAME)
        return everywhere or call.authorize(Operation.CREATE, AclType.TOPIC, name)

    names = [topic.name for topic in in_slices(topics)]
    try:
        call = with_reason(call, request.reason)
        if request.timeout_ms <= 0 and needs_time(names, except_for={METADATA_TOPIC}):
            raise RequestTimedOut
        existing = doubtful_topics(context, names, may_create, existing=True)
        outcomes = await submit(context, plan, call, validate_only=request.validate_only, doubtful=existing)
    except KafkaError as error:
        audit(context, call, {name: error.failure() for name in in_slices(names)}, dry_run=request.validate_only)
        failed = [CreatableTopicResult(name, _NO_ID.bytes, error.code, error.message) for name in in_slices(names)]
        return CreateTopicsResponse(0, failed)
    failures = {name: each if isinstance(each, ApiError) else None for name, each in in_slices(outcomes.items())}
    audit(context, call, failures, dry_run=request.validate_only)
    resolver = context.service.state.resolver
    results = [
        CreatableTopicResult(name, _NO_ID.bytes, outcome.code, outcome.message)
        if isinstance(outcome, ApiError)
        else _created(outcome, resolver, call)
        for name, outcome in in_slices(outcomes.items())
    ]
    return CreateTopicsResponse(throttle_time_ms(context, call, quota), results)


def _created(outcome: Created, resolver: ConfigResolver, call: ApiRequest) -> CreatableTopicResult:
    """The result for a created topic. Callers that may describe its configs get them in the response (KIP-525)."""
    topic = outcome.topic
    result = CreatableTopicResult(topic.name, topic.id.bytes)  # also in a dry run, as in Kafka
    if call.version >= 5:
        if call.authorize(Operation.DESCRIBE_CONFIGS, AclType.TOPIC, topic.name):
            result.num_partitions = topic.partitions
            result.replication_factor = topic.replication_factor
            result.configs = cast(Any, _configs(resolver, outcome.overrides, call.version))
        else:
            result.topic_config_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return result


def _configs(resolver: ConfigResolver, overrides: Overrides, version: int) -> list[bytes]:
    """The encoded config entries of KIP-525, ordered by name."""
    common: dict[str, bytes] | None = resolver.memo.get(("created", version))
    if common is None:
        common = {name: _entry(name, *value, version) for name, value in resolver.created.items()}
        resolver.memo["created", version] = common
    if not overrides:
        return list(common.values())
    entries = {**common, **{name: _entry(name, value, Source.TOPIC, version) for name, value in overrides.items()}}
    return list(entries.values()) if len(entries) == len(common) else [entries[name] for name in sorted(entries)]


def _entry(name: str, value: str | None, source: Source, version: int) -> bytes:
    return encode(CreatableTopicConfigs(name, value, False, source, False), version, True)
