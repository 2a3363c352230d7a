"""A batch of drafts on its way into ZooKeeper: what fits into one multi, and what rests on something that has moved."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kconf.errors import RevisionConflict
from kconf.model.journal import Revision
from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource
from kconf.model.snapshot import Snapshot

LARGEST: Final = 512 << 10  # bytes of a multi; ZooKeeper takes 1 MB

Waiting = tuple[int, PendingCommit]
"""A draft, and its place in the batch."""

Answers = dict[int, Revision | RevisionConflict]


def without(lost: set[Resource], waiting: Iterable[Waiting], answers: Answers) -> list[Waiting]:
    """Leave out what rests on something that others have moved, and what rests on that."""
    kept = []
    for place, draft in waiting:
        moved = next((each for each in draft.guards if each in lost), None)
        if moved is None:
            kept.append((place, draft))
        else:
            answers[place] = RevisionConflict(f"{moved} has moved")
            lost |= {change.resource for change in draft.changes}
    return kept


def first_of(waiting: list[Waiting], snapshot: Snapshot) -> list[Waiting]:
    """As many as fit into one multi; a draft that does not fit alone is cut between its resources."""
    size = 0
    for count, (place, draft) in enumerate(waiting):
        size += _size(draft, snapshot)
        if size <= LARGEST:
            continue
        if count:
            return waiting[:count]
        parts = _halves(draft)
        if len(parts) > 1:
            waiting[:1] = [(place, each) for each in parts]
            return first_of(waiting, snapshot)
        return waiting[:1]
    return waiting[:]


def _size(draft: PendingCommit, snapshot: Snapshot) -> int:
    """About what a draft takes in a multi: its lines, and the documents that it writes anew."""
    lines = sum(200 + 2 * len(each.key) + len(each.before or "") + 2 * len(each.after or "") for each in draft.changes)
    documents = 0
    for resource in {each.resource for each in draft.changes}:
        values = snapshot.overrides(resource)
        documents += 600 + 3 * len(resource.name) + sum(6 + len(key) + len(text) for key, text in values.items())
    return lines + documents


def _halves(draft: PendingCommit) -> list[PendingCommit]:
    resources = list(dict.fromkeys(change.resource for change in draft.changes))
    if len(resources) < 2:
        return [draft]
    first = frozenset(resources[: len(resources) // 2])
    return [
        draft._replace(changes=[each for each in draft.changes if (each.resource in first) is side])
        for side in (True, False)
    ]
