"""Effective quotas (KIP-248) of users and client ids, with the level of each and the quotas that it overrides.

A kconf server has an API for this. With Kafka, the client resolves the stored quotas: it requests each level with a
strict filter, or all quotas at once if there would be too many requests. The result is the same. KIP-248 has only users
and clients; IP addresses have no levels (use describe_client_quotas).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from math import isnan, nan
from typing import Any, Final

from kconf.client.calls.amounts import Amount, plain_quotas
from kconf.client.calls.arguments import item_of, items_of, mapping_of
from kconf.client.calls.base import Call, CallResult, ClusterCall, NodeVersions, PerItemCall, api_error
from kconf.client.calls.client_quotas import AlterClientQuotas, DescribeClientQuotas, Quotas
from kconf.engine.quotas.precedence import Stored, StoredQuotas, levels, who
from kconf.errors import ApiError, ErrorCode, InvalidRequest
from kconf.model.quota import (
    ClientQuotaAlteration,
    ClientQuotaOp,
    EffectiveQuota,
    QuotaCandidate,
    QuotaDifference,
    QuotaEntity,
    QuotaFilter,
    QuotaSource,
)
from kconf.model.results import Results
from kconf.protocol.messages.describe_quotas import ENTITY_TYPES, QUOTA_TYPES

Effective = dict[str, EffectiveQuota]
Changes = Mapping[str, Amount]
Pair = tuple[str | None, str | None]

_NUMBERS: Final = {name: number for number, name in ENTITY_TYPES.items()}
_MAX_REQUESTS: Final = 40  # five pairs; for more, all quotas are requested once


def _refusal(entity: QuotaEntity, keys: Iterable[str]) -> ApiError | None:
    """The error for an alteration that KIP-248 does not support, or None."""
    if not entity.parts or any(kind not in _NUMBERS for kind, _ in entity.parts):
        return ApiError(
            ErrorCode.INVALID_REQUEST, f"these quotas apply to a user, a client-id or both, not to {entity}"
        )
    if any(name == "" for _, name in entity.parts):  # in the protocol, an empty name is the default
        return ApiError(ErrorCode.INVALID_REQUEST, f"a name must not be empty ({entity}); None means the default")
    unknown = [key for key in keys if key not in QUOTA_TYPES]
    if unknown:
        have = ", ".join(QUOTA_TYPES)
        return ApiError(
            ErrorCode.INVALID_REQUEST, f"{unknown[0]!r} is not a quota of users and clients; use one of {have}"
        )
    return None


def _resources(entity: QuotaEntity) -> list[Any]:
    from kconf.protocol.messages.describe_quotas import QuotaResource

    return [QuotaResource(_NUMBERS[kind], name or "") for kind, name in entity.parts]


def _entity(resource: Any) -> QuotaEntity:
    return QuotaEntity.of({ENTITY_TYPES.get(part.type, "?"): part.name or None for part in resource.quota_resources})


class _PrecheckedCall(PerItemCall[QuotaEntity, Any]):
    """Sends only the valid entities. The others get their error in the result."""

    def __init__(self, wanted: Mapping[QuotaEntity, Iterable[str]]) -> None:
        self._refused = {each: found for each, keys in wanted.items() if (found := _refusal(each, keys))}
        self._order = tuple(wanted)
        super().__init__(each for each in wanted if each not in self._refused)

    def finish(self, outcomes: dict[QuotaEntity, Any]) -> Results[QuotaEntity, Any]:
        return Results({each: self._refused.get(each) or outcomes[each] for each in self._order})


class DescribeQuotas(_PrecheckedCall):
    name = "DescribeQuotas"

    def __init__(self, entities: Iterable[QuotaEntity], keys: Iterable[str] = ()) -> None:
        self.keys = tuple(sorted(set(items_of("keys", keys, str)))) or tuple(sorted(QUOTA_TYPES))
        super().__init__(dict.fromkeys(map(_ordered, items_of("entities", entities, QuotaEntity)), self.keys))

    def write(self, node: NodeVersions, version: int, items: Sequence[QuotaEntity]) -> object:
        from kconf.protocol.messages.describe_quotas import DescribedQuotaResource, DescribeQuotasRequest

        kinds = [QUOTA_TYPES.index(each) for each in self.keys]
        return DescribeQuotasRequest([DescribedQuotaResource(_resources(each), kinds) for each in items])

    def read(self, version: int, frame: bytes, start: int, items: Sequence[QuotaEntity]) -> CallResult:
        body = self.body(version, frame, start)
        outcomes = {
            _entity(each): api_error(each.error_code, each.error_message)
            if each.error_code
            else _effective(each.quotas)
            for each in body.resources
        }
        return CallResult(outcomes, body.throttle_time_ms)

    def on_kafka(self) -> ResolveQuotas:
        """The same call for brokers that return only stored quotas."""
        return ResolveQuotas(self)


def _effective(quotas: Sequence[Any]) -> Effective:
    found = {
        QUOTA_TYPES[each.quota_type]: EffectiveQuota(
            each.quota_value,
            QuotaSource(each.quota_source),
            tuple(QuotaCandidate(QuotaSource(one.quota_source), one.quota_value) for one in each.overridden),
        )
        for each in quotas
    }
    return {key: found[key] for key in sorted(found)}


class ResolveQuotas(Call[QuotaEntity | None, Stored, Results[QuotaEntity, Effective]]):
    """Reads the stored quotas of every level, or all (None) if that takes fewer requests."""

    name = "DescribeClientQuotas"
    hint = DescribeClientQuotas.hint

    def __init__(self, call: DescribeQuotas) -> None:
        self._call = call
        needed = {level: None for each in call.items for level in levels(*who(each))}
        super().__init__(needed if len(needed) <= _MAX_REQUESTS else (None,))

    def group(self, item: QuotaEntity | None) -> Hashable:
        return item

    def write(self, node: NodeVersions, version: int, items: Sequence[QuotaEntity | None]) -> object:
        (entity,) = items
        return DescribeClientQuotas(entity and QuotaFilter.exactly(entity)).write(node, version, (None,))

    def read(self, version: int, frame: bytes, start: int, items: Sequence[QuotaEntity | None]) -> CallResult:
        outcomes, throttle_ms = DescribeClientQuotas(None).read(version, frame, start, (None,))
        return CallResult({items[0]: outcomes[None]}, throttle_ms)

    def finish(self, outcomes: dict[QuotaEntity | None, Stored | ApiError]) -> Results[QuotaEntity, Effective]:
        stored: Quotas = {}
        for each in outcomes.values():
            if isinstance(each, ApiError):
                raise each.error()  # if one level is unknown, the effective quota is unknown
            stored.update({entity: dict(values) for entity, values in each.items()})
        quotas, call = StoredQuotas(stored), self._call
        return call.finish({each: quotas.effective(*who(each), call.keys) for each in call.items})


class AlterQuotas(_PrecheckedCall):
    """`alterations` has the keys to set, or to remove if the value is None or NaN. Other keys are unchanged."""

    name = "AlterQuotas"
    batch_factor = AlterClientQuotas.batch_factor

    def __init__(
        self, alterations: Mapping[QuotaEntity, Changes], *, validate_only: bool = False, reason: str | None = None
    ) -> None:
        given = mapping_of("alterations", alterations, QuotaEntity)
        plain = plain_quotas({_ordered(entity): each for entity, each in given.items()})
        self.alterations = {entity: _without_nan(each) for entity, each in plain.items()}
        super().__init__(self.alterations)
        self.validate_only, self.reason = validate_only, reason
        self.is_change = not validate_only
        # Kafka's API for the same, without a reason.
        self._fallback = AlterClientQuotas(
            {each: self.alterations[each] for each in self.items}, validate_only=validate_only
        )

    def write(self, node: NodeVersions, version: int, items: Sequence[QuotaEntity]) -> object:
        from kconf.protocol.messages.alter_quotas import AlteredQuotaResource, AlterQuotasRequest, WantedQuota

        wanted = [
            AlteredQuotaResource(
                _resources(each),
                [
                    WantedQuota(QUOTA_TYPES.index(key), nan if value is None else value)
                    for key, value in self.alterations[each].items()
                ],
            )
            for each in items
        ]
        return AlterQuotasRequest(self.validate_only, wanted, self.reason)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[QuotaEntity]) -> CallResult:
        body = self.body(version, frame, start)
        outcomes = {_entity(each): _outcome(each, self.validate_only) for each in body.resources}
        return CallResult(outcomes, body.throttle_time_ms)

    def fallback(self) -> AlterClientQuotas:
        return self._fallback


def _outcome(resource: Any, validate_only: bool) -> ApiError | None:
    """The first error of an entity's quotas. It also mentions quotas that were altered (KIP-248)."""
    failed = [each for each in resource.quotas if each.error_code]
    if not failed:
        return None
    error = api_error(failed[0].error_code, failed[0].error_message)
    if len(failed) == len(resource.quotas):
        return error
    names = ", ".join(_key_name(each) for each in failed)
    others = ", ".join(_key_name(each) for each in resource.quotas if not each.error_code)
    what = "would be altered" if validate_only else "still altered"
    return error._replace(message=f"{names}: {error.message or error.code.name}; {others}: {what}")


