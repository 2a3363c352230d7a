"""Quotas of users, client ids, pairs of them, and IP addresses."""

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
    """The entity of a quota: types and names, None for the default, sorted by type. Create it with `of`."""

    parts: tuple[tuple[str, str | None], ...]

    @classmethod
    def of(cls, parts: Mapping[str, str | None]) -> QuotaEntity:
        return cls(tuple(sorted(parts.items())))

    @property
    def resource(self) -> Resource:
        """The entity as the resource that stores and journal use."""
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
    """Selects entities that match every component. With `strict`, entities with other types do not match."""

    components: tuple[QuotaComponent, ...] = ()
    strict: bool = False

    @classmethod
    def exactly(cls, entity: QuotaEntity) -> QuotaFilter:
        """Matches one entity and no other."""
        match = {True: MatchType.DEFAULT, False: MatchType.EXACT}
        return cls(tuple(QuotaComponent(kind, match[name is None], name) for kind, name in entity.parts), strict=True)


class QuotaSource(IntEnum):
    """The level of a quota. The numbers are those of KIP-248's messages, not the precedence.

    A new level gets a new number. engine/quotas/precedence.py defines the precedence.
    """

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


# Whether the level names the user and the client id; None if it has no such part.
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
    """A quota that matches a user and client id, and its level."""

    source: QuotaSource
    value: float


class EffectiveQuota(NamedTuple):
    """The effective quota of a user and client id, its level, and the quotas that it overrides, in order."""

    value: float
    source: QuotaSource
    overridden: tuple[QuotaCandidate, ...] = ()


class QuotaDifference(NamedTuple):
    """A user and client id whose quota or its level would change. None is no limit."""

    user: str | None
    client_id: str | None
    key: str
    before: QuotaCandidate | None
    after: QuotaCandidate | None


class ClientQuotaOp(NamedTuple):
    """One requested change of a quota. None removes it."""

    key: str
    value: float | None


class ClientQuotaAlteration(NamedTuple):
    """The requested changes of one entity. All or none are applied."""

    entity: QuotaEntity
    alterations: tuple[ClientQuotaOp, ...]
