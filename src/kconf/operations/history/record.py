"""The recorded changes of a cluster that other tools change too: past values, and whether the live value matches.

Such a record has gaps. So past values are derived forward from recorded changes, never backward from the live state; a
live value that differs from the last recorded one has no known author; and everything else is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from kconf.model.resource import Resource, ResourceType
from kconf.operations.history.live_values import LiveValues, other_credential, same_value
from kconf.operations.history.topic_incarnations import Incarnation, TopicIncarnations

if TYPE_CHECKING:
    from kconf.operations.history.entries import HistoryEntry
    from kconf.operations.state import ConfigName

MAX_LAG: Final = 10_000
"""Milliseconds for which a broker may still show the old value after a change."""


class Fit(StrEnum):
    """How a live value relates to the record."""

    MATCHES = "matches"  # set by the last recorded change
    SEEN = "seen"  # first shown by a snapshot: the author is not recorded
    CHANGED_OUTSIDE = "changed_outside"  # not set by the last recorded change
    RECREATED_OUTSIDE = "recreated_outside"  # the topic is not the recorded one
    NOT_LISTED = "not_listed"  # the topic was deleted outside kconf, or the caller is not authorized to describe it
    UNKNOWN_OUTCOME = "unknown_outcome"  # a started change with unknown outcome may have set it
    NOT_YET_VISIBLE = "not_yet_visible"  # the broker may not have the last recorded change yet
    UNREADABLE = "unreadable"  # a secret: the last recorded change set it, unless it was changed outside since
    UNRECORDED = "unrecorded"  # nothing is recorded about it


class Attribution(NamedTuple):
    """Who set a live value: `author` if recorded, or someone outside kconf after the time `outside_after`."""

    fit: Fit
    entry: HistoryEntry | None = None
    outside_after: int | None = None

    @property
    def author(self) -> HistoryEntry | None:
        return self.entry if self.fit in (Fit.MATCHES, Fit.UNREADABLE) else None


class Moment(NamedTuple):
    """A point in the record: a time (milliseconds) or a revision."""

    time: int | None = None
    revision: int | None = None

    def includes(self, entry: HistoryEntry) -> bool:
        return entry.revision <= self.revision if self.revision is not None else entry.time <= (self.time or 0)

    def is_after(self, time: int | None) -> bool:
        """Whether the moment may be after a time; None is the beginning."""
        return time is None or self.time is None or self.time > time


class Gap(NamedTuple):
    """A time range (None: now) in which a key was changed without being recorded."""

    after: int | None
    until: int | None


class PastValue(NamedTuple):
    """The recorded value at a moment, and the entry that set it, if it is before the moment.

    `gap`: an unrecorded change was made around the moment, and it is unknown whether before or after it. `seen_at`:
    nothing is recorded before this later time, at which the value was found.
    """

    value: str | None
    entry: HistoryEntry | None = None
    gap: Gap | None = None
    seen_at: int | None = None

    @property
    def is_certain(self) -> bool:
        return self.gap is None and self.seen_at is None


class HistoryByKey:
    """The completed entries of a history by key and, for topics, by incarnation; and the live values."""

    def __init__(self, entries: Iterable[HistoryEntry], live: LiveValues) -> None:
        self.live = live
        entries = list(entries)
        self._followed_since = min((each.time for each in entries if each.is_from_log), default=None)
        done: dict[Resource, list[HistoryEntry]] = {}
        self._begun: dict[ConfigName, list[HistoryEntry]] = {}
        for each in entries:
            if each.outcome == "done":
                done.setdefault(each.change.resource, []).append(each)
            else:
                self._begun.setdefault((each.change.resource, each.change.key), []).append(each)
        self._incarnations: dict[Resource, list[Incarnation]] = {}
        self._entries: dict[ConfigName, list[tuple[Incarnation, HistoryEntry]]] = {}
        self._parts: dict[Resource, list[tuple[Incarnation, HistoryEntry]]] = {}
        for resource, some in done.items():
            parts = self._parts[resource] = self._split(resource, some)
            for incarnation, each in parts:
                self._entries.setdefault((resource, each.change.key), []).append((incarnation, each))

    def _split(self, resource: Resource, entries: list[HistoryEntry]) -> list[tuple[Incarnation, HistoryEntry]]:
        if resource.type is ResourceType.TOPIC:
            found = TopicIncarnations(entries)
            self._incarnations[resource] = found.incarnations
            return found.parts
        incarnation = Incarnation()
        self._incarnations[resource] = [incarnation]
        return [(incarnation, each) for each in entries]

    def names(self) -> list[ConfigName]:
        """Every key in the record or on the cluster."""
        return sorted({*self._entries, *self.live.values})

    def unlisted_topics(self) -> list[Resource]:
        """Topics in the record that the cluster does not list."""
        return [each for each in self._parts if not self.live.is_listed(each)]

    def incarnations(self, resource: Resource) -> list[Incarnation]:
        return self._incarnations.setdefault(resource, [Incarnation()])

    def incarnation_at(self, resource: Resource, moment: Moment) -> Incarnation:
        found, *later = self.incarnations(resource)
        for each in later:
            if each.begin is not None and moment.includes(each.begin):
                found = each
        return found

    def entries(self, name: ConfigName, incarnation: Incarnation) -> list[HistoryEntry]:
        return [each for its, each in self._entries.get(name, ()) if its is incarnation]

    def is_recreated(self, resource: Resource) -> bool:
        """Whether the live topic is another incarnation than the last recorded one."""
        incarnation, live = self.incarnations(resource)[-1], self.live.topic_id(resource)
        if not self.live.is_listed(resource) or resource.type is not ResourceType.TOPIC:
            return False
        return (incarnation.exists is False and incarnation.begin is not None) or (
            live is not None and incarnation.topic_id is not None and live != incarnation.topic_id
        )

    # -- now ---------------------------------------------------------------------------------------------------------

    def attribute(self, name: ConfigName) -> Attribution:
        """Who set or removed the live value."""
        resource, _ = name
        incarnation = self.incarnations(resource)[-1]
        entries = self.entries(name, incarnation)
        last = entries[-1] if entries else incarnation.created
        if not self.live.is_listed(resource):
            return self._not_listed(resource, incarnation)
        if self.is_recreated(resource):
            return self._recreated(name, incarnation)
        if last is None:
            return Attribution(Fit.UNRECORDED)
        return self._compare(name, last, last.change.after if entries else None)

    def _compare(self, name: ConfigName, last: HistoryEntry, recorded: str | None) -> Attribution:
        is_secret = last.change.sensitive or self.live.is_secret(name)
        is_hidden = is_secret and name in self.live.values
        begun = [each for each in self._begun.get(name, ()) if each.time >= last.time]
        may_be_begun = any(self.live.may_be(name, each.change.after, is_secret=is_secret) for each in begun)
        if self.live.may_be(name, recorded, is_secret=is_secret) and not (is_hidden and may_be_begun):
            return Attribution(Fit.UNREADABLE, last) if is_hidden and not last.is_snapshot else self._same(name, last)
        if may_be_begun:
            return Attribution(Fit.UNKNOWN_OUTCOME, last)
        if self._is_lagging(name, last, is_secret=is_secret):
            return Attribution(Fit.NOT_YET_VISIBLE, last)
        return Attribution(Fit.CHANGED_OUTSIDE, last, last.known_at)

    def _same(self, name: ConfigName, last: HistoryEntry) -> Attribution:
        if not last.is_snapshot:
            return Attribution(Fit.MATCHES, last)
        if any(same_value(name, each.change.after, last.change.after) for each in self._begun.get(name, ())):
            return Attribution(Fit.UNKNOWN_OUTCOME, last)
        return Attribution(Fit.SEEN, last, last.not_before)

    def _not_listed(self, resource: Resource, incarnation: Incarnation) -> Attribution:
        if incarnation.exists is False or incarnation.last is None:
            return Attribution(Fit.MATCHES, incarnation.begin)
        if any(each.change.after is None for each in self._begun.get((resource, ""), ())):
            return Attribution(Fit.UNKNOWN_OUTCOME, incarnation.last)
        if self.live.state.started - incarnation.last.time < MAX_LAG and incarnation.created is not None:
            return Attribution(Fit.NOT_YET_VISIBLE, incarnation.last)
        return Attribution(Fit.NOT_LISTED, incarnation.last)

    def _recreated(self, name: ConfigName, incarnation: Incarnation) -> Attribution:
        """A recreated topic: a recorded change may belong to either incarnation, unless it is older."""
        resource, key = name
        shown = incarnation.identified if incarnation.exists is not False else incarnation.begin
        begun = [each for each in self._begun.get((resource, ""), ()) if shown is None or each.time >= shown.time]
        if begun:
            return Attribution(Fit.UNKNOWN_OUTCOME, shown)
        bound = shown and shown.known_at
        last = self.entries(name, incarnation)[-1:]
        is_newer = last and bound is not None and last[0].time > bound
        is_same = last and same_value(name, last[0].change.after, self.live.values.get(name))
        unsure = key and is_newer and (is_same or last[0].change.sensitive)
        return Attribution(Fit.RECREATED_OUTSIDE, shown, None if unsure else bound)

    def _is_lagging(self, name: ConfigName, last: HistoryEntry, *, is_secret: bool) -> bool:
        """Whether the live value may predate an entry. A new topic shows its configs immediately."""
        created = self.incarnations(name[0])[-1].created
        if (
            last.is_snapshot
            or last.change.key != name[1]
            or (created is not None and created.revision == last.revision)
        ):
            return False
        is_recent = self.live.state.started - last.time < MAX_LAG
        return is_recent and self.live.may_be(name, last.change.before, is_secret=is_secret)

    # -- then --------------------------------------------------------------------------------------------------------

    def value_at(self, name: ConfigName, moment: Moment) -> PastValue | None:
        """The recorded value of a key at a moment; None if nothing is recorded."""
        incarnation = self.incarnation_at(name[0], moment)
        entries = self.entries(name, incarnation)
        past = [each for each in entries if moment.includes(each)]
        later = [each for each in entries if not moment.includes(each)]
        if incarnation.exists is False:
            return PastValue(
                None, incarnation.begin, self._gap(name, moment, incarnation, None, incarnation.begin, None)
            )
        if not past and incarnation.created is None:
            return self._seen_later(later[0], moment) if later else None
        last = past[-1] if past else incarnation.created
        assert last is not None
        value = past[-1].change.after if past else None
        return PastValue(value, last, self._gap(name, moment, incarnation, value, last, later[0] if later else None))

    def existence_at(self, topic: Resource, moment: Moment) -> PastValue | None:
        """Whether a topic existed of which only config changes are recorded; None if unknown."""
        incarnation = self.incarnation_at(topic, moment)
        entries = [each for its, each in self._parts.get(topic, ()) if its is incarnation]
        past = [each for each in entries if moment.includes(each)]
        if not entries or incarnation.exists is False:
            return None
        return PastValue("{}", past[-1]) if past else PastValue("{}", seen_at=entries[0].time)

    def _seen_later(self, first: HistoryEntry, moment: Moment) -> PastValue | None:
        """The previous value in the first entry after a moment. Only a followed log proves that it was set before."""
        if not first.is_snapshot:
            followed = self._followed_since is not None and moment.is_after(self._followed_since)
            is_certain = followed and first.is_from_log
            return PastValue(first.change.before, seen_at=None if is_certain else first.time)
        if first.not_before is None or first.change.after is None:
            return None
        gap = Gap(first.not_before, first.time) if moment.is_after(first.not_before) else None
        return PastValue(None, None, gap)

    def _gap(
        self,
        name: ConfigName,
        moment: Moment,
        incarnation: Incarnation,
        value: str | None,
        last: HistoryEntry | None,
        following: HistoryEntry | None,
    ) -> Gap | None:
        """The unrecorded change between the last entry before a moment and the next observation."""
        since = last.known_at if last is not None else None
        if following is not None:
            return self._gap_before(following, name, moment, value, last)
        incarnations = self.incarnations(name[0])
        if incarnation is not incarnations[-1]:
            after = incarnations[incarnations.index(incarnation) + 1]
            is_recorded = after.exists is False or (after.created is not None and incarnation.exists is False)
            return None if is_recorded or after.begin is None else Gap(since, after.begin.time)
        if last is None or not self.live.is_readable(name):
            return None
        fits = self.attribute(name).fit
        return Gap(since, None) if fits in (Fit.CHANGED_OUTSIDE, Fit.RECREATED_OUTSIDE, Fit.NOT_LISTED) else None

    def _gap_before(
        self, following: HistoryEntry, name: ConfigName, moment: Moment, value: str | None, last: HistoryEntry | None
    ) -> Gap | None:
        since = last.known_at if last is not None else None
        if following.is_snapshot:
            begin = max((each for each in (since, following.not_before) if each is not None), default=None)
            return Gap(begin, following.time) if moment.is_after(following.not_before) else None
        if following.not_before is not None and moment.time is not None and moment.time > following.not_before:
            return Gap(following.not_before, following.time)  # a gateway saw it some time after it was made
        before = following.change.before
        if following.change.sensitive and not other_credential(name, before, value):
            return None
        if same_value(name, before, value):
            return None
        return Gap(since, following.time)  # also if a lagging broker may have shown it: that cannot be distinguished
