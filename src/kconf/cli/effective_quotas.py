"""Which quota holds for a user, a client or a client of a user, and at which level it is set (KIP-248's QuotaSource).

Resolved here from what is stored, so that it works on any Kafka. A user alone is asked about as itself, with none of
its clients; a client alone as such, whoever the user is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from kconf.model.quota import (
    CLIENT_ID,
    USER,
    MatchType,
    QuotaComponent,
    QuotaEntity,
    QuotaFilter,
    QuotaSource,
)

if TYPE_CHECKING:
    from kconf.client.sync import SyncAdminClient

KEYS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")


class Effective(NamedTuple):
    value: float
    source: QuotaSource


def levels(parts: Mapping[str, str | None]) -> dict[QuotaEntity, QuotaSource]:
    """Where to look, the strongest first. A default is asked about as itself, so only defaults count for it."""
    found: dict[QuotaEntity, QuotaSource] = {}
    for source in QuotaSource:
        entity = source.entity(parts.get(USER), parts.get(CLIENT_ID))
        if set(dict(entity.parts)) <= set(parts):
            found[entity] = source  # where a name is the default, the level of the default is the true one
    return {entity: found[entity] for entity in sorted(found, key=found.__getitem__)}


def effective(admin: SyncAdminClient, parts: Mapping[str, str | None]) -> dict[str, Effective]:
    found: dict[str, Effective] = {}
    for entity, source in levels(parts).items():
        stored = admin.describe_client_quotas(exactly(entity)).get(entity, {})
        for key, value in stored.items():
            found.setdefault(key, Effective(value, source))
    return {key: found[key] for key in sorted(found)}


def exactly(entity: QuotaEntity) -> QuotaFilter:
    return QuotaFilter(
        tuple(
            QuotaComponent(part, MatchType.DEFAULT if name is None else MatchType.EXACT, name)
            for part, name in entity.parts
        ),
        strict=True,
    )
