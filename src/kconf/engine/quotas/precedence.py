"""Who gets which quota, out of quotas as DescribeClientQuotas tells them: how a client answers it of any Kafka.

The server's way to the same answer is `quota_index.py`. Names are as there: None is the default entity, "" is none at
all, so a user alone is asked about with none of its clients, and a client alone whoever the user is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from kconf.model.quota import CLIENT_ID, USER, EffectiveQuota, QuotaCandidate, QuotaEntity, QuotaSource

Name = str | None
Stored = Mapping[QuotaEntity, Mapping[str, float]]


class QuotaResolver(Protocol):
    """Whatever can tell every quota of a key that applies to a user with a client id, the one that holds first."""

    def ladder(self, key: str, user: Name, client_id: Name) -> list[QuotaCandidate]: ...


def levels(user: Name, client_id: Name) -> dict[QuotaEntity, QuotaSource]:
    """Where to look, the strongest first. Of a default only the defaults count."""
    absent = {kind for kind, name in ((USER, user), (CLIENT_ID, client_id)) if name == ""}
    found: dict[QuotaEntity, QuotaSource] = {}
    for source in QuotaSource:
        entity = source.entity(user, client_id)
        if all(kind not in absent for kind, _ in entity.parts):
            found[entity] = source  # where a name is the default, the level of the default is the true one
    return {entity: found[entity] for entity in sorted(found, key=found.__getitem__)}


def who(entity: QuotaEntity) -> tuple[Name, Name]:
    """The user and the client id that an entity is, "" for what it does not have."""
    parts = dict(entity.parts)
    return parts.get(USER, ""), parts.get(CLIENT_ID, "")


class StoredQuotas:
    """Quotas by entity, resolved by trying the levels in turn."""

    def __init__(self, stored: Stored) -> None:
        self._stored = stored

    def ladder(self, key: str, user: Name, client_id: Name) -> list[QuotaCandidate]:
        return [
            QuotaCandidate(source, values[key])
            for entity, source in levels(user, client_id).items()
            if key in (values := self._stored.get(entity, {}))
        ]

    def effective(self, user: Name, client_id: Name, keys: Iterable[str]) -> dict[str, EffectiveQuota]:
        """The quotas that hold, by key; what nothing limits is left out."""
        found = {}
        for key in keys:
            if ladder := self.ladder(key, user, client_id):
                (source, value), *losers = ladder
                found[key] = EffectiveQuota(value, source, tuple(losers))
        return found

    def named(self) -> list[tuple[Name, Name]]:
        """Those whom quotas name: pairs, users alone, clients alone."""
        everyone = (who(entity) for entity in self._stored)
        return [(user, client_id) for user, client_id in everyone if user or client_id]
