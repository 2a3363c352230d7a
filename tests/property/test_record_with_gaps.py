"""Random histories of recorded and foreign changes, compared with a model that has all of them.

kconf sees only the recorded changes and the current state. It may answer "unknown", but never anything false, and
without foreign changes in between it knows the past exactly.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from hypothesis import event, given, settings
from hypothesis import strategies as st

from kconf.model.cluster_state import ClusterState, TopicShape
from kconf.model.entry import Entry, ValueType, View, own_source
from kconf.model.journal import Change, ChangeKind, RequestContext
from kconf.model.resource import Resource, Topic
from kconf.model.snapshot import topic_to_json
from kconf.operations.history.blame import blame
from kconf.operations.history.diff import diff_record
from kconf.operations.history.entries import BOTH, HistoryEntry, RecordedHistory
from kconf.operations.history.live_values import LiveValues
from kconf.operations.history.record import MAX_LAG, Fit, HistoryByKey, Moment
from kconf.operations.history.rollback import plan_rollback_by_record

TOPIC = Resource.topic("t")
KEYS = ("retention.ms", "segment.ms")
VALUES = ("100", "200", "300")
STEP = 2 * MAX_LAG  # milliseconds between two steps: longer than any broker lags
SNAPSHOT_TIME = 1000

Configs = Mapping[str, str]


@dataclass(frozen=True)
class Truth:
    """The topic after a step: its incarnation number (0: it does not exist) and its overrides."""

    time: int
    topic: int
    configs: Configs


@dataclass(frozen=True)
class Foreign:
    """An unrecorded change; the key is None if the topic was created or deleted."""

    time: int
    key: str | None


@dataclass
class World:
    """A cluster with one topic, a journal of kconf's changes, a lake with snapshots, and the true history."""

    topic: int = 0
    configs: dict[str, str] = field(default_factory=dict)
    time: int = 0
    made: int = 0
    entries: list[HistoryEntry] = field(default_factory=list)
    truths: list[Truth] = field(default_factory=lambda: [Truth(0, 0, {})])
    foreign: list[Foreign] = field(default_factory=list)
    snapshots: list[int] = field(default_factory=list)
    keeps_ids: bool = True

    def step(self) -> None:
        self.time += STEP

    def end(self) -> None:
        self.truths.append(Truth(self.time, self.topic, dict(self.configs)))

    def topic_text(self) -> str:
        if self.keeps_ids:
            return topic_to_json(Topic("t", UUID(int=self.topic), ((1,),)))
        return json.dumps({"partitions": 1, "replication": 1})

    def record(self, changes: list[Change], *, outcome: str = "done", **more: Any) -> None:
        caller = RequestContext("User:me", reason=f"step {self.time}")
        for place, change in enumerate(changes):
            self.entries.append(
                HistoryEntry(self.time, self.time, place, change, caller, "client", outcome=outcome, **more)
            )

    def set_value(self, key: str, value: str | None, *, recorded: bool, outcome: str = "done") -> None:
        """With the outcome `unknown` kconf did not see the response; with `lost` the change was also not made."""
        if self.topic == 0 or self.configs.get(key) == value:
            return
        before = self.configs.get(key)
        if recorded:
            change = Change(ChangeKind.CONFIG, TOPIC, key, before, value, "set" if value else "delete")
            self.record([change], outcome="done" if outcome == "done" else "unknown")
            if outcome == "lost":
                return
        else:
            self.foreign.append(Foreign(self.time, key))
        self.configs.pop(key, None)
        if value is not None:
            self.configs[key] = value

    def create(self, configs: Configs, *, recorded: bool) -> None:
        if self.topic:
            return
        self.made += 1
        self.topic, self.configs = self.made, dict(configs)
        if recorded:
            made = Change(ChangeKind.TOPIC, TOPIC, "", None, self.topic_text(), "create")
            sets = [Change(ChangeKind.CONFIG, TOPIC, key, None, value, "set") for key, value in configs.items()]
            self.record([made, *sets])
        else:
            self.foreign.append(Foreign(self.time, None))

    def delete(self, *, recorded: bool) -> None:
        if not self.topic:
            return
        if recorded:
            removed = [
                Change(ChangeKind.CONFIG, TOPIC, key, value, None, "delete") for key, value in self.configs.items()
            ]
            self.record([*removed, Change(ChangeKind.TOPIC, TOPIC, "", self.topic_text(), None, "delete")])
        else:
            self.foreign.append(Foreign(self.time, None))
        self.topic, self.configs = 0, {}

    def create_anew(self) -> None:
        """Another tool deletes the topic and creates it with the same configs."""
        configs = dict(self.configs)
        self.delete(recorded=False)
        self.end()
        self.step()
        self.create(configs, recorded=False)

    def snapshot(self, meanwhile: Callable[[World], None] | None = None) -> None:
        """Add a snapshot to the lake: only new facts. Changes may be made while it is taken."""
        started, read = self.time, World(self.topic, dict(self.configs), keeps_ids=self.keeps_ids)
        if meanwhile is not None:
            self.time += SNAPSHOT_TIME // 2
            meanwhile(self)
            self.end()
        self.time = started + SNAPSHOT_TIME
        previous = self.snapshots[-1] if self.snapshots else None
        known = self._known()
        shown: dict[str, str] = {} if not read.topic else {"": read.topic_text(), **read.configs}
        again = bool(known.get("") and shown.get("") and self.keeps_ids and known[""] != shown[""])
        gone = [key for key in sorted(known, reverse=True) if key not in shown or again]
        for key in gone:
            self._see(key, known[key], None, None, started)
        for key, value in sorted(shown.items()):
            if again or known.get(key) != value:
                self._see(key, None, value, previous, started)
        self.snapshots.append(started)

    def _known(self) -> dict[str, str]:
        """The state according to the lake."""
        found: dict[str, str] = {}
        for each in self.entries:
            if each.outcome == "done":
                if each.change.after is None:
                    found.pop(each.change.key, None)
                else:
                    found[each.change.key] = each.change.after
                if each.change.key == "" and each.change.op in ("create", "delete"):
                    found = {"": each.change.after} if each.change.after is not None else {}
        return found

    def _see(self, key: str, before: str | None, after: str | None, previous: int | None, started: int) -> None:
        kind = ChangeKind.CONFIG if key else ChangeKind.TOPIC
        change = Change(kind, TOPIC, key, before, after, "snapshot")
        caller = RequestContext("")
        self.entries.append(
            HistoryEntry(self.time, self.time, 0, change, caller, "snapshot", not_before=previous, read_since=started)
        )

    def state(self) -> ClusterState:
        taken = self.time + STEP
        if not self.topic:
            return ClusterState("c", taken, taken)
        entries = [Entry(key, value, own_source(TOPIC), ValueType.LONG) for key, value in self.configs.items()]
        shape = TopicShape(UUID(int=self.topic), 1, 1)
        return ClusterState("c", taken, taken, {"t": shape}, {TOPIC: View(tuple(entries))})

    def is_identified(self, topic: int) -> bool:
        """Whether the record has the topic ID: config changes have none."""
        text = topic_to_json(Topic("t", UUID(int=topic), ((1,),)))
        return any(each.change.after == text for each in self.entries)

    def at(self, time: int) -> Truth:
        return [each for each in self.truths if each.time <= time][-1]


