"""AlterConfig (2100) and DescribeConfig (2101): KIP-21's own requests, over the same engine as Kafka's.

The KIP's errors: InvalidEntity (42) for a wrong type or name, InvalidEntityConfig (40) for a wrong key or value. A
key that is both added and deleted, or added twice, is InvalidEntityConfig.
"""

from __future__ import annotations

from kconf.errors import ErrorCode, Failure
from kconf.model.acl import AclType, Operation
from kconf.model.alteration import Alteration, Op, ResourceAlterations
from kconf.model.resource import Resource
from kconf.server.alter_configs import alter
from kconf.server.context import Call, Context
from kconf.wire.alter_config import AlterConfigRequest, AlterConfigResponse, AlteredEntity, AlteredEntityResult
from kconf.wire.describe_config import (
    ConfigEntry,
    DescribeConfigRequest,
    DescribeConfigResponse,
    DescribedEntity,
    DescribedEntityResult,
)

_TOPICS = frozenset({"topic", "topics"})
_ENTITY = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_TOPIC_EXCEPTION})


async def handle_alter(context: Context, request: AlterConfigRequest, call: Call) -> AlterConfigResponse:
    wishes = [_wish(entity) for entity in request.entities if entity.entity_type in _TOPICS]
    outcomes = iter(await alter(context, wishes, call, replace=False, validate_only=False))
    return AlterConfigResponse(
        [
            AlteredEntityResult(
                entity.entity_type,
                entity.entity_name,
                _code(next(outcomes), entity) if entity.entity_type in _TOPICS else ErrorCode.INVALID_REQUEST,
            )
            for entity in request.entities
        ]
    )


def _wish(entity: AlteredEntity) -> ResourceAlterations:
    added = [Alteration(Op.SET, each.config_key, each.config_value) for each in entity.added_configs]
    deleted = [Alteration(Op.DELETE, key) for key in entity.deleted_configs]
    return ResourceAlterations(Resource.topic(entity.entity_name), [*added, *deleted])


def _code(failure: Failure | None, entity: AlteredEntity) -> int:
    if failure is None:
        return 0
    if failure.code in _ENTITY or not entity.entity_name:
        return ErrorCode.INVALID_REQUEST
    keys = [each.config_key for each in entity.added_configs] + list(entity.deleted_configs)
    if failure.code == ErrorCode.INVALID_REQUEST and len(set(keys)) < len(keys):
        return ErrorCode.INVALID_CONFIG
    return failure.code


def handle_describe(context: Context, request: DescribeConfigRequest, call: Call) -> DescribeConfigResponse:
    return DescribeConfigResponse([_describe(context, entity, call) for entity in request.entities])


def _describe(context: Context, entity: DescribedEntity, call: Call) -> DescribedEntityResult:
    kind, name = entity.entity_type, entity.entity_name
    snapshot = context.service.state.snapshot
    if kind not in _TOPICS:
        return DescribedEntityResult(kind, name, ErrorCode.INVALID_REQUEST, ())
    if not call.authorise(Operation.DESCRIBE_CONFIGS, AclType.TOPIC, name):
        return DescribedEntityResult(kind, name, ErrorCode.TOPIC_AUTHORIZATION_FAILED, ())
    if name not in snapshot.topics:
        return DescribedEntityResult(kind, name, ErrorCode.INVALID_REQUEST, ())
    overrides = snapshot.overrides(Resource.topic(name))
    return DescribedEntityResult(kind, name, 0, [ConfigEntry(*each) for each in sorted(overrides.items())])
