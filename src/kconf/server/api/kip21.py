"""AlterConfig (2100) and DescribeConfig (2101): KIP-21's requests, with the same engine as Kafka's own.

Entities are topics and clients. A client's configs are its quotas, producer_byte_rate and consumer_byte_rate; if one is
deleted, the default quota applies immediately. An empty client name is invalid: the KIP has no default entity.

The KIP's errors: InvalidEntity (42) for a wrong type or name, InvalidEntityConfig (40) for a wrong key or value. A key
that is both added and deleted, or added twice, is InvalidEntityConfig, and so is an unknown key to delete.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kconf.configdef.java.parsing import parse
from kconf.errors import ApiError, ErrorCode
from kconf.model.acl import CLUSTER_NAME, AclType, Operation
from kconf.model.alteration import AlterConfigOp, OpType, ResourceAlterations
from kconf.model.entry import ValueType
from kconf.model.quota import CLIENT_ID, ClientQuotaAlteration, ClientQuotaOp, QuotaEntity
from kconf.model.resource import Resource, ResourceType
from kconf.protocol.messages.alter_config import (
    AlterConfigRequest,
    AlterConfigResponse,
    AlteredEntity,
    AlteredEntityResult,
)
from kconf.protocol.messages.describe_config import (
    ConfigEntry,
    DescribeConfigRequest,
    DescribeConfigResponse,
    DescribedEntity,
    DescribedEntityResult,
)
from kconf.server.api.alter_configs import alter
from kconf.server.api.client_quotas import alter as alter_quotas
from kconf.server.context import ApiRequest, ServerContext
from kconf.util.slices import in_slices

_TOPICS = frozenset({"topic", "topics"})
_CLIENTS = frozenset({"client", "clients"})
_CLIENT_KEYS = frozenset({"producer_byte_rate", "consumer_byte_rate"})
_ENTITY = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_TOPIC_EXCEPTION})


async def handle_alter(context: ServerContext, request: AlterConfigRequest, call: ApiRequest) -> AlterConfigResponse:
    requested = [_alterations(entity) for entity in in_slices(request.entities) if entity.entity_type in _TOPICS]
    outcomes = iter(await alter(context, requested, call, replace=False, validate_only=False, known_deletions=True))
    clients = await _alter_clients(
        context, [entity for entity in in_slices(request.entities) if entity.entity_type in _CLIENTS], call
    )
    results = []
    for entity in in_slices(request.entities):
        if entity.entity_type in _TOPICS:
            code = _code(next(outcomes), entity)
        elif entity.entity_type in _CLIENTS:
            code = clients[entity.entity_name]
        else:
            code = ErrorCode.INVALID_REQUEST
            unknown = Resource(ResourceType.UNKNOWN, f"{entity.entity_type}:{entity.entity_name}")
            context.audit_log.record(call.caller, [(unknown, _keys(entity), ApiError(code))], dry_run=False)
        results.append(AlteredEntityResult(entity.entity_type, entity.entity_name, code))
    return AlterConfigResponse(results)


async def _alter_clients(context: ServerContext, entities: Sequence[AlteredEntity], call: ApiRequest) -> dict[str, int]:
    """The error code of each client, by name."""
    unknown = context.service.store.unknown.kinds.get(ResourceType.QUOTA)
    if unknown is not None:
        refusals = [(_client(each.entity_name).resource, _keys(each), unknown) for each in in_slices(entities)]
        context.audit_log.record(call.caller, refusals, dry_run=False)
        return {each.entity_name: unknown.code for each in in_slices(entities)}
    repeated = {name for name, count in Counter(each.entity_name for each in in_slices(entities)).items() if count > 1}
    codes: dict[str, int] = dict.fromkeys(repeated, ErrorCode.INVALID_REQUEST)
    requested: list[ClientQuotaAlteration] = []
    for entity in in_slices(entities):
        if entity.entity_name in repeated:
            continue
        keys = _keys(entity)
        try:
            added = [
                ClientQuotaOp(each.config_key, _whole(each.config_value)) for each in in_slices(entity.added_configs)
            ]
        except ValueError:
            codes[entity.entity_name] = ErrorCode.INVALID_CONFIG
            continue
        if not entity.entity_name:
            codes[entity.entity_name] = ErrorCode.INVALID_REQUEST
        elif len(set(keys)) < len(keys) or not _CLIENT_KEYS.issuperset(keys):
            codes[entity.entity_name] = ErrorCode.INVALID_CONFIG
        else:
            deleted = [ClientQuotaOp(key, None) for key in in_slices(entity.deleted_configs)]
            requested.append(ClientQuotaAlteration(_client(entity.entity_name), (*added, *deleted)))
    refused = [
        (_client(entity.entity_name).resource, _keys(entity), ApiError(ErrorCode(codes[entity.entity_name])))
        for entity in in_slices(entities)
        if entity.entity_name in codes
    ]
    context.audit_log.record(call.caller, in_slices(refused), dry_run=False)
    outcomes = await alter_quotas(context, requested, call, validate_only=False) if requested else {}
    for each in in_slices(requested):
        ((_, name),) = each.entity.parts
        failure = outcomes[each.entity]
        if failure is None:
            code: int = ErrorCode.NONE
        elif failure.code == ErrorCode.INVALID_REQUEST:
            code = ErrorCode.INVALID_CONFIG  # the entity is valid, so the value is not
        else:
            code = failure.code
        codes[name or ""] = code
    return codes


def _keys(entity: AlteredEntity) -> list[str]:
    return [each.config_key for each in in_slices(entity.added_configs)] + list(entity.deleted_configs)


def _whole(text: str) -> float:
    value = parse(ValueType.LONG, text)
    assert isinstance(value, int)
    return value


def _client(name: str) -> QuotaEntity:
    return QuotaEntity.of({CLIENT_ID: name})


def _alterations(entity: AlteredEntity) -> ResourceAlterations:
    added = [AlterConfigOp(OpType.SET, each.config_key, each.config_value) for each in in_slices(entity.added_configs)]
    deleted = [AlterConfigOp(OpType.DELETE, key) for key in in_slices(entity.deleted_configs)]
    return ResourceAlterations(Resource.topic(entity.entity_name), [*added, *deleted])


def _code(failure: ApiError | None, entity: AlteredEntity) -> int:
    if failure is None:
        return 0
    if failure.code in _ENTITY or not entity.entity_name:
        return ErrorCode.INVALID_REQUEST
    keys = _keys(entity)
    if failure.code == ErrorCode.INVALID_REQUEST and len(set(keys)) < len(keys):
        return ErrorCode.INVALID_CONFIG
    return failure.code


def handle_describe(context: ServerContext, request: DescribeConfigRequest, call: ApiRequest) -> DescribeConfigResponse:
    return DescribeConfigResponse([_describe(context, entity, call) for entity in in_slices(request.entities)])


def _describe(context: ServerContext, entity: DescribedEntity, call: ApiRequest) -> DescribedEntityResult:
    kind, name = entity.entity_type, entity.entity_name
    if kind in _CLIENTS and name:
        if not call.authorize(Operation.DESCRIBE_CONFIGS, AclType.CLUSTER, CLUSTER_NAME):
            return DescribedEntityResult(kind, name, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ())
        return _entries(context, kind, name, _client(name).resource)
    if kind not in _TOPICS:
        return DescribedEntityResult(kind, name, ErrorCode.INVALID_REQUEST, ())
    if not call.authorize(Operation.DESCRIBE_CONFIGS, AclType.TOPIC, name):
        return DescribedEntityResult(kind, name, ErrorCode.TOPIC_AUTHORIZATION_FAILED, ())
    if name not in context.service.state.snapshot.topics:
        return DescribedEntityResult(kind, name, ErrorCode.INVALID_REQUEST, ())
    return _entries(context, kind, name, Resource.topic(name))


def _entries(context: ServerContext, kind: str, name: str, resource: Resource) -> DescribedEntityResult:
    if (failure := context.service.store.unknown.of(resource)) is not None:
        return DescribedEntityResult(kind, name, failure.code, ())
    overrides = context.service.state.snapshot.overrides(resource)
    return DescribedEntityResult(kind, name, 0, [ConfigEntry(*each) for each in sorted(overrides.items())])