Step = Callable[[World], None]
values = st.sampled_from([*VALUES, None])
configs = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))
steps: st.SearchStrategy[Step] = st.one_of(
    st.builds(
        lambda key, value, recorded: lambda world: world.set_value(key, value, recorded=recorded),
        st.sampled_from(KEYS),
        values,
        st.booleans(),
    ),
    st.builds(
        lambda key, value, outcome: lambda world: world.set_value(key, value, recorded=True, outcome=outcome),
        st.sampled_from(KEYS),
        values,
        st.sampled_from(["unknown", "lost"]),
    ),
    st.builds(lambda some, recorded: lambda world: world.create(some, recorded=recorded), configs, st.booleans()),
    st.builds(lambda recorded: lambda world: world.delete(recorded=recorded), st.booleans()),
    st.just(World.snapshot),
    st.just(World.create_anew),
    st.builds(
        lambda key, value: lambda world: world.snapshot(lambda during: during.set_value(key, value, recorded=False)),
        st.sampled_from(KEYS),
        values,
    ),
)


def play(some: list[Step], *, keeps_ids: bool) -> World:
    world = World(keeps_ids=keeps_ids)
    for each in some:
        world.step()
        each(world)
        world.end()
    return world


def record_of(world: World) -> HistoryByKey:
    return HistoryByKey(world.entries, LiveValues(world.state()))


def is_untouched(world: World, key: str, begin: int, end: int) -> bool:
    """Whether no foreign change, and no change with unknown outcome, affected a key in a time range."""
    begun = [each for each in world.entries if each.outcome != "done" and each.change.key == key]
    return not any(begin < each.time <= end and each.key in (None, key) for each in world.foreign) and not any(
        begin < each.time <= end for each in begun
    )


histories = st.lists(steps, max_size=12)
times = st.integers(0, 13 * STEP)


@settings(max_examples=400)
@given(histories)
def test_blame_never_names_the_wrong_author(some: list[Step]) -> None:
    world = play(some, keeps_ids=True)
    history = RecordedHistory(BOTH, "c", world.entries, [])

    for found in blame(world.state(), history):
        key, fit = found.change.key, found.attribution.fit
        event(fit.value)
        author, after = found.attribution.author, found.attribution.outside_after
        if author is not None and found.is_set and key:
            assert author.change.after == found.value
            assert author.outcome == "done"
            again = [each for each in world.foreign if each.time > author.time and each.key in (None, key)]
            topic = world.at(author.time).topic
            if again and world.is_identified(topic):
                assert topic == world.topic  # another tool set the same value, which is not visible
        if after is not None:
            assert any(each.time > after and each.key in (None, key or None) for each in world.foreign), (key, after)
        if fit is Fit.MATCHES and not found.is_set:
            assert key not in world.configs
        if author is None:
            assert fit not in (Fit.MATCHES, Fit.UNREADABLE)


