"""A topic's record, split at the times when it was deleted or created: one topic of a name has nothing of another.

Topic ids tell the topics of a name apart where the record has them. Changes of configs have no id: they belong to the
topic that the entries before them are about.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kconf.model.journal import ChangeKind

if TYPE_CHECKING:
    from kconf.operations.history.sources import HistoryEntry


@dataclass(eq=False, slots=True)
class Life:
    """A time in which a name had one topic, or none (`exists` is False; None: the record does not say).

    `begin` is the entry that begins it, `created` the same if that is the recorded creation of the topic. `identified`
    is the last entry that has the topic's id.
    """

    begin: HistoryEntry | None = None
    exists: bool | None = None
    created: HistoryEntry | None = None
    topic_id: str | None = None
    identified: HistoryEntry | None = None
    last: HistoryEntry | None = None


def facts_of(topic: str | None) -> dict[str, Any]:
    """The id, the number of partitions and of replicas, from any form that a record has; what is unknown is None."""
    if topic is None:
        return {"id": None, "partitions": None, "replication": None}
    found = json.loads(topic)
    replicas = found.get("replicas")
    partitions = found.get("partitions") if replicas is None else len(replicas)
    copies = found.get("replication") if replicas is None else len(replicas[0]) if replicas else None
    counts = {"partitions": partitions, "replication": copies}
    return {"id": found.get("id"), **{name: count if (count or 0) > 0 else None for name, count in counts.items()}}


def same_topic(one: str, other: str) -> bool:
    """Whether two texts are about one topic with one shape; what only one of them has is not compared."""
    pairs = zip(facts_of(one).values(), facts_of(other).values(), strict=True)
    return all(left is None or right is None or left == right for left, right in pairs)


class TopicLives:
    """The lives of one name, in order; the last one is the present one, as far as the record goes."""

    def __init__(self, entries: Iterable[HistoryEntry]) -> None:
        self.lives = [Life()]
        self.parts: list[tuple[Life, HistoryEntry]] = [(self._place(each), each) for each in entries]

    def _place(self, entry: HistoryEntry) -> Life:
        """The life that an entry belongs to."""
        change, life = entry.change, self.lives[-1]
        if change.kind is not ChangeKind.TOPIC:
            if life.exists is False and change.after is not None:
                life = self._begin(entry)  # it was created again, and nobody recorded it
        elif change.after is None:
            life.last = entry
            self._begin(entry).exists = False
            return life
        else:
            life = self._of_topic(entry, life)
        life.exists = life.exists if life.exists is False else True
        life.last = entry
        return life

    def _of_topic(self, entry: HistoryEntry, life: Life) -> Life:
        before, after = facts_of(entry.change.before)["id"], facts_of(entry.change.after)["id"]
        is_creation = entry.change.before is None and not entry.is_snapshot
        other = any(each is not None and life.topic_id not in (None, each) for each in (before, after))
        if is_creation and life.last is None and life.begin is None:
            life.exists = False  # there was none before
        if is_creation or other or life.exists is False:
            life = self._begin(entry)
            life.created = entry if is_creation else None
        if after is not None:
            life.topic_id, life.identified = after, entry
        return life

    def _begin(self, entry: HistoryEntry) -> Life:
        self.lives.append(Life(entry))
        return self.lives[-1]
