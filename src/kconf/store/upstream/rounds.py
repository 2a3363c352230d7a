"""Splits a batch into rounds, so that no request changes a resource twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource
from kconf.store.upstream.requests import resource_of


def rounds_of(batch: Sequence[PendingCommit]) -> Iterator[list[int]]:
    """The positions of a batch, in rounds without repeated resources.

    The order of changes to a resource is preserved.
    """
    rounds: list[list[int]] = []
    last: dict[Resource, int] = {}
    for position, pending in enumerate(batch):
        names = names_of(pending)
        number = max((last[name] + 1 for name in names if name in last), default=0)
        if number == len(rounds):
            rounds.append([])
        rounds[number].append(position)
        last.update(dict.fromkeys(names, number))
    yield from rounds


def names_of(pending: PendingCommit) -> set[Resource]:
    """The resources that a plan changes."""
    return {change.resource for change in pending.changes} | {resource_of(each) for each in pending.operations}