@settings(max_examples=400)
@given(histories)
def test_blame_shows_everything_that_is_set(some: list[Step]) -> None:
    world = play(some, keeps_ids=True)
    history = RecordedHistory(BOTH, "c", world.entries, [])

    found = {each.change.key: each for each in blame(world.state(), history)}

    shown = {key: each.value for key, each in found.items() if key and each.is_set}
    assert shown == world.configs
    for key in world.configs:
        last = [each for each in world.entries if each.change.key == key and each.outcome == "done"][-1:]
        if last and not last[0].is_snapshot and is_untouched(world, key, last[0].time, world.time):
            own = [each.time for each in world.foreign if each.key is None and each.time < last[0].time]
            if not own:  # every topic of that name is recorded
                assert found[key].attribution.author == last[0]


@settings(max_examples=600)
@given(histories, times, st.booleans())
def test_a_recorded_value_is_correct_unless_a_foreign_change_came_between(
    some: list[Step], time: int, keeps_ids: bool
) -> None:
    world = play(some, keeps_ids=keeps_ids)
    record = record_of(world)
    truth = world.at(time)

    for key in KEYS:
        found = record.value_at((TOPIC, key), Moment(time))
        known = [each for each in world.entries if each.outcome == "done" and each.change.key in (key, "")]
        past = [each for each in known if each.time <= time]
        later = [each for each in known if each.time > time]
        if found is not None and found.gap is not None:
            until = world.time if found.gap.until is None else found.gap.until
            assert not is_untouched(world, key, found.gap.after or 0, until)
        begin = max([0, *(each.known_at or 0 for each in past)])
        end = later[0].time if later else world.time
        if found is None:
            event("unknown")
            assert not [each for each in past if each.change.key == key] or any(
                each.key is None for each in world.foreign
            )
        elif is_untouched(world, key, begin, end) and past and not past[-1].is_snapshot:
            event("exact")
            assert found.value == truth.configs.get(key)
        elif found.value != truth.configs.get(key):
            event("foreign")
            assert not is_untouched(world, key, 0, world.time)


@settings(max_examples=400)
@given(histories, times)
def test_a_difference_to_now_ends_with_the_live_value_and_claims_no_author_for_a_foreign_one(
    some: list[Step], time: int
) -> None:
    world = play(some, keeps_ids=True)
    record = record_of(world)

    found = diff_record(record, Moment(time), None)

    by_key = {each.change.key: each for each in found.differences if each.change.key}
    for key, each in by_key.items():
        assert each.after == world.configs.get(key)
        author = each.attribution.author
        if author is not None:
            assert author.outcome == "done"
            made_topic = not author.change.key  # the key is in the state after the creation or deletion
            assert author.change.after == each.after or (made_topic and each.after is None)
    unknown = {key for _, key in found.unknown}
    for key in KEYS:
        then = record.value_at((TOPIC, key), Moment(time))
        is_listed = world.topic or record.attribute((TOPIC, key)).fit is not Fit.NOT_LISTED
        if then is not None and then.value != world.configs.get(key) and is_listed:
            assert key in by_key
        if then is None and key in world.configs:
            assert key in unknown


@settings(max_examples=400)
@given(histories, times)
def test_a_rollback_plans_recorded_values_of_the_present_topic_only(some: list[Step], time: int) -> None:
    world = play(some, keeps_ids=True)
    record = record_of(world)

    found = plan_rollback_by_record(record, Moment(time))

    unknown = {key for _, key in found.unknown}
    for each in found.differences:
        event(each.op)
        recorded = record.value_at((TOPIC, each.key), Moment(time))
        assert recorded is not None
        assert each.after == recorded.value != world.configs.get(each.key)
        assert each.key not in unknown
        values = {entry.change.after for entry in world.entries} | {entry.change.before for entry in world.entries}
        assert each.after is None or each.after in values
        if not [one for one in world.foreign if one.key is None]:
            assert world.at(time).topic == world.topic
    planned = {each.key for each in found.differences}
    topics = {each.topic for each in world.truths}
    if (
        topics <= {0, 1}
        and not [one for one in world.foreign if one.key is None]
        and world.at(time).topic == world.topic == 1
    ):
        for key in KEYS:
            if not [one for one in world.foreign if one.key == key] and is_untouched(world, key, 0, world.time):
                assert (key in planned) == (world.at(time).configs.get(key) != world.configs.get(key))
