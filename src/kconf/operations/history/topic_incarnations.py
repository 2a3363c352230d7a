"""The record of a topic, split where it was deleted or created: topics with the same name share nothing.

Topic IDs distinguish the topics of a name, if they are recorded. Config changes have no ID: they belong to the topic of
the entries before them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kconf.model.journal import ChangeKind

if TYPE_CHECKING:
    from kconf.operations.history.entries import HistoryEntry


@dataclass(eq=False, slots=True)
class Incarnation:
    """A time range in which a name had one topic, or none (`exists` is False; None if unknown).

    `begin` is its first entry, `created` the same entry if it is the creation of the topic. `identified` is the last
    entry with the topic ID.
    """

    begin: HistoryEntry | None = None
    exists: bool | None = None
    created: HistoryEntry | None = None
    topic_id: str | None = None
    identified: HistoryEntry | None = None
    last: HistoryEntry | None = None


def facts_of(topic: str | None) -> dict[str, Any]:
    """The ID, partitions and replicas, from any recorded format; None if unknown."""
    if topic is None:
        return {"id": None, "partitions": None, "replication": None}
    found = json.loads(topic)
    replicas = found.get("replicas")
    partitions = found.get("partitions") if replicas is None else len(replicas)
    copies = found.get("replication") if replicas is None else len(replicas[0]) if replicas else None
    counts = {"partitions": partitions, "replication": copies}
    return {"id": found.get("id"), **{name: count if (count or 0) > 0 else None for name, count in counts.items()}}


def same_topic(one: str, other: str) -> bool:
    """Whether two values describe the same topic with the same partitions; fields of only one are not compared."""
    pairs = zip(facts_of(one).values(), facts_of(other).values(), strict=True)
    return all(left is None or right is None or left == right for left, right in pairs)


class TopicIncarnations:
    """The incarnations of one name in order; the last one is the current one, according to the record."""

    def __init__(self, entries: Iterable[HistoryEntry]) -> None:
        self.incarnations = [Incarnation()]
        self.parts: list[tuple[Incarnation, HistoryEntry]] = [(self._place(each), each) for each in entries]

    def _place(self, entry: HistoryEntry) -> Incarnation:
        """The incarnation that an entry belongs to."""
        change, incarnation = entry.change, self.incarnations[-1]
        if change.kind is not ChangeKind.TOPIC:
            if incarnation.exists is False and change.after is not None:
                incarnation = self._begin(entry)  # it was recreated, which is not recorded
        elif change.after is None:
            incarnation.last = entry
            self._begin(entry).exists = False
            return incarnation
        else:
            incarnation = self._of_topic(entry, incarnation)
        incarnation.exists = incarnation.exists if incarnation.exists is False else True
        incarnation.last = entry
        return incarnation

    def _of_topic(self, entry: HistoryEntry, incarnation: Incarnation) -> Incarnation:
        before, after = facts_of(entry.change.before)["id"], facts_of(entry.change.after)["id"]
        is_creation = entry.change.before is None and not entry.is_snapshot
        other = any(each is not None and incarnation.topic_id not in (None, each) for each in (before, after))
        if is_creation and incarnation.last is None and incarnation.begin is None:
            incarnation.exists = False  # there was none before
        if is_creation or other or incarnation.exists is False:
            incarnation = self._begin(entry)
            incarnation.created = entry if is_creation else None
        if after is not None:
            incarnation.topic_id, incarnation.identified = after, entry
        return incarnation

    def _begin(self, entry: HistoryEntry) -> Incarnation:
        self.incarnations.append(Incarnation(entry))
        return self.incarnations[-1]
