"""Quotas as they hold (KIP-248): of a user with a client id, with the level that they come from and what loses.

A kconf server has requests for this. A real Kafka tells what is stored, and it is resolved here: one entity of a level
is one strict question, unless there are so many that all quotas are asked for at once. Both give the same result.
KIP-248 knows users and clients; an address has no levels (describe_client_quotas tells its quota).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from math import isnan, nan
from typing import Any, Final

from kconf.client.calls.base import Call, CallResult, ClusterCall, NodeVersions, PerItemCall, failure
from kconf.client.calls.client_quotas import AlterClientQuotas, DescribeClientQuotas, Quotas
from kconf.engine.quotas.precedence import Stored, StoredQuotas, levels, who
from kconf.errors import ApiError, ErrorCode, InvalidRequest, Results
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
from kconf.protocol.messages.describe_quotas import ENTITY_TYPES, QUOTA_TYPES

Effective = dict[str, EffectiveQuota]
Changes = Mapping[str, float | None]
Pair = tuple[str | None, str | None]

_NUMBERS: Final = {name: number for number, name in ENTITY_TYPES.items()}
_MOST_QUESTIONS: Final = 40  # five pairs: beyond that a broker is asked for all quotas once


def _refusal(entity: QuotaEntity, keys: Iterable[str]) -> ApiError | None:
    """What KIP-248 cannot say is not sent."""
    if not entity.parts or any(kind not in _NUMBERS for kind, _ in entity.parts):
        return ApiError(ErrorCode.INVALID_REQUEST, f"a user, a client-id or both have such quotas, not {entity}")
    if any(name == "" for _, name in entity.parts):  # on the wire it would be the default
        return ApiError(ErrorCode.INVALID_REQUEST, f"a name must not be empty ({entity}); None means the default")
    unknown = [key for key in keys if key not in QUOTA_TYPES]
    if unknown:
        have = ", ".join(QUOTA_TYPES)
        return ApiError(ErrorCode.INVALID_REQUEST, f"{unknown[0]!r} is no quota of users and clients; there are {have}")
    return None


def _resources(entity: QuotaEntity) -> list[Any]:
    from kconf.protocol.messages.describe_quotas import QuotaResource

    return [QuotaResource(_NUMBERS[kind], name or "") for kind, name in entity.parts]


def _entity(told: Any) -> QuotaEntity:
    return QuotaEntity.of({ENTITY_TYPES.get(part.type, "?"): part.name or None for part in told.quota_resources})


class _Refusing(PerItemCall[QuotaEntity, Any]):
    """Has the failures of entities that were not asked about in their places."""

    def __init__(self, wanted: Mapping[QuotaEntity, Iterable[str]]) -> None:
        self._refused = {each: found for each, keys in wanted.items() if (found := _refusal(each, keys))}
        self._order = tuple(wanted)
        super().__init__(each for each in wanted if each not in self._refused)

    def finish(self, outcomes: dict[QuotaEntity, Any]) -> Results[QuotaEntity, Any]:
        return Results({each: self._refused.get(each) or outcomes[each] for each in self._order})


class DescribeQuotas(_Refusing):
    name = "DescribeQuotas"

    def __init__(self, entities: Iterable[QuotaEntity], keys: Iterable[str] = ()) -> None:
        self.keys = tuple(sorted(set(keys))) or tuple(sorted(QUOTA_TYPES))
        super().__init__(dict.fromkeys(map(_ordered, entities), self.keys))

    def write(self, peer: NodeVersions, version: int, items: Sequence[QuotaEntity]) -> object:
        from kconf.protocol.messages.describe_quotas import DescribedQuotaResource, DescribeQuotasRequest

        kinds = [QUOTA_TYPES.index(each) for each in self.keys]
        return DescribeQuotasRequest([DescribedQuotaResource(_resources(each), kinds) for each in items])

    def read(self, version: int, frame: bytes, start: int, items: Sequence[QuotaEntity]) -> CallResult:
        body = self.body(version, frame, start)
        outcomes = {
            _entity(each): failure(each.error_code, each.error_message) if each.error_code else _effective(each.quotas)
            for each in body.resources
        }
        return CallResult(outcomes, body.throttle_time_ms)

    def on_kafka(self) -> ResolveQuotas:
        """The same, of a broker that only tells what is stored."""
        return ResolveQuotas(self)


def _effective(quotas: Sequence[Any]) -> Effective:
    found = {
        QUOTA_TYPES[each.quota_type]: EffectiveQuota(
            each.quota_value,
            QuotaSource(each.quota_source),
            tuple(QuotaCandidate(QuotaSource(one.quota_source), one.quota_value) for one in each.losers),
        )
        for each in quotas
    }
    return {key: found[key] for key in sorted(found)}


class ResolveQuotas(Call[QuotaEntity | None, Stored, Results[QuotaEntity, Effective]]):
    """Asks for the stored quotas of every level, or for all where that is less (None)."""

    name = "DescribeClientQuotas"
    advice = DescribeClientQuotas.advice

    def __init__(self, asked: DescribeQuotas) -> None:
        self._asked = asked
        needed = {level: None for each in asked.items for level in levels(*who(each))}
        super().__init__(needed if len(needed) <= _MOST_QUESTIONS else (None,))

    def group(self, item: QuotaEntity | None) -> Hashable:
        return item

    def write(self, peer: NodeVersions, version: int, items: Sequence[QuotaEntity | None]) -> object:
        (entity,) = items
        return DescribeClientQuotas(entity and QuotaFilter.exactly(entity)).write(peer, version, (None,))

    def read(self, version: int, frame: bytes, start: int, items: Sequence[QuotaEntity | None]) -> CallResult:
        outcomes, throttle_ms = DescribeClientQuotas(None).read(version, frame, start, (None,))
        return CallResult({items[0]: outcomes[None]}, throttle_ms)

    def finish(self, outcomes: dict[QuotaEntity | None, Stored | ApiError]) -> Results[QuotaEntity, Effective]:
        stored: Quotas = {}
        for each in outcomes.values():
            if isinstance(each, ApiError):
                raise each.error()  # a level that is not known leaves nothing certain
            stored.update({entity: dict(values) for entity, values in each.items()})
        quotas, asked = StoredQuotas(stored), self._asked
        return asked.finish({each: quotas.effective(*who(each), asked.keys) for each in asked.items})


class AlterQuotas(_Refusing):
    """`alterations` has the keys to set, or to remove where the value is None or NaN; others stay."""

    name = "AlterQuotas"
    bulk = AlterClientQuotas.bulk

    def __init__(
        self, alterations: Mapping[QuotaEntity, Changes], *, validate_only: bool = False, reason: str | None = None
    ) -> None:
        self.alterations = {_ordered(entity): _without_nan(each) for entity, each in alterations.items()}
        super().__init__(self.alterations)
        self.validate_only, self.reason = validate_only, reason
        # What a real Kafka is asked: the same wishes; it keeps no reason.
        self._plain = AlterClientQuotas(
            {each: self.alterations[each] for each in self.items}, validate_only=validate_only
        )

    def write(self, peer: NodeVersions, version: int, items: Sequence[QuotaEntity]) -> object:
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
        return CallResult({_entity(each): _outcome(each) for each in body.resources}, body.throttle_time_ms)

    def otherwise(self) -> AlterClientQuotas:
        return self._plain


def _outcome(told: Any) -> ApiError | None:
    """The quotas of an entity carry the same error."""
    return next((failure(each.error_code, each.error_message) for each in told.quotas if each.error_code), None)


class WhatIf(ClusterCall[list[QuotaDifference]]):
    """Whose quota would be another, out of those whom a kconf server has seen lately."""

    name = "AlterQuotas"

    def __init__(self, entity: QuotaEntity, changes: Changes) -> None:
        super().__init__()
        self._entity, self._changes = _ordered(entity), _without_nan(changes)
        refused = _refusal(self._entity, changes)
        if refused is not None:
            raise refused.error()
        if not changes:
            raise InvalidRequest("what if which quota were another?")

    def write(self, peer: NodeVersions, version: int, items: Sequence[None]) -> object:
        return AlterQuotas({self._entity: self._changes}, validate_only=True).write(peer, version, [self._entity])

    def read(self, version: int, frame: bytes, start: int, items: Sequence[None]) -> CallResult:
        body = self.body(version, frame, start)
        (told,) = body.resources
        refused = _outcome(told)
        return CallResult({None: refused or [_shift(each) for each in told.shifts]}, body.throttle_time_ms)

    def resolved(self, stored: Stored, pairs: Iterable[Pair] | None) -> list[QuotaDifference]:
        """The same out of what is stored: for these users and client ids, or for those whom quotas name."""
        from kconf.engine.quotas.what_if import what_if

        quotas, wish = StoredQuotas(stored), ClientQuotaAlteration(self._entity, tuple(self._checked()))
        return list(what_if(quotas, [wish], quotas.named() if pairs is None else pairs))

    def _checked(self) -> Iterator[ClientQuotaOp]:
        from kconf.engine.quotas.alter import keys_of, quota_text

        keys = keys_of(self._entity, lambda _: False)
        for key, value in self._changes.items():
            yield ClientQuotaOp(key, None if value is None else float(quota_text(keys[key], value)))


def _shift(told: Any) -> QuotaDifference:
    return QuotaDifference(
        told.user,
        told.client_id,
        QUOTA_TYPES[told.quota_type],
        None if told.source_before < 0 else QuotaCandidate(QuotaSource(told.source_before), told.value_before),
        None if told.source_after < 0 else QuotaCandidate(QuotaSource(told.source_after), told.value_after),
    )


def _ordered(entity: QuotaEntity) -> QuotaEntity:
    return QuotaEntity.of(dict(entity.parts))


def _without_nan(changes: Changes) -> dict[str, float | None]:
    return {key: None if value is None or isnan(value) else value for key, value in changes.items()}
