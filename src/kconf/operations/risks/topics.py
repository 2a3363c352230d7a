"""Finds risks for topics, from their own values and from inherited values that change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from kconf.configdef.lookup import known_key
from kconf.engine.risks import MIN_INSYNC, OF_TOPICS, Risk, RiskName, state_risks, topic_risks
from kconf.errors import KafkaError
from kconf.model.entry import Source
from kconf.model.resource import Resource, ResourceType
from kconf.operations.planned_change import CONFIG, PlannedChange
from kconf.operations.risks.inheritance import Inheritance, InheritedValue, topic_keys_of

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.configdef.key import ConfigKey

_MOST_NAMED: Final = 3  # topics named in a message
_UNCLEAN: Final = "unclean.leader.election.enable"
_ALWAYS: Final = (RiskName.UNCLEAN_LEADER_ELECTION,)  # at a broker level, whether or not a topic inherits it now


class _Topic(NamedTuple):
    """A topic that inherits a key."""

    name: str
    replicas: int


class TopicRisks:
    """Finds the risks of a plan. Reads the cluster only if a risk depends on it."""

    def __init__(self, admin: SyncAdminClient, changes: Sequence[PlannedChange]) -> None:
        self._admin, self._changes = admin, changes
        self._inheritance = Inheritance(admin)
        self._replicas = self._read_replicas()
        self._inheriting: dict[str, list[_Topic] | None] = {}

    def of(self, change: PlannedChange) -> list[Risk]:
        kind = change.resource.type
        if change.op == "create":
            return self._of_new_topic(change)
        if change.kind != CONFIG or change.unchanged:
            return []
        if kind is ResourceType.TOPIC and change.key in OF_TOPICS:
            return self._of_topic(change)
        if kind is ResourceType.BROKER:
            keys = [each for each in topic_keys_of(change.key) if each.name in OF_TOPICS]
            return [risk for key in keys for risk in self._of_brokers(change, key)]
        return []

    # -- topics ------------------------------------------------------------------------------------------------------

    def _of_topic(self, change: PlannedChange) -> list[Risk]:
        old = None if change.old_unknown else change.old
        if change.key == MIN_INSYNC and _is_above_one(change.new) and change.resource.name not in self._replicas:
            return [Risk(RiskName.MIN_INSYNC_REPLICAS, "the replication factor of the topic is unknown")]
        return topic_risks(change.key, old, change.new, self._replicas.get(change.resource.name))

    def _of_new_topic(self, change: PlannedChange) -> list[Risk]:
        """The risks of a new topic. It has no producers yet that a lower limit would stop."""
        configs = change.shown.get("configs") or {}
        replicas = change.shown.get("replication_factor")
        if not isinstance(replicas, int) or replicas < 1:
            replicas = self._default_replicas()
        risks = state_risks(_UNCLEAN, configs.get(_UNCLEAN), replicas)
        if MIN_INSYNC in configs:
            return risks + state_risks(MIN_INSYNC, configs[MIN_INSYNC], replicas)
        key = known_key(ResourceType.TOPIC, MIN_INSYNC)
        inherited = self._inheritance.of_topics(key) if key is not None else None
        found = [risk for each in inherited or () for risk in state_risks(MIN_INSYNC, each.new, replicas)]
        return risks + found[:1]

    def _default_replicas(self) -> int | None:
        """The default replication factor of new topics, if all brokers have the same."""
        key = known_key(ResourceType.BROKER, "default.replication.factor")
        value = self._inheritance.below(Resource.brokers(), None, key)
        return int(value) if value is not None and value.isdigit() else None

    def _read_replicas(self) -> dict[str, int]:
        """The smallest number of replicas of the topics whose min.insync.replicas would be above 1."""
        names = [
            each.resource.name
            for each in self._changes
            if each.resource.type is ResourceType.TOPIC and each.key == MIN_INSYNC and _is_above_one(each.new)
        ]
        if not names:
            return {}
        try:
            found = self._admin.describe_topics(names)
        except KafkaError:
            return {}
        topics = [found[name] for name in names if name not in found.failures]
        return {each.name: min(len(one.replicas) for one in each.partitions) for each in topics if each.partitions}

    # -- broker levels -----------------------------------------------------------------------------------------------

    def _of_brokers(self, change: PlannedChange, key: ConfigKey) -> list[Risk]:
        """The risks for topics that inherit the key, with some of their names."""
        values = self._inheritance.of_topics(key, self._changes)
        values = [InheritedValue(-1, None, change.new, True)] if values is None else values
        moved = [each for each in values if each.old is None or each.old != each.new]
        found = _risks_at(key.name, moved, None)
        if key.name == MIN_INSYNC and any(_is_above_one(each.new) for each in moved):
            return self._too_few_replicas(key, moved)
        if not found:
            return []
        topics = self._topics_inheriting(key)
        if topics is None:
            return [risk._replace(why=f"{risk.why}; the topics that inherit the value are unknown") for risk in found]
        if not topics:
            found = [risk for risk in found if risk.name in _ALWAYS]
        names = tuple(each.name for each in topics)
        return [risk._replace(why=f"{risk.why}; {_inherited_by(names)}", topics=names) for risk in found]

    def _too_few_replicas(self, key: ConfigKey, moved: Sequence[InheritedValue]) -> list[Risk]:
        topics = self._topics_inheriting(key)
        highest = max(int(each.new) for each in moved if each.new is not None and _is_above_one(each.new))
        if topics is None:
            why = f"{highest} replicas must be in sync; which topics inherit the value, and their replicas, are unknown"
            return [Risk(RiskName.MIN_INSYNC_REPLICAS, why)]
        stopped = [each for each in topics if _risks_at(key.name, moved, each.replicas)]
        if not stopped:
            return []
        names = [f"{each.name} ({each.replicas} replica{'' if each.replicas == 1 else 's'})" for each in stopped]
        why = f"{highest} replicas must be in sync, so producers with acks=all fail; {_inherited_by(names)}"
        return [Risk(RiskName.MIN_INSYNC_REPLICAS, why, topics=tuple(each.name for each in stopped))]

    def _topics_inheriting(self, key: ConfigKey) -> list[_Topic] | None:
        if key.name not in self._inheriting:
            self._inheriting[key.name] = self._read_inheriting(key)
        return self._inheriting[key.name]

    def _read_inheriting(self, key: ConfigKey) -> list[_Topic] | None:
        """The topics that inherit the key after the plan. None if not all of them can be read."""
        try:
            listed = self._admin.list_topics(internal=True)
            resources = [each.resource for each in listed.values()]
            described = self._admin.describe_configs(resources, keys=dict.fromkeys(resources, (key.name,)))
        except KafkaError:
            return None
        if described.failures:
            return None
        planned = {each.resource: each.after for each in self._changes if each.key == key.name and each.kind == CONFIG}
        found = []
        for each in listed.values():
            own = any(one.name == key.name and one.source is Source.TOPIC for one in described[each.resource].entries)
            if each.resource in planned:
                own = planned[each.resource] is not None
            if not own:
                found.append(_Topic(each.name, each.replication))
        return sorted(found)


def _risks_at(key: str, values: Iterable[InheritedValue], replicas: int | None) -> list[Risk]:
    """The risks at any of the brokers, without duplicates."""
    found = [risk for each in values for risk in topic_risks(key, each.old, each.new, replicas)]
    return list({each.name: each for each in found}.values())


def _is_above_one(value: str | None) -> bool:
    return value is not None and value.strip().isdigit() and int(value) > 1


def _inherited_by(names: Sequence[str]) -> str:
    if not names:
        return "no topic inherits the value now"
    shown = ", ".join(names[:_MOST_NAMED])
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    count = "1 topic inherits" if len(names) == 1 else f"{len(names)} topics inherit"
    return f"{count} the value: {shown}{more}"
