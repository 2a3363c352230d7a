"""Plans a rollback: the differences that restore the values of an earlier time.

Secrets are not restored, since no record has them. Topics are neither created nor deleted.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from kconf.engine.declarative.diff import Difference
from kconf.model.entry import own_source
from kconf.model.journal import ChangeKind
from kconf.model.resource import ResourceType
from kconf.operations.state import ConfigName, set_values

if TYPE_CHECKING:
    from kconf.model.cluster_state import ClusterState
    from kconf.operations.history.point_in_time import HistoryRange


class Rollback(NamedTuple):
    """What restores the earlier state; `secrets` have changed and cannot be restored, `notes` name what else cannot."""

    differences: list[Difference]
    secrets: list[Difference]
    notes: list[str]


def plan_rollback(changed: Mapping[ConfigName, HistoryRange], state: ClusterState) -> Rollback:
    """`changed` is what has changed since the earlier time, `state` the present state."""
    planner = _RollbackPlanner(changed, state)
    differences = planner.differences()
    return Rollback(differences, planner.secrets, planner.notes)


class _RollbackPlanner:
    def __init__(self, changed: Mapping[ConfigName, HistoryRange], state: ClusterState) -> None:
        self._changed, self._state, self._values = changed, state, set_values(state)
        self._entries = {
            (resource, entry.name): entry for resource, view in state.configs.items() for entry in view.entries
        }
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
        (resource, key), change = name, changed.first.change
        earlier, now = change.before, self._values.get(name)
        if change.sensitive or (name in self._values and now is None):
            if change.before != changed.last.change.after:
                self.secrets.append(Difference(ChangeKind.CONFIG, resource, "set", key, "", "", sensitive=True))
            return None
        if now == earlier or (resource.type is ResourceType.TOPIC and resource.name not in self._state.topics):
            return None
        entry = self._entries.get(name)
        own = own_source(resource)
        old = now if entry is None else entry.value
        below = None if entry is None else next((each.value for each in entry.synonyms if each.source != own), None)
        op, new = ("set", earlier) if earlier is not None else ("delete", below)
        return Difference(ChangeKind.CONFIG, resource, op, key, now, earlier, old, new, entry.source if entry else None)


def _is_recreated(changed: HistoryRange) -> bool:
    """Whether a topic was created or deleted since: then its present configs have no earlier values."""
    first, last = changed.first.change, changed.last.change
    return first.kind is ChangeKind.TOPIC and {first.op, last.op} != {"grow"}


def _topic_note(changed: HistoryRange) -> str:
    first, last = changed.first.change, changed.last.change
    if first.before is None:
        return f"{first.resource} was made since; a rollback does not delete it"
    if last.after is None:
        return f"{first.resource} was deleted since; it cannot be brought back"
    if "grow" in (first.op, last.op):
        return f"{first.resource} has grown since; partitions cannot be taken away"
    return f"{first.resource} was made anew since; it is left alone"
