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

    @classmethod
    def exactly(cls, entity: QuotaEntity) -> QuotaFilter:
        """For one entity and no other."""
        match = {True: MatchType.DEFAULT, False: MatchType.EXACT}
        return cls(tuple(QuotaComponent(kind, match[name is None], name) for kind, name in entity.parts), strict=True)


class QuotaSource(IntEnum):
    """The level at which a quota was found; the lower number wins (engine/quotas/precedence.py). KIP-248's numbers."""

    CLIENT_IN_USER = 0
    DEFAULT_CLIENT_IN_USER = 1
    USER = 2
    CLIENT_IN_DEFAULT_USER = 3
    DEFAULT_CLIENT_IN_DEFAULT_USER = 4
    DEFAULT_USER = 5
    CLIENT = 6
    DEFAULT_CLIENT = 7

    def entity(self, user: str | None, client_id: str | None) -> QuotaEntity:
        """The entity of this level for a user and a client id."""
        named_user, named_client = _LEVELS[self]
        parts = {}
        if named_user is not None:
            parts[USER] = user if named_user else None
        if named_client is not None:
            parts[CLIENT_ID] = client_id if named_client else None
        return QuotaEntity.of(parts)


# Is the user named, is the client id? None: the level does not have it.
_LEVELS: dict[QuotaSource, tuple[bool | None, bool | None]] = {
    QuotaSource.CLIENT_IN_USER: (True, True),
    QuotaSource.DEFAULT_CLIENT_IN_USER: (True, False),
    QuotaSource.USER: (True, None),
    QuotaSource.CLIENT_IN_DEFAULT_USER: (False, True),
    QuotaSource.DEFAULT_CLIENT_IN_DEFAULT_USER: (False, False),
    QuotaSource.DEFAULT_USER: (False, None),
    QuotaSource.CLIENT: (None, True),
    QuotaSource.DEFAULT_CLIENT: (None, False),
}


class QuotaCandidate(NamedTuple):
    """A quota that applies to someone, and the level that it comes from."""

    source: QuotaSource
    value: float


class EffectiveQuota(NamedTuple):
    """The quota that holds for someone, where it comes from, and what loses against it, in order."""

    value: float
    source: QuotaSource
    losers: tuple[QuotaCandidate, ...] = ()


class QuotaDifference(NamedTuple):
    """A user with a client id who would get another quota, or the same from another level; None: no limit."""

    user: str | None
    client_id: str | None
    key: str
    before: QuotaCandidate | None
    after: QuotaCandidate | None


class ClientQuotaOp(NamedTuple):
    """One wish about one quota of an entity; None removes it."""

    key: str
    value: float | None


class ClientQuotaAlteration(NamedTuple):
    """The wishes about one entity. They are granted together or not at all."""

    entity: QuotaEntity
    alterations: tuple[ClientQuotaOp, ...]
