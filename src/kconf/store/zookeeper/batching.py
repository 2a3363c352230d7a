"""Splits a batch of pending commits into multis, and drops those with conflicts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kconf.errors import RevisionConflict
from kconf.model.journal import Revision
from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource
from kconf.model.snapshot import Snapshot
from kconf.store.base import conflict

MAX_MULTI_BYTES: Final = 512 << 10  # ZooKeeper's limit is 1 MB

Indexed = tuple[int, PendingCommit]
"""A pending commit, and its index in the batch."""

Results = dict[int, Revision | RevisionConflict]


def drop_conflicting(changed: set[Resource], waiting: Iterable[Indexed], results: Results) -> list[Indexed]:
    """Drop commits of resources that other servers have changed, and those that depend on a dropped one."""
    kept = []
    for index, pending in waiting:
        found = next((each for each in pending.guards if each in changed), None)
        if found is None:
            kept.append((index, pending))
        else:
            results[index] = conflict(found)
            changed |= {change.resource for change in pending.changes}
    return kept


def next_multi(waiting: list[Indexed], snapshot: Snapshot) -> list[Indexed]:
    """As many commits as fit into one multi. A commit that is too large is split between its resources."""
    size = 0
    for count, (index, pending) in enumerate(waiting):
        size += _size(pending, snapshot)
        if size <= MAX_MULTI_BYTES:
            continue
        if count:
            return waiting[:count]
        parts = _split(pending)
        if len(parts) > 1:
            waiting[:1] = [(index, each) for each in parts]
            return next_multi(waiting, snapshot)
        return waiting[:1]
    return waiting[:]


def _size(pending: PendingCommit, snapshot: Snapshot) -> int:
    """The approximate size in a multi: the changes, and the documents that are written again."""
    changes = sum(
        200 + 2 * len(each.key) + len(each.before or "") + 2 * len(each.after or "") for each in pending.changes
    )
    documents = 0
    for resource in {each.resource for each in pending.changes}:
        values = snapshot.overrides(resource)
        documents += 600 + 3 * len(resource.name) + sum(6 + len(key) + len(text) for key, text in values.items())
    return changes + documents


def _split(pending: PendingCommit) -> list[PendingCommit]:
    resources = list(dict.fromkeys(change.resource for change in pending.changes))
    if len(resources) < 2:
        return [pending]
    first = frozenset(resources[: len(resources) // 2])
    return [
        pending._replace(changes=[each for each in pending.changes if (each.resource in first) is side])
        for side in (True, False)
    ]
