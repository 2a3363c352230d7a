"""The keys that requests in flight change.

What is read about them is published only after the response, because its author is not known before. Changes of other
keys are published at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from kconf.model.journal import Change, ChangeKind, Revision
from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource
from kconf.store.upstream.requests import resource_of


class KeysInFlight:
    """`whole` are resources all of whose keys are in flight, such as a topic that is created, extended or deleted."""

    def __init__(self, whole: Iterable[Resource] = (), keys: Iterable[tuple[Resource, str]] = ()) -> None:
        self._whole, self._keys = frozenset(whole), frozenset(keys)
        self.resources = self._whole | {resource for resource, _ in self._keys}

    @classmethod
    def of(cls, batch: Collection[PendingCommit]) -> KeysInFlight:
        changes = [change for each in batch for change in (*each.changes, *each.unchanged)]
        keys = {(each.resource, each.key) for each in changes if each.kind is not ChangeKind.TOPIC}
        with_keys = {resource for resource, _ in keys}
        whole = {each.resource for each in changes if each.kind is ChangeKind.TOPIC}
        whole |= {name for each in batch for name in names_of(each) if name not in with_keys}
        return cls(whole, keys)

    def concern(self, change: Change) -> bool:
        """Whether a request in flight may have made this change. A topic is deleted with all its keys."""
        if change.kind is ChangeKind.TOPIC:
            return change.resource in self.resources
        return change.resource in self._whole or (change.resource, change.key) in self._keys

    def count_settled(self, revisions: Collection[Revision]) -> int:
        """The number of revisions before the first one that a request in flight may have made. They stay in order."""
        for count, revision in enumerate(revisions if self.resources else ()):
            if any(map(self.concern, revision.changes)):
                return count
        return len(revisions)


def names_of(pending: PendingCommit) -> set[Resource]:
    """The resources that a plan changes."""
    return {change.resource for change in pending.changes} | {resource_of(each) for each in pending.operations}


NOTHING_IN_FLIGHT: Final = KeysInFlight()
