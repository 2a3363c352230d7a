"""Explains the quotas of a client: every level, the one that applies, those it overrides, and the usage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kconf.configdef.units import shown_value
from kconf.engine.quotas.precedence import PRECEDENCE, StoredQuotas, bucket, who
from kconf.model.quota import CLIENT_ID, IP, USER, QuotaEntity
from kconf.operations.quotas.entities import (
    QuotaLevel,
    check_keys,
    entity_text,
    level_name,
    quota_number,
    stored_levels,
)

if TYPE_CHECKING:
    from kconf.console.cluster.snapshot import ClusterSnapshot
    from kconf.engine.quotas.precedence import Bucket, Stored
    from kconf.model.quota import QuotaSource

UNKNOWN_USAGE: Final = "unknown"
_SOURCES: Final = {level_name(each): each for each in PRECEDENCE}


@dataclass(frozen=True)
class LevelValue:
    """A quota at a level. `outcome` is `applies`, `overridden` or `not set`."""

    value: str | None
    shown: str
    outcome: str


@dataclass(frozen=True)
class LevelRow:
    """A level of precedence with its quota for every key, in the order of the keys."""

    name: str
    entity: str
    values: Sequence[LevelValue]


@dataclass(frozen=True)
class KeyVerdict:
    """The effective quota of a key; `value` is None if there is no limit. `used` is None if unknown."""

    key: str
    value: str | None
    shown: str
    level: str | None
    entity: str | None
    overrides: Sequence[str]
    shared: str
    used: str | None


@dataclass(frozen=True)
class Explanation:
    """The quotas of a user, a client ID or both, or of an IP address. The highest level comes first."""

    title: str
    keys: Sequence[KeyVerdict]
    levels: Sequence[LevelRow]


def explained(snapshot: ClusterSnapshot, entity: QuotaEntity) -> Explanation:
    levels = stored_levels(snapshot.state.quotas, entity)
    keys = check_keys(entity, [])
    winners = {key: next((each for each in levels if each.values.get(key) is not None), None) for key in keys}
    rows = [
        LevelRow(each.name, entity_text(dict(each.entity.parts)), [_value(each, key, winners[key]) for key in keys])
        for each in levels
    ]
    return Explanation(
        entity_text(dict(entity.parts)), [_verdict(snapshot, entity, key, winners[key], levels) for key in keys], rows
    )


def shown_quota(key: str, value: float | None) -> str:
    return "no limit" if value is None else shown_value(key, quota_number(value))


def _value(level: QuotaLevel, key: str, winner: QuotaLevel | None) -> LevelValue:
    value = level.values.get(key)
    if value is None:
        return LevelValue(None, "", "not set")
    return LevelValue(quota_number(value), shown_quota(key, value), "applies" if level is winner else "overridden")


def _verdict(
    snapshot: ClusterSnapshot, entity: QuotaEntity, key: str, winner: QuotaLevel | None, levels: Sequence[QuotaLevel]
) -> KeyVerdict:
    if winner is None:
        return KeyVerdict(key, None, "no limit", None, None, (), "", _used(snapshot, entity, key, None))
    overridden = [each for each in levels if each is not winner and each.values.get(key) is not None]
    return KeyVerdict(
        key,
        quota_number(winner.values[key]),
        shown_quota(key, winner.values[key]),
        winner.name,
        entity_text(dict(winner.entity.parts)),
        [f"{shown_quota(key, each.values[key])} ({each.name})" for each in overridden],
        _shared(entity, winner),
        _used(snapshot, entity, key, winner),
    )


def _shared(entity: QuotaEntity, winner: QuotaLevel) -> str:
    """Which clients share a quota."""
    source = _SOURCES.get(winner.name)
    if source is None:
        return "each address separately"
    user, client_id = bucket(source, *who(entity))
    if user and client_id:
        return "this user with this client ID"
    return "all client IDs of this user together" if user else "all users of this client ID together"


def _used(snapshot: ClusterSnapshot, entity: QuotaEntity, key: str, winner: QuotaLevel | None) -> str | None:
    """The usage of all clients that share the quota, from the usage file of the last pipeline run; None if unknown."""
    lake = snapshot.lake
    if lake is None or not lake.used or IP in dict(entity.parts):
        return None
    source = None if winner is None else _SOURCES[winner.name]
    asked = who(entity)
    if source is None:
        found = [lake.used[name] for name in [(asked[0] or "", asked[1] or "", key)] if name in lake.used]
    else:
        found = _together(snapshot.state.quotas, lake.used, key, source, bucket(source, *asked))
    return shown_quota(key, float(sum(found))) if found else None


def _together(
    stored: Stored, used: Mapping[tuple[str, str, str], float], key: str, source: QuotaSource, wanted: Bucket
) -> list[float]:
    """The rates of all clients that share this quota."""
    quotas, found = StoredQuotas(stored), []
    for (user, client_id, other), rate in used.items():
        if other == key and bucket(source, user, client_id) == wanted:
            winner = next(iter(quotas.candidates(key, user, client_id)), None)
            if winner is not None and winner.source is source:
                found.append(rate)
    return found


def asked_entities(user: str, client_id: str, address: str) -> list[QuotaEntity]:
    """The user with the client ID, and the IP address: they have separate quotas."""
    pair = {kind: name for kind, name in ((USER, user), (CLIENT_ID, client_id)) if name}
    return [QuotaEntity.of(each) for each in (pair, {IP: address} if address else {}) if each]
