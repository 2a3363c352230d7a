"""DescribeClientQuotas (48) and AlterClientQuotas (49), KIP-546.

A describe is answered from the quota manager's index. Each entity is encoded once and cached, so that a describe of
100,000 entities only joins bytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final, cast

from kconf.engine.policy.hooks import PolicyHooks
from kconf.engine.quotas.alter import QuotaOutcomes, is_address, plan_alter_quotas
from kconf.engine.quotas.filter import matching
from kconf.engine.quotas.index import QuotaRow, quotas
from kconf.errors import ErrorCode, KafkaError, NotAuthorized, StoreError
from kconf.model.acl import CLUSTER_NAME, AclType, Operation
from kconf.model.plan import Plan
from kconf.model.quota import (
    IP,
    ClientQuotaAlteration,
    ClientQuotaOp,
    QuotaComponent,
    QuotaEntity,
    QuotaFilter,
)
from kconf.protocol.codec.serde import encode
from kconf.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    AlteredQuota,
    AlteredQuotaResult,
)
from kconf.protocol.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    DescribedQuota,
    QuotaEntityPart,
    QuotaValue,
)
from kconf.server.api.reasons import with_reason
from kconf.server.context import ApiRequest, ServerContext, store_error
from kconf.server.quotas.manager import addresses_of
from kconf.service import State
from kconf.util.slices import in_slices

_FLEXIBLE = 1


def handle_describe(
    context: ServerContext, request: DescribeClientQuotasRequest, call: ApiRequest
) -> DescribeClientQuotasResponse:
    try:
        if not call.authorize(Operation.DESCRIBE_CONFIGS, AclType.CLUSTER, CLUSTER_NAME):
            raise NotAuthorized(NotAuthorized.stock)
        components = tuple(
            QuotaComponent(each.entity_type, each.match_type, each.match) for each in in_slices(request.components)
        )
        rows = matching(context.quotas.index, QuotaFilter(components, request.strict))
    except KafkaError as error:
        failure = error.failure()
        return DescribeClientQuotasResponse(error_code=failure.code, error_message=failure.message)
    flexible = call.version >= _FLEXIBLE
    entries = [_bytes(row, flexible) for row in in_slices(rows)]
    return DescribeClientQuotasResponse(error_message="", entries=cast(Any, entries))


def _bytes(row: QuotaRow, flexible: bool) -> bytes:
    known: dict[bool, bytes] | None = row.memo
    if known is None:
        known = row.memo = {}
    data = known.get(flexible)
    if data is None:
        entry = DescribedQuota(
            [QuotaEntityPart(*each) for each in row.entity.parts], [QuotaValue(*each) for each in quotas(row)]
        )
        data = known[flexible] = encode(entry, int(flexible), flexible)
    return data


_BUCKETS: Final = 8


def _in_kafkas_order(entity: QuotaEntity) -> Sequence[tuple[str, str | None]]:
    """The parts of an entity in the order of Kafka's hash map: client-id, user, ip."""
    if len(entity.parts) > _BUCKETS:
        return entity.parts
    return sorted(entity.parts, key=lambda part: _bucket(part[0]))


def _bucket(kind: str) -> int:
    """The bucket of a short string in a Java HashMap."""
    value = 0
    for each in kind[:32]:
        value = (31 * value + ord(each)) & 0xFFFFFFFF
    return (value ^ value >> 16) % _BUCKETS


async def handle_alter(
    context: ServerContext, request: AlterClientQuotasRequest, call: ApiRequest
) -> AlterClientQuotasResponse:
    requested = [_alteration(each) for each in in_slices(request.entries)]
    try:
        call = with_reason(call, request.reason)
    except KafkaError as error:
        outcomes: QuotaOutcomes = {each.entity: error.failure() for each in in_slices(requested)}
        _audit(context, call, requested, outcomes, dry_run=request.validate_only)
    else:
        outcomes = await alter(context, requested, call, validate_only=request.validate_only)
    return AlterClientQuotasResponse(
        entries=[
            AlteredQuotaResult(
                failure.code if failure else ErrorCode.NONE,
                failure.message if failure else None,
                [QuotaEntityPart(*part) for part in in_slices(_in_kafkas_order(entity))],
            )
            for entity, failure in in_slices(outcomes.items())
        ]
    )


def _alteration(entry: AlteredQuota) -> ClientQuotaAlteration:
    # As in Kafka, if an entity has a type twice, the last one counts.
    entity = QuotaEntity.of({part.entity_type: part.entity_name for part in in_slices(entry.entity)})
    return ClientQuotaAlteration(
        entity, tuple(ClientQuotaOp(each.key, None if each.remove else each.value) for each in in_slices(entry.ops))
    )


async def alter(
    context: ServerContext, requested: Sequence[ClientQuotaAlteration], call: ApiRequest, *, validate_only: bool
) -> QuotaOutcomes:
    """Submit alterations. Host names of ip entities are resolved first, since planning must not block."""
    hosts = await _known_hosts(requested)

    def plan(state: State, _hooks: PolicyHooks) -> Plan[QuotaOutcomes]:
        return plan_alter_quotas(
            state.snapshot, requested, is_host=lambda name: name in hosts or is_address(name), authorize=call.authorize
        )

    try:
        outcomes = await context.service.submit(plan, call.caller, validate_only=validate_only)
    except StoreError as error:
        outcomes = {each.entity: store_error(error) for each in in_slices(requested)}
    _audit(context, call, requested, outcomes, dry_run=validate_only)
    return outcomes


def _audit(
    context: ServerContext,
    call: ApiRequest,
    requested: Sequence[ClientQuotaAlteration],
    outcomes: QuotaOutcomes,
    *,
    dry_run: bool,
) -> None:
    if dry_run or any(outcomes.values()):
        keys = {each.entity: [op.key for op in in_slices(each.alterations)] for each in in_slices(requested)}
        entries = ((entity.resource, keys[entity], failure) for entity, failure in in_slices(outcomes.items()))
        context.audit_log.record(call.caller, entries, dry_run=dry_run)


async def _known_hosts(requested: Sequence[ClientQuotaAlteration]) -> frozenset[str]:
    """The host names of ip entities that can be resolved."""
    parts = [part for each in in_slices(requested) for part in in_slices(each.entity.parts)]
    names = sorted({name for kind, name in in_slices(parts) if kind == IP and name and not is_address(name)})
    if not names:
        return frozenset()
    found = await asyncio.gather(*map(addresses_of, names))
    return frozenset(name for name, addresses in zip(names, found, strict=True) if addresses)