def _key_name(quota: Any) -> str:
    known = range(len(QUOTA_TYPES))
    return QUOTA_TYPES[quota.quota_type] if quota.quota_type in known else f"quota {quota.quota_type}"


class WhatIf(ClusterCall[list[QuotaDifference]]):
    """The recently seen clients of a kconf server that would get a different quota."""

    name = "AlterQuotas"

    def __init__(self, entity: QuotaEntity, changes: Changes) -> None:
        super().__init__()
        self._entity = _ordered(item_of("entity", entity, QuotaEntity))
        self._changes = _without_nan(plain_quotas({self._entity: changes})[self._entity])
        refused = _refusal(self._entity, changes)
        if refused is not None:
            raise refused.error()
        if not changes:
            raise InvalidRequest("what_if needs at least one quota")

    def write(self, node: NodeVersions, version: int, items: Sequence[None]) -> object:
        return AlterQuotas({self._entity: self._changes}, validate_only=True).write(node, version, [self._entity])

    def read(self, version: int, frame: bytes, start: int, items: Sequence[None]) -> CallResult:
        body = self.body(version, frame, start)
        (resource,) = body.resources
        refused = _outcome(resource, True)
        return CallResult({None: refused or [_difference(each) for each in resource.shifts]}, body.throttle_time_ms)

    def resolved(self, stored: Stored, pairs: Iterable[Pair] | None) -> list[QuotaDifference]:
        """The same from stored quotas, for these users and client ids, or for those that have quotas."""
        from kconf.engine.quotas.what_if import what_if

        quotas, alteration = StoredQuotas(stored), ClientQuotaAlteration(self._entity, tuple(self._checked()))
        return list(what_if(quotas, [alteration], quotas.named() if pairs is None else pairs))

    def _checked(self) -> Iterator[ClientQuotaOp]:
        from kconf.engine.quotas.alter import keys_of, quota_text

        keys = keys_of(self._entity, lambda _: False)
        for key, value in self._changes.items():
            yield ClientQuotaOp(key, None if value is None else float(quota_text(keys[key], value)))


def _difference(row: Any) -> QuotaDifference:
    return QuotaDifference(
        row.user,
        row.client_id,
        QUOTA_TYPES[row.quota_type],
        None if row.source_before < 0 else QuotaCandidate(QuotaSource(row.source_before), row.value_before),
        None if row.source_after < 0 else QuotaCandidate(QuotaSource(row.source_after), row.value_after),
    )


def _ordered(entity: QuotaEntity) -> QuotaEntity:
    return QuotaEntity.of(dict(entity.parts))


def _without_nan(changes: Mapping[str, float | None]) -> dict[str, float | None]:
    return {key: None if value is None or isnan(value) else value for key, value in changes.items()}
