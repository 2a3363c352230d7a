"""CreateTopics (19), DeleteTopics (20) and CreatePartitions (37)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast
from uuid import UUID

from kconf.engine.deletions import Deleted, Doomed, plan_delete_topics
from kconf.engine.resolve import Ladder
from kconf.engine.topics import Created, Growth, plan_create_partitions, plan_create_topics
from kconf.errors import ErrorCode, Failure, StoreError
from kconf.model.acl import AclType, Operation
from kconf.model.alteration import TopicWish
from kconf.model.plan import Plan
from kconf.model.resource import Overrides, Resource
from kconf.model.snapshot import encode_id
from kconf.server.context import UNAVAILABLE, Call, Context
from kconf.service import State
from kconf.wire.codec import encode
from kconf.wire.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from kconf.wire.create_topics import (
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kconf.wire.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse

_TOO_LATE = Failure(ErrorCode.REQUEST_TIMED_OUT)  # as in Kafka: no time given, nothing done, nothing said
_NO_ID = UUID(int=0)


async def handle_create(context: Context, request: CreateTopicsRequest, call: Call) -> CreateTopicsResponse:
    wishes = [
        TopicWish(
            topic.name,
            topic.num_partitions,
            topic.replication_factor,
            [(each.partition_index, each.broker_ids) for each in topic.assignments],
            [(each.name, each.value) for each in topic.configs],
        )
        for topic in request.topics
    ]

    def planner(state: State) -> Plan[dict[str, Created | Failure]]:
        return plan_create_topics(state.snapshot, wishes, context.cluster(state), authorise=call.authorise)

    outcomes: dict[str, Created | Failure]
    if request.timeout_ms <= 0:
        outcomes = {wish.name: _TOO_LATE for wish in wishes}
    elif request.validate_only:
        outcomes = context.service.dry_run(planner)
    else:
        try:
            outcomes = await context.service.change(planner, call.caller)
        except StoreError:
            outcomes = {wish.name: UNAVAILABLE for wish in wishes}
    failures = {name: each if isinstance(each, Failure) else None for name, each in outcomes.items()}
    _note(context, call, failures, dry_run=request.validate_only)
    ladder = context.service.state.ladder
    results = [
        CreatableTopicResult(name, error_code=outcome.code, error_message=outcome.message)
        if isinstance(outcome, Failure)
        else _created(outcome, ladder, call, dry=request.validate_only)
        for name, outcome in outcomes.items()
    ]
    return CreateTopicsResponse(0, results)


def _note(context: Context, call: Call, failures: Mapping[str, Failure | None], *, dry_run: bool = False) -> None:
    if dry_run or any(failures.values()):
        lines = ((Resource.topic(name), (), failure) for name, failure in failures.items())
        context.attempts.note(call.caller, lines, dry_run=dry_run)


def _created(outcome: Created, ladder: Ladder, call: Call, *, dry: bool) -> CreatableTopicResult:
    """KIP-525: a caller that may describe the topic's configs is told them, with partitions and replication factor."""
    topic = outcome.topic
    result = CreatableTopicResult(topic.name, _NO_ID.bytes if dry else topic.id.bytes)
    if call.version >= 5:
        if call.authorise(Operation.DESCRIBE_CONFIGS, AclType.TOPIC, topic.name):
            result.num_partitions = topic.partitions
            result.replication_factor = topic.replication_factor
            result.configs = cast(Any, _configs(ladder, outcome.overrides, call.version))
        else:
            result.topic_config_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return result


def _configs(ladder: Ladder, overrides: Overrides, version: int) -> list[bytes]:
    """The rows of KIP-525, encoded; most topics have most rows in common."""
    known = ladder.memo
    rows = []
    for row in ladder.created(overrides):
        place = (version, row)
        data = known.get(place)
        if data is None:
            name, value, source = row
            data = encode(CreatableTopicConfigs(name, value, False, source, False), version, True)
            if len(known) < 10_000:
                known[place] = data
        rows.append(data)
    return rows


async def handle_delete(context: Context, request: DeleteTopicsRequest, call: Call) -> DeleteTopicsResponse:
    if call.version >= 6:
        wishes = [Doomed(each.name, UUID(bytes=each.topic_id)) for each in request.topics]
    else:
        wishes = [Doomed(name) for name in request.topic_names]

    def planner(state: State) -> Plan[list[Deleted]]:
        return plan_delete_topics(state.snapshot, wishes, authorise=call.authorise)

    if not context.service.state.ladder.flag("delete.topic.enable"):
        code = ErrorCode.INVALID_REQUEST if call.version < 3 else ErrorCode.TOPIC_DELETION_DISABLED
        results = [Deleted(each.name, each.id, Failure(code, "delete.topic.enable is false")) for each in wishes]
    elif request.timeout_ms <= 0:
        results = [Deleted(each.name, each.id, _TOO_LATE) for each in wishes]
    else:
        try:
            results = await context.service.change(planner, call.caller)
        except StoreError:
            results = [Deleted(each.name, each.id, UNAVAILABLE) for each in wishes]
    _note(context, call, {each.name or encode_id(each.id): each.failure for each in results})
    return DeleteTopicsResponse(
        0,
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


async def handle_grow(context: Context, request: CreatePartitionsRequest, call: Call) -> CreatePartitionsResponse:
    wishes = [
        Growth(
            each.name, each.count, None if each.assignments is None else [one.broker_ids for one in each.assignments]
        )
        for each in request.topics
    ]

    def planner(state: State) -> Plan[dict[str, Failure | None]]:
        return plan_create_partitions(state.snapshot, wishes, context.cluster(state), authorise=call.authorise)

    outcomes: dict[str, Failure | None]
    if request.timeout_ms <= 0:
        outcomes = {wish.name: _TOO_LATE for wish in wishes}
    elif request.validate_only:
        outcomes = context.service.dry_run(planner)
    else:
        try:
            outcomes = await context.service.change(planner, call.caller)
        except StoreError:
            outcomes = {wish.name: UNAVAILABLE for wish in wishes}
    _note(context, call, outcomes, dry_run=request.validate_only)
    return CreatePartitionsResponse(
        0,
        [
            CreatePartitionsTopicResult(name, failure.code if failure else 0, failure.message if failure else None)
            for name, failure in outcomes.items()
        ],
    )
