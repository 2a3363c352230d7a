"""Quota entities and their quotas, by entity and by level of precedence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kconf.errors import ConfigurationError

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.engine.quotas.precedence import Stored
    from kconf.model.quota import QuotaEntity, QuotaFilter, QuotaSource


class QuotaLevel(NamedTuple):
    """A level of precedence that applies to an entity, and the quotas set there."""

    name: str
    entity: QuotaEntity
    values: Mapping[str, float]


def quota_number(value: float) -> str:
    """A quota as text: whole numbers without a fraction."""
    return str(int(value)) if value.is_integer() and abs(value) < 2**63 else repr(value)


def entity_text(entity: Mapping[str, str | None]) -> str:
    """`user alice, client-id (default)`."""
    order = ("user", "client-id", "ip")
    named = sorted(entity.items(), key=lambda part: order.index(part[0]) if part[0] in order else len(order))
    return ", ".join(f"{kind} {'(default)' if name is None else name}" for kind, name in named)


def level_name(source: QuotaSource) -> str:
    return source.name.lower().replace("_", " ")


def check_keys(entity: QuotaEntity, wanted: Sequence[str]) -> list[str]:
    """The quotas that an entity can have, or the requested ones."""
    from kconf.engine.quotas.alter import keys_of
    from kconf.errors import InvalidRequest

    try:
        keys = keys_of(entity, lambda _: True)
    except InvalidRequest as error:
        raise ConfigurationError(str(error)) from None
    for each in wanted:
        if each not in keys:
            raise ConfigurationError(
                f"{each!r} is not a quota of {entity_text(dict(entity.parts))}; use one of {', '.join(keys)}"
            )
    return list(wanted) or list(keys)


def stored_quotas(admin: SyncAdminClient, wanted: QuotaEntity | None) -> dict[QuotaEntity, dict[str, float]]:
    """All quotas, or those of an entity and more specific ones, sorted by name with defaults first."""
    found = admin.describe_client_quotas(None if wanted is None else _at_least(wanted))
    return {each: found[each] for each in sorted(found, key=_order)}


def _at_least(entity: QuotaEntity) -> QuotaFilter:
    from kconf.model.quota import QuotaFilter

    return QuotaFilter.exactly(entity)._replace(strict=False)


def _order(entity: QuotaEntity) -> tuple[int, list[tuple[str, bool, str]]]:
    """The sort order: users, users with clients, clients, IP addresses."""
    parts = dict(entity.parts)
    rank = 0 if "user" in parts else 1 if "client-id" in parts else 2
    return rank, [(kind, name is not None, name or "") for kind, name in reversed(entity.parts)]


def quota_levels(admin: SyncAdminClient, entity: QuotaEntity) -> list[QuotaLevel]:
    """The quotas at each level that applies to an entity, the most specific first."""
    from kconf.engine.quotas.precedence import levels, who
    from kconf.model.quota import IP

    if IP in dict(entity.parts):
        return _ip_levels(admin, entity)
    stored: dict[QuotaSource, dict[str, float]] = {}
    for key, quota in admin.describe_quotas([entity])[entity].items():
        for source, value in ((quota.source, quota.value), *quota.overridden):
            stored.setdefault(source, {})[key] = value
    return [
        QuotaLevel(level_name(source), each, stored.get(source, {})) for each, source in levels(*who(entity)).items()
    ]


def stored_levels(stored: Stored, entity: QuotaEntity) -> list[QuotaLevel]:
    """Like `quota_levels`, from all quotas of a cluster."""
    from kconf.engine.quotas.precedence import levels, who
    from kconf.model.quota import IP

    if IP in dict(entity.parts):
        return [QuotaLevel(name, each, stored.get(each, {})) for each, name in _ip_names(entity).items()]
    return [QuotaLevel(level_name(source), each, stored.get(each, {})) for each, source in levels(*who(entity)).items()]


def _ip_levels(admin: SyncAdminClient, entity: QuotaEntity) -> list[QuotaLevel]:
    from kconf.model.quota import QuotaFilter

    return [
        QuotaLevel(name, each, admin.describe_client_quotas(QuotaFilter.exactly(each)).get(each, {}))
        for each, name in _ip_names(entity).items()
    ]


def _ip_names(entity: QuotaEntity) -> dict[QuotaEntity, str]:
    from kconf.model.quota import IP, QuotaEntity

    default = QuotaEntity.of({IP: None})
    return {default: "default ip"} if entity == default else {entity: "ip", default: "default ip"}
