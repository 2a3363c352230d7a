"""Whose quota would be another if some quotas were set or removed. Decides nothing and touches nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kconf.engine.quota_index import Candidate, Name, QuotaIndex, level
from kconf.model.quota import QuotaAlterations, QuotaSource


class Shift(NamedTuple):
    """A user with a client id who would get another quota, or the same from another level; None: no limit."""

    user: Name
    client_id: Name
    key: str
    before: Candidate | None
    after: Candidate | None


def what_if(
    index: QuotaIndex, wishes: Sequence[QuotaAlterations], seen: Iterable[tuple[Name, Name]]
) -> Iterator[Shift]:
    """The pairs out of `seen` for whom something would shift."""
    for user, client_id in seen:
        wanted: dict[str, dict[QuotaSource, float | None]] = {}
        for entity, alterations in wishes:
            source = level(entity, user, client_id)
            if source is not None:
                for key, value in alterations:
                    wanted.setdefault(key, {})[source] = value
        for key, levels in wanted.items():
            before = index.ladder(key, user, client_id)
            one, other = next(iter(before), None), _holding({**dict(before), **levels})
            if one != other:
                yield Shift(user, client_id, key, one, other)


def _holding(levels: Mapping[QuotaSource, float | None]) -> Candidate | None:
    """What holds once the wishes are granted: a level is replaced, comes in, or goes."""
    for source in sorted(levels):
        value = levels[source]
        if value is not None:
            return Candidate(source, value)
    return None
