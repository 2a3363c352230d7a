"""Finds the changes in the cluster that were made by the gateway's own requests.

A change is ours if the cluster acknowledged it and it is the only one with the same resource, key and value since the
request was sent. If there are several, another client made the same change at the same time, and the authors cannot be
determined. The same applies if several requests may have made one change (intents.py).

Kafka writes the config keys that a request changes in one resource together, at consecutive offsets, without those that
have the requested value already. If the candidates are in several places of the log, at most one of these can be ours:
where the other keys had the requested values.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Final

from kconf.client.kraft.image import ORIGIN as LOG
from kconf.model.journal import Change, ChangeKind, RequestContext, Revision
from kconf.model.plan import PendingCommit, Place, places_of
from kconf.model.resource import Resource, ResourceType, Topic
from kconf.model.snapshot import topic_from_json

ORIGIN: Final = "kconf"

_WRITTEN_TOGETHER: Final = frozenset(
    {
        ResourceType.TOPIC,
        ResourceType.BROKER,
        ResourceType.GROUP,
        ResourceType.CLIENT_METRICS,
        ResourceType.QUOTA,
    }
)
"""The types of resources whose keys are in one request, one after the other."""

Claims = Mapping[int, RequestContext]
"""The authors of revisions, by number."""
NO_CLAIMS: Final[Claims] = {}

_Candidate = tuple[int, int]  # the position of a revision, and of the change in it


def requested_value(change: Change) -> str | None:
    """The value of a change in the metadata log: as requested."""
    return change.after


class ExpectedChanges:
    """The changes that requests should cause. No two requests are about the same resource.

    Values that are set to the current ones change nothing, unless another client has just changed them. `shown` returns
    the value that the cluster shows after a change.
    """

    def __init__(
        self,
        batch: Sequence[PendingCommit],
        refused: AbstractSet[Place] = frozenset(),
        shown: Callable[[Change], str | None] = requested_value,
    ) -> None:
        self._shown = shown
        self._expected: dict[tuple[ChangeKind, Resource, str], tuple[RequestContext, Change]] = {}
        for pending in batch:
            for change in pending.changes:
                if refused.isdisjoint(places_of(change.resource, change.key)):
                    self._expected[change.kind, change.resource, change.key] = pending.caller, change
        self._required = frozenset(self._expected)
        for pending in batch:
            for change in pending.unchanged:
                if refused.isdisjoint(places_of(change.resource, change.key)):
                    self._expected[change.kind, change.resource, change.key] = pending.caller, change

    @property
    def changes(self) -> list[Change]:
        return [change for name, (_, change) in self._expected.items() if name in self._required]

    @property
    def are_certain(self) -> bool:
        """Whether each of these requests has exactly one record, so that the first one that is found is ours."""
        return len(self._expected) == len(self._required) and not any(map(_may_repeat, self.changes))

    @property
    def resources(self) -> set[Resource]:
        return {resource for _, resource, _ in self._expected}

    def are_in(self, revisions: Sequence[Revision]) -> bool:
        """Whether these revisions contain all expected changes."""
        if not self._required:
            return True
        found = {
            (change.kind, change.resource, change.key)
            for revision in revisions
            for change in revision.changes
            if self.is_candidate(change)
        }
        return self._required <= found

    def claims(self, revisions: Sequence[Revision]) -> tuple[Claims, set[Resource]]:
        """The authors of our revisions, and the resources for which every change was found."""
        candidates: dict[tuple[ChangeKind, Resource, str], list[_Candidate]] = defaultdict(list)
        for place, revision in enumerate(revisions):
            for index, change in enumerate(revision.changes):
                if self.is_candidate(change):
                    candidates[change.kind, change.resource, change.key].append((place, index))
        ours: dict[int, RequestContext] = {}
        places: dict[Resource, list[int]] = defaultdict(list)
        for name, found in candidates.items():
            if len(found) == 1:
                ours[found[0][0]] = self._expected[name][0]
                places[name[1]].append(found[0][0])
        for resource, of_one in places.items():
            if resource.type in _WRITTEN_TOGETHER:
                for place in self._not_ours(revisions, resource, sorted(set(of_one))):
                    del ours[place]
        missing = {resource for _, resource, _ in self._required - candidates.keys()}
        done = {resource for _, resource, _ in self._expected} - missing
        return {revisions[place].number: caller for place, caller in ours.items()}, done

    def is_candidate(self, change: Change) -> bool:
        """Whether this may be an expected change."""
        expected = self._expected.get((change.kind, change.resource, change.key))
        if expected is None:
            return False
        if change.kind is ChangeKind.TOPIC:
            return is_same_topic_change(change, expected[1])
        if change.sensitive or expected[1].sensitive:
            return (change.after is None) == (expected[1].after is None)
        return change.after == self._shown(expected[1])

    def is_other_value(self, change: Change) -> bool:
        """Whether this changes an expected key, but not as expected."""
        return (change.kind, change.resource, change.key) in self._required and not self.is_candidate(change)

    def _not_ours(self, revisions: Sequence[Revision], resource: Resource, places: Sequence[int]) -> Collection[int]:
        """The places of candidates for a resource that other requests have written."""
        writes = _writes(revisions, places)
        if len(writes) == 1:
            return ()
        possible = [each for each in writes if self._is_complete(revisions, resource, each)]
        return set(places).difference(possible[0] if len(possible) == 1 else ())

    def _is_complete(self, revisions: Sequence[Revision], resource: Resource, write: Sequence[int]) -> bool:
        """Whether our request could have written just these records: the other keys had their values already."""
        written = {(each.resource, each.key) for place in write for each in revisions[place].changes}
        for (_, about, key), (_, change) in self._expected.items():
            if about == resource and (about, key) not in written and not change.sensitive:
                is_known, value = _value_at(revisions, about, key, write[0])
                if is_known and value != self._shown(change):
                    return False
        return True


def is_same_topic_change(change: Change, expected: Change) -> bool:
    """Whether a topic was created, or the same topic was deleted or got the same partitions.

    The cluster chooses the ID of a new topic, the default number of its partitions, and their replicas.
    """
    if (change.before is None, change.after is None) != (expected.before is None, expected.after is None):
        return False
    if change.before is None or expected.before is None:
        return True
    is_same_topic = _topic(change.before).id == _topic(expected.before).id
    return is_same_topic and (change.after is None or has_same_shape(change, expected))


def has_same_shape(change: Change, expected: Change) -> bool:
    """Whether a topic has the expected number of partitions and replicas after a change."""
    replicas = [None if text is None else _topic(text).replicas for text in (change.after, expected.after)]
    found, wanted = (None if each is None else [len(one) for one in each] for each in replicas)
    return found == wanted


def _topic(text: str) -> Topic:
    return topic_from_json("", text)


def _may_repeat(change: Change) -> bool:
    """Whether Kafka writes a record even if the key has that value: broker configs and SCRAM credentials."""
    return change.resource.type in (ResourceType.BROKER, ResourceType.SCRAM)


def with_authors(revisions: Iterable[Revision], claims: Claims) -> list[Revision]:
    """The revisions, with the author added to ours."""
    return [
        replace(each, caller=claims[each.number], origin=ORIGIN, not_before=None) if each.number in claims else each
        for each in revisions
    ]


def _writes(revisions: Sequence[Revision], places: Sequence[int]) -> list[list[int]]:
    """The places, by the request that wrote them. Changes found by polls have no known order."""
    writes = [[places[0]]]
    for place in places[1:]:
        earlier, later = revisions[writes[-1][-1]], revisions[place]
        is_logged = earlier.origin == later.origin == LOG
        has_topic = any(each.kind is ChangeKind.TOPIC for one in (earlier, later) for each in one.changes)
        is_next = later.number - earlier.number == 1 and later.time == earlier.time
        if is_next or has_topic or not is_logged:  # a new topic has other records between itself and its configs
            writes[-1].append(place)
        else:
            writes.append([place])
    return writes


def _value_at(revisions: Sequence[Revision], resource: Resource, key: str, place: int) -> tuple[bool, str | None]:
    """Whether the value of a key before a place is known, and the value."""
    found: tuple[bool, str | None] = (False, None)
    for index, revision in enumerate(revisions):
        for change in revision.changes:
            if (change.resource, change.key) == (resource, key):
                if index >= place:
                    return found if found[0] else (True, change.before)
                found = True, change.after
    return found
