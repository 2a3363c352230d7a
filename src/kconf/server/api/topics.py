"""CreateTopics (19), DeleteTopics (20) and CreatePartitions (37)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar, cast
from uuid import UUID

from kconf.engine.configs.resolver import ConfigResolver
from kconf.engine.policy.hooks import PolicyHooks
from kconf.engine.quotas.rates import MutationQuota
from kconf.engine.topics.create import METADATA_TOPIC, Created, plan_create_topics
from kconf.engine.topics.delete import Deleted, TopicDeletion, plan_delete_topics, well_formed
from kconf.engine.topics.partitions import NewPartitions, plan_create_partitions
from kconf.engine.topics.placement import Charge, repeated_names
from kconf.errors import ApiError, ErrorCode, KafkaError, RequestTimedOut, StoreError
from kconf.model.acl import AclType, Operation
from kconf.model.alteration import NewTopic
from kconf.model.entry import Source
from kconf.model.plan import Plan
from kconf.model.resource import Overrides, Resource
from kconf.model.snapshot import encode_id
from kconf.protocol.codec.serde import encode
from kconf.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from kconf.protocol.messages.create_topics import (
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kconf.protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse
from kconf.server.context import ApiRequest, ServerContext, store_error
from kconf.server.policy.manager import PolicyPlanner
from kconf.server.quotas.manager import user_of
from kconf.service import State

_NO_ID = UUID(int=0)

T = TypeVar("T")


async def handle_create(context: ServerContext, request: CreateTopicsRequest, call: ApiRequest) -> CreateTopicsResponse:
    wishes = [
        NewTopic(
            topic.name,
            topic.num_partitions,
            topic.replication_factor,
            [(each.partition_index, each.broker_ids) for each in topic.assignments],
            [(each.name, each.value) for each in topic.configs],
        )
        for topic in request.topics
    ]
    quota, charge = _quota(context, call, strict_from=6)

    def plan(state: State, gate: PolicyHooks) -> Plan[dict[str, Created | ApiError]]:
        cluster = context.cluster(state)
        return plan_create_topics(state.snapshot, wishes, cluster, authorize=call.authorize, gate=gate, charge=charge)

    try:
        if request.timeout_ms <= 0 and _some_to_do((wish.name for wish in wishes), but={METADATA_TOPIC}):
            raise RequestTimedOut
        outcomes = await _outcome(context, plan, call, dry_run=request.validate_only)
    except KafkaError as error:
        _note(context, call, {wish.name: error.failure() for wish in wishes}, dry_run=request.validate_only)
        failed = [CreatableTopicResult(wish.name, _NO_ID.bytes, error.code, error.message) for wish in wishes]
        return CreateTopicsResponse(0, failed)
    failures = {name: each if isinstance(each, ApiError) else None for name, each in outcomes.items()}
    _note(context, call, failures, dry_run=request.validate_only)
    ladder = context.service.state.ladder
    results = [
        CreatableTopicResult(name, _NO_ID.bytes, outcome.code, outcome.message)
        if isinstance(outcome, ApiError)
        else _created(outcome, ladder, call, dry=request.validate_only)
        for name, outcome in outcomes.items()
    ]
    return CreateTopicsResponse(_delay(context, call, quota), results)


def _quota(context: ServerContext, call: ApiRequest, *, strict_from: int) -> tuple[MutationQuota | None, Charge | None]:
    """KIP-599: versions from `strict_from` on know THROTTLING_QUOTA_EXCEEDED; older ones are granted, and wait."""
    caller = call.caller
    strict = call.version >= strict_from
    quota = context.quotas.mutation(user_of(caller.principal), caller.client_id, strict=strict)
    return quota, quota.charge if quota else None


def _delay(context: ServerContext, call: ApiRequest, quota: MutationQuota | None) -> int:
    return context.quotas.mutated(user_of(call.caller.principal), call.caller.client_id, quota)


async def _outcome(context: ServerContext, plan: PolicyPlanner[T], call: ApiRequest, *, dry_run: bool = False) -> T:
    """What came of a plan. A KafkaError is of the request as a whole: a name given twice is then answered twice."""
    try:
        return (await context.policies.decide(context.service, plan, call.caller, validate_only=dry_run)).outcome
    except StoreError as error:
        raise store_error(error).error() from None


def _some_to_do(names: Iterable[str], *, but: Collection[str] = ()) -> bool:
    """Whether a request without time (timeout_ms <= 0) would need some.

    As in Kafka: names given twice are refused first; if anything is left, all of it is too late, and nothing is done.
    """
    given = [*names]
    return not set(given) <= repeated_names(given).union(but)


def _note(
    context: ServerContext, call: ApiRequest, failures: Mapping[str, ApiError | None], *, dry_run: bool = False
) -> None:
    if dry_run or any(failures.values()):
        lines = ((Resource.topic(name), (), failure) for name, failure in failures.items())
        context.attempts.note(call.caller, lines, dry_run=dry_run)


def _created(outcome: Created, ladder: ConfigResolver, call: ApiRequest, *, dry: bool) -> CreatableTopicResult:
    """KIP-525: a caller that may describe the topic's configs is told them, with partitions and replication factor."""
    topic = outcome.topic
    result = CreatableTopicResult(topic.name, _NO_ID.bytes if dry else topic.id.bytes)
    if call.version >= 5:
        if call.authorize(Operation.DESCRIBE_CONFIGS, AclType.TOPIC, topic.name):
            result.num_partitions = topic.partitions
            result.replication_factor = topic.replication_factor
            result.configs = cast(Any, _configs(ladder, outcome.overrides, call.version))
        else:
            result.topic_config_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return result


