"""DescribeQuotas (24800) and AlterQuotas (24801): KIP-248's own requests, over the same engine as KIP-546's.

A describe resolves the quota in force for an entity, with the level that it comes from. A user alone means the user
without any client id; a client id alone means any user.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, nan
from typing import Final

from kconf.engine.quotas.index import QuotaIndex
from kconf.engine.quotas.precedence import Name
from kconf.engine.quotas.what_if import what_if
from kconf.errors import ApiError, ErrorCode, InvalidRequest, KafkaError, NotAuthorized
from kconf.model.acl import CLUSTER_NAME, AclType, Operation
from kconf.model.quota import (
    CLIENT_ID,
    USER,
    ClientQuotaAlteration,
    ClientQuotaOp,
    QuotaCandidate,
    QuotaDifference,
    QuotaEntity,
)
from kconf.model.resource import Resource, ResourceType
from kconf.protocol.messages.alter_quotas import (
    AlteredQuotaResource,
    AlteredQuotas,
    AlteredQuotaType,
    AlterQuotasRequest,
    AlterQuotasResponse,
    ShiftedQuota,
)
from kconf.protocol.messages.describe_quotas import (
    ENTITY_TYPES,
    QUOTA_TYPES,
    DescribedQuotaResource,
    DescribedQuotas,
    DescribeQuotasRequest,
    DescribeQuotasResponse,
    LosingQuota,
    QuotaResource,
    ResolvedQuota,
)
from kconf.server.api.alter_configs import MAX_REASON, REASON_TOO_LONG
from kconf.server.api.client_quotas import alter
from kconf.server.context import ApiRequest, ServerContext
from kconf.util.slices import in_slices

_MAX_SHIFTS: Final = 1000
_MAX_WHAT_IF: Final = 20  # alterations; each is resolved for all clients seen lately


def handle_describe(context: ServerContext, request: DescribeQuotasRequest, call: ApiRequest) -> DescribeQuotasResponse:
    allowed = call.authorize(Operation.DESCRIBE_CONFIGS, AclType.CLUSTER, CLUSTER_NAME)
    index = context.quotas.index
    described = [_described(index, each, allowed=allowed) for each in in_slices(request.resources)]
    return DescribeQuotasResponse(resources=described)


def _described(index: QuotaIndex, requested: DescribedQuotaResource, *, allowed: bool) -> DescribedQuotas:
    try:
        if not allowed:
            raise NotAuthorized(NotAuthorized.stock)
        parts = _parts(requested.quota_resources)
        kinds = sorted({_checked_type(each) for each in in_slices(requested.quota_types)}) or range(len(QUOTA_TYPES))
    except KafkaError as error:
        failure = error.failure()
        return DescribedQuotas(requested.quota_resources, failure.code, failure.message)
    user, client_id = parts.get(USER, ""), parts.get(CLIENT_ID, "")
    return DescribedQuotas(
        requested.quota_resources,
        quotas=[
            _resolved(kind, candidates)
            for kind in kinds
            if (candidates := index.candidates(QUOTA_TYPES[kind], user, client_id))
        ],
    )


def _resolved(kind: int, candidates: Sequence[QuotaCandidate]) -> ResolvedQuota:
    (source, value), *losers = candidates
    return ResolvedQuota(kind, value, source, [LosingQuota(each.value, each.source) for each in losers])


def _parts(resources: Sequence[QuotaResource]) -> dict[str, Name]:
    """Types and names; an empty name is the default."""
    parts: dict[str, Name] = {}
    for each in in_slices(resources):
        kind = ENTITY_TYPES.get(each.type)
        if kind is None:
            raise InvalidRequest(f"there are no quotas for resources of type {each.type}")
        if kind in parts:
            raise InvalidRequest(f"a resource has the type {kind} more than once")
        parts[kind] = each.name or None
    if not parts:
        raise InvalidRequest("a quota needs a resource: a user, a client, or both")
    return parts


def _checked_type(kind: int) -> int:
    if not 0 <= kind < len(QUOTA_TYPES):
        raise InvalidRequest(f"there is no quota type {kind}")
    return kind


async def handle_alter(context: ServerContext, request: AlterQuotasRequest, call: ApiRequest) -> AlterQuotasResponse:
    requested: list[ClientQuotaAlteration | ApiError] = [
        _alteration(each, call) for each in in_slices(request.resources)
    ]
    if request.reason is not None:
        if len(request.reason) > MAX_REASON:
            requested = [REASON_TOO_LONG] * len(requested)
        else:
            call = call.with_reason(request.reason)
    pairs = list(zip(in_slices(request.resources), requested, strict=True))
    refused = [(_named(one), _keys(one), each) for one, each in in_slices(pairs) if isinstance(each, ApiError)]
    context.audit_log.record(call.caller, in_slices(refused), dry_run=request.validate_only)
    good = [each for each in in_slices(requested) if isinstance(each, ClientQuotaAlteration)]
    outcomes = await alter(context, good, call, validate_only=request.validate_only)
    results = []
    for resource, each in in_slices(pairs):
        failure = each if isinstance(each, ApiError) else outcomes[each.entity]
        result = _altered(resource, failure)
        if request.validate_only and failure is None and len(good) <= _MAX_WHAT_IF:
            assert isinstance(each, ClientQuotaAlteration)
            result.shifts = _shifts(context, each)
        results.append(result)
    return AlterQuotasResponse(resources=results)


def _alteration(resource: AlteredQuotaResource, call: ApiRequest) -> ClientQuotaAlteration | ApiError:
    try:
        if not call.authorize(Operation.ALTER_CONFIGS, AclType.CLUSTER, CLUSTER_NAME):
            raise NotAuthorized(NotAuthorized.stock)
        return ClientQuotaAlteration(
            QuotaEntity.of(_parts(resource.quota_resources)),
            tuple(
                ClientQuotaOp(
                    QUOTA_TYPES[_checked_type(each.quota_type)],
                    None if isnan(each.quota_value) else each.quota_value,
                )
                for each in in_slices(resource.quotas)
            ),
        )
    except KafkaError as error:
        return error.failure()


def _named(resource: AlteredQuotaResource) -> Resource:
    """The entity of a refused alteration, as far as it can be read."""
    try:
        return QuotaEntity.of(_parts(resource.quota_resources)).resource
    except KafkaError:
        return Resource(
            ResourceType.UNKNOWN, ",".join(f"{each.type}:{each.name}" for each in in_slices(resource.quota_resources))
        )


def _keys(resource: AlteredQuotaResource) -> list[str]:
    known = range(len(QUOTA_TYPES))
    return [QUOTA_TYPES[each.quota_type] if each.quota_type in known else "?" for each in in_slices(resource.quotas)]


def _altered(resource: AlteredQuotaResource, failure: ApiError | None) -> AlteredQuotas:
    code, message = (failure.code, failure.message) if failure else (ErrorCode.NONE, None)
    return AlteredQuotas(
        resource.quota_resources,
        [AlteredQuotaType(code, message, each.quota_type) for each in in_slices(resource.quotas)],
    )


def _shifts(context: ServerContext, alteration: ClientQuotaAlteration) -> list[ShiftedQuota]:
    """The clients seen lately that would get another quota."""
    quotas = context.quotas
    found = what_if(quotas.index, [alteration], quotas.seen)
    return [_shift(each) for each, _ in zip(found, range(_MAX_SHIFTS), strict=False)]


def _shift(shift: QuotaDifference) -> ShiftedQuota:
    before, after = shift.before, shift.after
    return ShiftedQuota(
        shift.user,
        shift.client_id,
        QUOTA_TYPES.index(shift.key),
        before.value if before else nan,
        before.source if before else -1,
        after.value if after else nan,
        after.source if after else -1,
    )
