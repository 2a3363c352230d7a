"""Which quota wins: the precedence of client quotas (KIP-546). `PRECEDENCE` is the order.

    /config/users/<user>/clients/<client-id>        CLIENT_IN_USER                   the strongest
    /config/users/<user>/clients/<default>          DEFAULT_CLIENT_IN_USER
    /config/users/<user>                            USER
    /config/users/<default>/clients/<client-id>     CLIENT_IN_DEFAULT_USER
    /config/users/<default>/clients/<default>       DEFAULT_CLIENT_IN_DEFAULT_USER
    /config/users/<default>                         DEFAULT_USER
    /config/clients/<client-id>                     CLIENT
    /config/clients/<default>                       DEFAULT_CLIENT                   the weakest

`StoredQuotas` resolves quotas as DescribeClientQuotas returns them, which is how a client does it on any Kafka; the
server resolves the same from `QuotaIndex` (index.py), whose look-ups are written out in this order for speed; a test
compares the two. The pipeline ranks by `PRECEDENCE` (spark/transforms/quotas.py). In names None is the default entity
and "" is no entity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Protocol

from kconf.model.quota import CLIENT_ID, IP, USER, EffectiveQuota, QuotaCandidate, QuotaEntity, QuotaSource

Name = str | None
Stored = Mapping[QuotaEntity, Mapping[str, float]]
PRECEDENCE: Final = (
    QuotaSource.CLIENT_IN_USER,
    QuotaSource.DEFAULT_CLIENT_IN_USER,
    QuotaSource.USER,
    QuotaSource.CLIENT_IN_DEFAULT_USER,
    QuotaSource.DEFAULT_CLIENT_IN_DEFAULT_USER,
    QuotaSource.DEFAULT_USER,
    QuotaSource.CLIENT,
    QuotaSource.DEFAULT_CLIENT,
)
"""The level that wins first. The numbers of `QuotaSource` are KIP-248's, for the wire."""

Bucket = tuple[Name, Name]
"""The (user, client id) that share one measured rate, with "" for the part that the level ignores."""


class QuotaResolver(Protocol):
    """Finds every quota of a key that applies to a user with a client id, the one that wins first."""

    def candidates(self, key: str, user: Name, client_id: Name) -> list[QuotaCandidate]: ...


def levels(user: Name, client_id: Name) -> dict[QuotaEntity, QuotaSource]:
    """The entities that apply, in order of precedence. Only defaults apply to a default."""
    found: dict[QuotaEntity, QuotaSource] = {}
    for source in PRECEDENCE:
        entity = source.entity(user, client_id)
        if level(entity, user, client_id) is source:  # for a default name, a named level has the entity of another one
            found[entity] = source
    return found


def bucket(source: QuotaSource, user: Name, client_id: Name) -> Bucket:
    """Who shares the measured rate of a quota: one client id, or all client ids of a user."""
    by_user, by_client = _SHARES[source]
    return user if by_user else "", client_id if by_client else ""


def level(entity: QuotaEntity, user: Name, client_id: Name) -> QuotaSource | None:
    """The level of an entity's quotas for a user with a client id; None: they do not apply."""
    place = []
    for kind, name in entity.parts:
        own = user if kind == USER else client_id
        if kind == IP or own == "" or name not in (own, None):
            return None
        place.append((kind, name is not None))
    return _SOURCE_BY_SHAPE.get(tuple(place))


def who(entity: QuotaEntity) -> tuple[Name, Name]:
    """The user and the client id of an entity, "" for a part that it does not have."""
    parts = dict(entity.parts)
    return parts.get(USER, ""), parts.get(CLIENT_ID, "")


class StoredQuotas:
    """Quotas by entity, resolved by trying the levels in turn."""

    def __init__(self, stored: Stored) -> None:
        self._stored = stored

    def candidates(self, key: str, user: Name, client_id: Name) -> list[QuotaCandidate]:
        return [
            QuotaCandidate(source, values[key])
            for entity, source in levels(user, client_id).items()
            if key in (values := self._stored.get(entity, {}))
        ]

    def effective(self, user: Name, client_id: Name, keys: Iterable[str]) -> dict[str, EffectiveQuota]:
        """The effective quotas by key, without keys that nothing limits."""
        found = {}
        for key in keys:
            if candidates := self.candidates(key, user, client_id):
                (source, value), *overridden = candidates
                found[key] = EffectiveQuota(value, source, tuple(overridden))
        return found

    def named(self) -> list[tuple[Name, Name]]:
        """The entities with quotas: pairs, users alone, clients alone."""
        everyone = (who(entity) for entity in self._stored)
        return [(user, client_id) for user, client_id in everyone if user or client_id]


_SOURCE_BY_SHAPE: Final = {
    tuple((kind, name is not None) for kind, name in source.entity("a user", "a client").parts): source
    for source in QuotaSource
}
_SHARES: Final = {
    QuotaSource.CLIENT_IN_USER: (True, True),
    QuotaSource.DEFAULT_CLIENT_IN_USER: (True, True),
    QuotaSource.USER: (True, False),
    QuotaSource.CLIENT_IN_DEFAULT_USER: (True, True),
    QuotaSource.DEFAULT_CLIENT_IN_DEFAULT_USER: (True, True),
    QuotaSource.DEFAULT_USER: (True, False),
    QuotaSource.CLIENT: (False, True),
    QuotaSource.DEFAULT_CLIENT: (False, True),
}
"""Whether a quota of this level is counted per user, and per client id."""
