"""Whose quota would be another if some quotas were set or removed. Decides nothing and touches nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kconf.engine.quota_index import Candidate, Name, QuotaIndex, level
from kconf.model.quota import QuotaAlterations


class Shift(NamedTuple):
    """A user with a client id who would get another quota, or the same from another level; None: no limit."""

    user: Name
    client_id: Name
    key: str
    before: Candidate | None
    after: Candidate | None


def what_if(
    index: QuotaIndex, wishes: Iterable[QuotaAlterations], seen: Iterable[tuple[Name, Name]]
) -> Iterator[Shift]:
    """The pairs out of `seen` for whom something would shift."""
    asked = list(wishes)
    keys = list(dict.fromkeys(each.key for wish in asked for each in wish.alterations))
    for user, client_id in seen:
        for key in keys:
            before = index.ladder(key, user, client_id)
            after = _after(before, key, asked, user, client_id)
            one, other = before[0] if before else None, after[0] if after else None
            if one != other:
                yield Shift(user, client_id, key, one, other)


def _after(
    before: list[Candidate], key: str, wishes: list[QuotaAlterations], user: Name, client_id: Name
) -> list[Candidate]:
    """The ladder with the wishes granted: a level is replaced, comes in, or goes."""
    levels = dict(before)
    for entity, alterations in wishes:
        source = level(entity, user, client_id)
        if source is None:
            continue
        for alteration in alterations:
            if alteration.key == key:
                levels.pop(source, None)
                if alteration.value is not None:
                    levels[source] = alteration.value
    return [Candidate(source, levels[source]) for source in sorted(levels)]
