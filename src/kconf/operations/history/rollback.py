"""Plans a rollback: the differences that restore the values of an earlier time.

A secret that was not set at that time is removed; other secrets cannot be restored, because no record contains them.
Topics are neither created nor deleted. If the record has gaps, only recorded values are restored; the rest is not
changed, and listed as unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kconf.configdef.sensitive import HIDDEN
from kconf.engine.declarative.diff import Difference, plain_difference
from kconf.model.entry import own_source
from kconf.model.journal import ChangeKind
from kconf.model.resource import ResourceType
from kconf.operations.history.live_values import other_credential, same_value
from kconf.operations.history.record import HistoryByKey, Moment, PastValue
from kconf.operations.history.topic_incarnations import facts_of
from kconf.operations.state import ConfigName, set_values

if TYPE_CHECKING:
    from kconf.model.cluster_state import ClusterState
    from kconf.model.resource import Resource
    from kconf.operations.history.point_in_time import HistoryRange


class Rollback(NamedTuple):
    """The changes that restore the earlier state. `secrets` and `notes` list what has changed but cannot be restored.

    For a record with gaps: the `gaps` around the earlier time, keys whose earlier value is `unknown`, secrets that
    cannot be compared (`unreadable`), and keys whose earlier value is `uncertain`.
    """

    differences: list[Difference]
    secrets: list[Difference]
    notes: list[str]
    gaps: Sequence[tuple[ConfigName, PastValue]] = ()
    unknown: Sequence[ConfigName] = ()
    unreadable: Sequence[ConfigName] = ()
    uncertain: Sequence[ConfigName] = ()


def plan_rollback(changed: Mapping[ConfigName, HistoryRange], state: ClusterState) -> Rollback:
    """`changed` has the changes since the earlier time, `state` the current state."""
    planner = _RollbackPlanner(changed, state)
    differences = planner.differences()
    return Rollback(differences, planner.secrets, planner.notes)


def plan_rollback_by_record(record: HistoryByKey, moment: Moment) -> Rollback:
    """Restore the recorded values of a moment. The current state is `record.live`."""
    planner = _RecordPlanner(record, moment)
    for name in record.names():
        planner.add(name)
    listed = planner.gaps, planner.unknown, planner.unreadable, planner.uncertain
    return Rollback(planner.differences, planner.secrets, planner.notes, *listed)


class _ConfigDifferences:
    """Config differences from the current state."""

    def __init__(self, state: ClusterState) -> None:
        self._values = set_values(state)
        self._entries = {
            (resource, entry.name): entry for resource, view in state.configs.items() for entry in view.entries
        }

    def remove_secret(self, name: ConfigName) -> Difference:
        """Remove a secret that is set now but was not set then."""
        resource, key = name
        shown = self._values.get(name) or HIDDEN  # for a credential, its iterations
        source = None if resource.type is ResourceType.SCRAM else own_source(resource)
        return plain_difference(resource, "delete", key, shown, None)._replace(source=source, sensitive=True)

    def restore(self, name: ConfigName, earlier: str | None) -> Difference:
        resource, key = name
        now = self._values.get(name)
        entry = self._entries.get(name)
        own = own_source(resource)
        old = now if entry is None else entry.value
        below = None if entry is None else next((each.value for each in entry.synonyms if each.source != own), None)
        op, new = ("set", earlier) if earlier is not None else ("delete", below)
        return Difference(ChangeKind.CONFIG, resource, op, key, now, earlier, old, new, entry.source if entry else None)


class _RollbackPlanner:
    def __init__(self, changed: Mapping[ConfigName, HistoryRange], state: ClusterState) -> None:
        self._changed, self._state, self._values = changed, state, set_values(state)
        self._configs = _ConfigDifferences(state)
        self.secrets: list[Difference] = []
        self.notes: list[str] = []

    def differences(self) -> list[Difference]:
        recreated = {resource for (resource, _), each in self._changed.items() if _is_recreated(each)}
        found = []
        for (resource, key), each in self._changed.items():
            if each.first.change.kind is ChangeKind.TOPIC:
                self.notes.append(_topic_note(each))
            elif resource not in recreated:
                difference = self._difference((resource, key), each)
                found += [] if difference is None else [difference]
        return found

    def _difference(self, name: ConfigName, changed: HistoryRange) -> Difference | None:
        (resource, _), change = name, changed.first.change
        earlier, now = change.before, self._values.get(name)
        if change.sensitive or (name in self._values and now is None):
            if change.before is None:
                return self._configs.remove_secret(name) if name in self._values else None
            if change.before != changed.last.change.after:
                self.secrets.append(_secret(name))
            return None
        if now == earlier or (resource.type is ResourceType.TOPIC and resource.name not in self._state.topics):
            return None
        return self._configs.restore(name, earlier)


class _RecordPlanner:
    def __init__(self, record: HistoryByKey, moment: Moment) -> None:
        self._record, self._moment, self._live = record, moment, record.live
        self._configs = _ConfigDifferences(record.live.state)
        self._left_alone: dict[Resource, bool] = {}
        self.differences: list[Difference] = []
        self.secrets: list[Difference] = []
        self.notes: list[str] = []
        self.gaps: list[tuple[ConfigName, PastValue]] = []
        self.unknown: list[ConfigName] = []
        self.unreadable: list[ConfigName] = []
        self.uncertain: list[ConfigName] = []

    def add(self, name: ConfigName) -> None:
        resource, key = name
        if resource.type is ResourceType.TOPIC and self._is_left_alone(resource):
            return
        if resource.type is ResourceType.TOPIC and not key:
            return
        earlier = self._record.value_at(name, self._moment)
        if not self._live.is_readable(name):
            self._note(f"cannot read {resource}; it is not changed")
        elif earlier is None:
            self.unknown.append(name)
        elif self._is_secret(name, earlier):
            self._add_secret(name, earlier)
        elif not same_value(name, earlier.value, self._live.values.get(name)):
            self._restore(name, earlier, self._configs.restore(name, earlier.value))
        if earlier is not None and not earlier.is_certain:
            self.uncertain.append(name)

    def _restore(self, name: ConfigName, earlier: PastValue, difference: Difference) -> None:
        self.differences.append(difference)
        if not earlier.is_certain:
            self.gaps.append((name, earlier))

    def _is_left_alone(self, resource: Resource) -> bool:
        """Whether the current topic is not the topic of that moment, or does not exist. Adds a note once."""
        if resource not in self._left_alone:
            note = self._topic_note(resource)
            self._left_alone[resource] = note is not None
            if note is not None:
                self._note(f"{resource} {note}")
            elif self._has_grown(resource):
                self._note(f"{resource} has more partitions now; partitions cannot be removed")
        return self._left_alone[resource]

    def _topic_note(self, resource: Resource) -> str | None:
        record = self._record
        incarnation = record.incarnation_at(resource, self._moment)
        if not self._live.is_listed(resource):
            if incarnation.exists is False:
                is_last = incarnation is record.incarnations(resource)[-1]
                return None if is_last else "has been created and deleted since then"
            if record.incarnations(resource)[-1].exists is False:
                return "has been deleted since then; it cannot be restored"
            return "is not listed; it is not changed"
        if record.is_recreated(resource):
            return "was recreated outside kconf; it is not changed"
        if incarnation is record.incarnations(resource)[-1]:
            return None
        if incarnation.exists is False:
            return "has been created since then; a rollback does not delete it"
        return "has been recreated since then; it is not changed"

    def _has_grown(self, resource: Resource) -> bool:
        earlier = self._record.value_at((resource, ""), self._moment)
        if earlier is None or earlier.value is None or not self._live.is_listed(resource):
            return False
        counts = [facts_of(each)["partitions"] for each in (earlier.value, self._live.values[resource, ""])]
        return None not in counts and counts[0] < counts[1]

    def _is_secret(self, name: ConfigName, earlier: PastValue) -> bool:
        entries = (earlier.entry, self._record.attribute(name).entry)
        return self._live.is_secret(name) or any(
            each is not None and each.change.key == name[1] and each.change.sensitive for each in entries
        )

    def _add_secret(self, name: ConfigName, earlier: PastValue) -> None:
        last = self._record.attribute(name).author
        is_set = name in self._live.values
        is_other = last is not None and last.change.after != earlier.value
        if earlier.value is None:
            if is_set:
                self._restore(name, earlier, self._configs.remove_secret(name))
        elif not is_set or is_other or other_credential(name, earlier.value, self._live.values[name]):
            self.secrets.append(_secret(name))
        else:
            self.unreadable.append(name)

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


def _secret(name: ConfigName) -> Difference:
    return Difference(ChangeKind.CONFIG, name[0], "set", name[1], "", "", sensitive=True)


def _is_recreated(changed: HistoryRange) -> bool:
    """Whether a topic has been created or deleted since then. If so, its current configs have no earlier values."""
    first, last = changed.first.change, changed.last.change
    return first.kind is ChangeKind.TOPIC and {first.op, last.op} != {"grow"}


def _topic_note(changed: HistoryRange) -> str:
    first, last = changed.first.change, changed.last.change
    if first.before is None:
        return f"{first.resource} has been created since then; a rollback does not delete it"
    if last.after is None:
        return f"{first.resource} has been deleted since then; it cannot be restored"
    if "grow" in (first.op, last.op):
        return f"{first.resource} has more partitions now; partitions cannot be removed"
    return f"{first.resource} has been recreated since then; it is not changed"
