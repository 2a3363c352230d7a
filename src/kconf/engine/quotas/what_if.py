"""Finds the users and client ids whose effective quota would change if some quotas were set or removed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kconf.engine.quotas.precedence import PRECEDENCE, Name, QuotaResolver, level
from kconf.model.quota import ClientQuotaAlteration, QuotaCandidate, QuotaDifference, QuotaSource


def what_if(
    quotas: QuotaResolver, requests: Sequence[ClientQuotaAlteration], seen: Iterable[tuple[Name, Name]]
) -> Iterator[QuotaDifference]:
    """The pairs in `seen` whose quota would change."""
    for user, client_id in seen:
        wanted: dict[str, dict[QuotaSource, float | None]] = {}
        for entity, alterations in requests:
            source = level(entity, user, client_id)
            if source is not None:
                for key, value in alterations:
                    wanted.setdefault(key, {})[source] = value
        for key, levels in wanted.items():
            before = quotas.candidates(key, user, client_id)
            one, other = next(iter(before), None), _holding({**dict(before), **levels})
            if one != other:
                yield QuotaDifference(user, client_id, key, one, other)


def _holding(levels: Mapping[QuotaSource, float | None]) -> QuotaCandidate | None:
    """The quotas that apply after the change: a level is replaced, added or removed."""
    for source in sorted(levels, key=PRECEDENCE.index):
        value = levels[source]
        if value is not None:
            return QuotaCandidate(source, value)
    return None
