"""DescribeQuotas (24800) and AlterQuotas (24801): KIP-248's requests, with the same engine as KIP-546.

A describe returns the effective quota of an entity and the level that it comes from. A user alone means the user
without a client id; a client id alone means any user. Quotas are doubles, such as 100.5 bytes per second; in Kafka's
ZooKeeper layout they are whole numbers, because brokers read only those.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, nan
from typing import Final, NamedTuple

from kconf.engine.policy.hooks import PolicyHooks
from kconf.engine.quotas.alter import EachQuotaOutcomes, plan_alter_each_quota
from kconf.engine.quotas.index import QuotaIndex
from kconf.engine.quotas.precedence import Name
from kconf.engine.quotas.what_if import what_if
from kconf.errors import ApiError, ErrorCode, InvalidRequest, KafkaError, NotAuthorized, StoreError
from kconf.model.acl import CLUSTER_NAME, AclType, Operation
from kconf.model.plan import Plan
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
    OverriddenQuota,
    QuotaResource,
    ResolvedQuota,
)
from kconf.server.api.alter_configs import MAX_REASON, REASON_TOO_LONG
from kconf.server.context import ApiRequest, ServerContext, store_error
from kconf.service import State
from kconf.util.slices import in_slices

_MAX_SHIFTS: Final = 1000
_MAX_WHAT_IF: Final = 20  # alterations; each is resolved for all recently seen clients


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
    (source, value), *overridden = candidates
    return ResolvedQuota(kind, value, source, [OverriddenQuota(each.value, each.source) for each in overridden])


def _parts(resources: Sequence[QuotaResource]) -> dict[str, Name]:
    """Entity types and names. An empty name is the default entity."""
    parts: dict[str, Name] = {}
    for each in in_slices(resources):
        kind = ENTITY_TYPES.get(each.type)
        if kind is None:
            raise InvalidRequest(f"there are no quotas for resources of type {each.type}")
        if kind in parts:
            raise InvalidRequest(f"a quota cannot have two resources of type {kind}")
        parts[kind] = each.name or None
    if not parts:
        raise InvalidRequest("a quota needs a resource: a user, a client, or both")
    return parts


def _checked_type(kind: int) -> int:
    if not 0 <= kind < len(QUOTA_TYPES):
        raise InvalidRequest(f"unknown quota type {kind}")
    return kind


async def handle_alter(context: ServerContext, request: AlterQuotasRequest, call: ApiRequest) -> AlterQuotasResponse:
    """Alter quotas. Each quota has its own error (KIP-248); the other quotas of its entity are still altered."""
    requested = [_requested(each, call) for each in in_slices(request.resources)]
    if request.reason is not None:
        if len(request.reason) > MAX_REASON:
            requested = [
                _Requested(each.resource, None, [REASON_TOO_LONG] * len(each.quotas)) for each in in_slices(requested)
            ]
        else:
            call = call.with_reason(request.reason)
    planned = [each.alteration for each in in_slices(requested) if each.alteration is not None]
    outcomes = iter(await _alter(context, planned, call, request.validate_only))
    results = []
    for each in in_slices(requested):
        codes = each.quotas if each.alteration is None else _completed(each.quotas, next(outcomes))
        _audit(context, each, codes, call, dry_run=request.validate_only)
        result = _altered(each.resource, codes)
        if request.validate_only and each.alteration and not any(codes) and len(planned) <= _MAX_WHAT_IF:
            result.shifts = _shifts(context, each.alteration)
        results.append(result)
    return AlterQuotasResponse(resources=results)


def _completed(refused: Sequence[ApiError | None], planned: Sequence[ApiError | None]) -> list[ApiError | None]:
    """The outcomes of all quotas of a resource: of those refused before planning and of those planned."""
    rest = iter(planned)
    return [next(rest) if each is None else each for each in refused]


class _Requested(NamedTuple):
    """A resource of the request: the alteration to plan, and for each quota the error, or None if it is planned."""

    resource: AlteredQuotaResource
    alteration: ClientQuotaAlteration | None
    quotas: Sequence[ApiError | None]


def _requested(resource: AlteredQuotaResource, call: ApiRequest) -> _Requested:
    try:
        if not call.authorize(Operation.ALTER_CONFIGS, AclType.CLUSTER, CLUSTER_NAME):
            raise NotAuthorized(NotAuthorized.stock)
        entity = QuotaEntity.of(_parts(resource.quota_resources))
    except KafkaError as error:
        return _Requested(resource, None, [error.failure()] * len(resource.quotas))
    ops: list[ClientQuotaOp] = []
    quotas: list[ApiError | None] = []
    for each in in_slices(resource.quotas):
        try:
            key = QUOTA_TYPES[_checked_type(each.quota_type)]
        except KafkaError as error:
            quotas.append(error.failure())
        else:
            quotas.append(None)
            ops.append(ClientQuotaOp(key, None if isnan(each.quota_value) else each.quota_value))
    return _Requested(resource, ClientQuotaAlteration(entity, tuple(ops)), quotas)


async def _alter(
    context: ServerContext, requested: Sequence[ClientQuotaAlteration], call: ApiRequest, validate_only: bool
) -> EachQuotaOutcomes:
    service = context.service

    def plan(state: State, _hooks: PolicyHooks) -> Plan[EachQuotaOutcomes]:
        fractions = service.store.keeps_fractions
        return plan_alter_each_quota(state.snapshot, requested, fractions=fractions, authorize=call.authorize)

    if not requested:
        return []
    try:
        return await service.submit(plan, call.caller, validate_only=validate_only)
    except StoreError as error:
        return [[store_error(error)] * len(each.alterations) for each in requested]


def _audit(
    context: ServerContext, requested: _Requested, codes: Sequence[ApiError | None], call: ApiRequest, *, dry_run: bool
) -> None:
    """Record one entry for a dry run, and one per error with the quotas that it applies to."""
    resource, keys = _named(requested.resource), _keys(requested.resource)
    by_code: dict[int, tuple[ApiError | None, list[str]]] = {}
    for key, failure in zip(in_slices(keys), codes, strict=True):
        by_code.setdefault(failure.code if failure else 0, (failure, []))[1].append(key)
    if not by_code and dry_run:
        by_code[0] = (None, [])
    context.audit_log.record(call.caller, [(resource, some, each) for each, some in by_code.values()], dry_run=dry_run)


def _named(resource: AlteredQuotaResource) -> Resource:
    """The entity of a refused alteration, or UNKNOWN if it is invalid."""
    try:
        return QuotaEntity.of(_parts(resource.quota_resources)).resource
    except KafkaError:
        return Resource(
            ResourceType.UNKNOWN, ",".join(f"{each.type}:{each.name}" for each in in_slices(resource.quota_resources))
        )


def _keys(resource: AlteredQuotaResource) -> list[str]:
    known = range(len(QUOTA_TYPES))
    return [QUOTA_TYPES[each.quota_type] if each.quota_type in known else "?" for each in in_slices(resource.quotas)]


def _altered(resource: AlteredQuotaResource, outcomes: Sequence[ApiError | None]) -> AlteredQuotas:
    quotas = [
        AlteredQuotaType(
            failure.code if failure else ErrorCode.NONE, failure.message if failure else None, each.quota_type
        )
        for each, failure in zip(in_slices(resource.quotas), outcomes, strict=True)
    ]
    return AlteredQuotas(resource.quota_resources, quotas)


def _shifts(context: ServerContext, alteration: ClientQuotaAlteration) -> list[ShiftedQuota]:
    """The recently seen clients whose quota would change."""
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
