"""DescribeClientQuotas (48) and AlterClientQuotas (49), KIP-546.

A describe is answered from the quota manager's index; an entity's bytes are encoded once and cached with its row, so
that describing all of 100,000 entities is joining them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any, cast

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

_FLEXIBLE = 1
_BATCH = 2000  # entities encoded before other tasks may run


def handle_describe(
    context: ServerContext, request: DescribeClientQuotasRequest, call: ApiRequest
) -> DescribeClientQuotasResponse | Awaitable[DescribeClientQuotasResponse]:
    try:
        if not call.authorize(Operation.DESCRIBE_CONFIGS, AclType.CLUSTER, CLUSTER_NAME):
            raise NotAuthorized(NotAuthorized.stock)
        components = tuple(QuotaComponent(each.entity_type, each.match_type, each.match) for each in request.components)
        rows = matching(context.quotas.index, QuotaFilter(components, request.strict))
    except KafkaError as error:
        failure = error.failure()
        return DescribeClientQuotasResponse(error_code=failure.code, error_message=failure.message)
    flexible = call.version >= _FLEXIBLE
    if len(rows) > _BATCH:
        return _describe_many(rows, flexible)
    return _described([_bytes(row, flexible) for row in rows])


async def _describe_many(rows: Sequence[QuotaRow], flexible: bool) -> DescribeClientQuotasResponse:
    """Rows do not change, so other tasks can run in between."""
    entries: list[bytes] = []
    for start in range(0, len(rows), _BATCH):
        entries += [_bytes(row, flexible) for row in rows[start : start + _BATCH]]
        await asyncio.sleep(0)
    return _described(entries)


def _described(entries: list[bytes]) -> DescribeClientQuotasResponse:
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


async def handle_alter(
    context: ServerContext, request: AlterClientQuotasRequest, call: ApiRequest
) -> AlterClientQuotasResponse:
    requested = [_alteration(each) for each in request.entries]
    try:
        call = with_reason(call, request.reason)
    except KafkaError as error:
        outcomes: QuotaOutcomes = {each.entity: error.failure() for each in requested}
        _audit(context, call, requested, outcomes, dry_run=request.validate_only)
    else:
        outcomes = await alter(context, requested, call, validate_only=request.validate_only)
    return AlterClientQuotasResponse(
        entries=[
            AlteredQuotaResult(
                failure.code if failure else ErrorCode.NONE,
                failure.message if failure else None,
                [QuotaEntityPart(*part) for part in entity.parts],
            )
            for entity, failure in outcomes.items()
        ]
    )


def _alteration(entry: AlteredQuota) -> ClientQuotaAlteration:
    # As in Kafka: of a type that is in an entity twice, the last one counts.
    entity = QuotaEntity.of({part.entity_type: part.entity_name for part in entry.entity})
    return ClientQuotaAlteration(
        entity, tuple(ClientQuotaOp(each.key, None if each.remove else each.value) for each in entry.ops)
    )


async def alter(
    context: ServerContext, requested: Sequence[ClientQuotaAlteration], call: ApiRequest, *, validate_only: bool
) -> QuotaOutcomes:
    """Submit alterations. Host names of ip entities are looked up before, since planning never waits."""
    hosts = await _known_hosts(requested)

    def plan(state: State, _hooks: PolicyHooks) -> Plan[QuotaOutcomes]:
        return plan_alter_quotas(
            state.snapshot, requested, is_host=lambda name: name in hosts or is_address(name), authorize=call.authorize
        )

    try:
        outcomes = await context.service.submit(plan, call.caller, validate_only=validate_only)
    except StoreError as error:
        outcomes = {each.entity: store_error(error) for each in requested}
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
        keys = {each.entity: [op.key for op in each.alterations] for each in requested}
        entries = ((entity.resource, keys[entity], failure) for entity, failure in outcomes.items())
        context.audit_log.record(call.caller, entries, dry_run=dry_run)


async def _known_hosts(requested: Sequence[ClientQuotaAlteration]) -> frozenset[str]:
    """The host names of ip entities that have an address."""
    parts = [part for each in requested for part in each.entity.parts]
    names = sorted({name for kind, name in parts if kind == IP and name and not is_address(name)})
    if not names:
        return frozenset()
    found = await asyncio.gather(*map(addresses_of, names))
    return frozenset(name for name, addresses in zip(names, found, strict=True) if addresses)
