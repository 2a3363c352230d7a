"""Quotas: what a user, a client id, a pair of them or an address may use."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

from kconf.model.resource import Resource, ResourceType

USER = "user"
CLIENT_ID = "client-id"
IP = "ip"


class QuotaEntity(NamedTuple):
    """Who a quota is for: type → name, None for the default; types in ascending order. Make it with `of`."""

    parts: tuple[tuple[str, str | None], ...]

    @classmethod
    def of(cls, parts: Mapping[str, str | None]) -> QuotaEntity:
        return cls(tuple(sorted(parts.items())))

    @property
    def resource(self) -> Resource:
        """How the entity is named where it is kept."""
        return Resource(ResourceType.QUOTA, json.dumps(dict(self.parts), separators=(",", ":"), ensure_ascii=False))

    @classmethod
    def from_resource(cls, resource: Resource) -> QuotaEntity:
        return cls.of(json.loads(resource.name))

    def __str__(self) -> str:
        return ", ".join(f"{kind} {'(default)' if name is None else name!r}" for kind, name in self.parts)


class MatchType(IntEnum):
    """How a component of a filter matches a name."""

    EXACT = 0
    DEFAULT = 1
    ANY = 2


class QuotaComponent(NamedTuple):
    """One part of a filter: an entity type, and which names of it."""

    entity_type: str
    match: int = MatchType.ANY
    name: str | None = None


class QuotaFilter(NamedTuple):
    """Entities that satisfy every component; `strict`: and have no further types."""

    components: tuple[QuotaComponent, ...] = ()
    strict: bool = False


class QuotaAlteration(NamedTuple):
    """One wish about one quota of an entity; None removes it."""

    key: str
    value: float | None


class QuotaAlterations(NamedTuple):
    """The wishes about one entity. They are granted together or not at all."""

    entity: QuotaEntity
    alterations: tuple[QuotaAlteration, ...]