def _configs(ladder: ConfigResolver, overrides: Overrides, version: int) -> list[bytes]:
    """The rows of KIP-525, encoded, by name: what all topics have, and in its place what this one was given."""
    common: dict[str, bytes] | None = ladder.memo.get(("created", version))
    if common is None:
        common = {name: _row(name, *told, version) for name, told in ladder.created.items()}
        ladder.memo["created", version] = common
    if not overrides:
        return list(common.values())
    rows = {**common, **{name: _row(name, value, Source.TOPIC, version) for name, value in overrides.items()}}
    return list(rows.values()) if len(rows) == len(common) else [rows[name] for name in sorted(rows)]


def _row(name: str, value: str | None, source: Source, version: int) -> bytes:
    return encode(CreatableTopicConfigs(name, value, False, source, False), version, True)


async def handle_delete(context: ServerContext, request: DeleteTopicsRequest, call: ApiRequest) -> DeleteTopicsResponse:
    if call.version >= 6:
        wishes = [TopicDeletion(each.name, UUID(bytes=each.topic_id)) for each in request.topics]
    else:
        wishes = [TopicDeletion(name) for name in request.topic_names]

    quota, charge = _quota(context, call, strict_from=5)

    def plan(state: State, _gate: PolicyHooks) -> Plan[list[Deleted]]:
        return plan_delete_topics(state.snapshot, wishes, authorize=call.authorize, charge=charge)

    if not context.service.state.ladder.flag("delete.topic.enable"):
        code = ErrorCode.INVALID_REQUEST if call.version < 3 else ErrorCode.TOPIC_DELETION_DISABLED
        results = [Deleted(each.name, each.id, ApiError(code)) for each in wishes]
    else:
        try:
            if request.timeout_ms <= 0 and any(well_formed(wishes)):
                raise RequestTimedOut
            results = await _outcome(context, plan, call)
        except KafkaError as error:
            results = [Deleted(each.name, each.id, error.failure()) for each in wishes]
    _note(context, call, {each.name or encode_id(each.id): each.failure for each in results})
    return DeleteTopicsResponse(
        _delay(context, call, quota),
        [
            DeletableTopicResult(
                each.name,
                each.id.bytes,
                each.failure.code if each.failure else 0,
                each.failure.message if each.failure else None,
            )
            for each in results
        ],
    )


async def handle_grow(
    context: ServerContext, request: CreatePartitionsRequest, call: ApiRequest
) -> CreatePartitionsResponse:
    wishes = [
        NewPartitions(
            each.name, each.count, None if each.assignments is None else [one.broker_ids for one in each.assignments]
        )
        for each in request.topics
    ]
    quota, charge = _quota(context, call, strict_from=3)

    def plan(state: State, gate: PolicyHooks) -> Plan[dict[str, ApiError | None]]:
        cluster = context.cluster(state)
        return plan_create_partitions(
            state.snapshot, wishes, cluster, authorize=call.authorize, gate=gate, charge=charge
        )

    results: Iterable[tuple[str, ApiError | None]]
    try:
        if request.timeout_ms <= 0 and _some_to_do(wish.name for wish in wishes):
            raise RequestTimedOut
        results = (await _outcome(context, plan, call, dry_run=request.validate_only)).items()
    except KafkaError as error:
        results = [(wish.name, error.failure()) for wish in wishes]
    _note(context, call, dict(results), dry_run=request.validate_only)
    return CreatePartitionsResponse(
        _delay(context, call, quota),
        [
            CreatePartitionsTopicResult(name, failure.code if failure else 0, failure.message if failure else None)
            for name, failure in results
        ],
    )
