"""Resolves the value that a resource inherits, in the unit of its key, for OLD, NEW and the data-loss checks.

The synonyms in DescribeConfigs are not enough. A key with several broker keys (retention.ms: log.retention.ms,
log.retention.minutes, log.retention.hours) has no synonyms for the later ones unless the first is set, and the cluster
default has none at all. Then the configs of the brokers are read. A value that they do not show, or that differs among
them, is unknown (None).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from kconf.configdef.key import BrokerFallback
from kconf.configdef.lookup import keys_for, known_key
from kconf.errors import KafkaError
from kconf.model.entry import Entry, Source, own_source
from kconf.model.journal import ChangeKind
from kconf.model.resource import Resource, ResourceType

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.configdef.key import ConfigKey
    from kconf.engine.declarative.diff import Difference
    from kconf.model.entry import View
    from kconf.operations.planned_change import PlannedChange

_FROM_FILE: Final = (Source.STATIC, Source.DEFAULT)
_LEVELS: Final = (Source.BROKER, Source.DEFAULT_BROKER, *_FROM_FILE)


class EffectiveValue(NamedTuple):
    """A value in the unit of the requested key, and the key that it comes from."""

    value: str | None
    key: str = ""


_UNKNOWN: Final = EffectiveValue(None)


class Inheritance:
    """Resolves inherited values. Reads brokers once per key, and only if the synonyms are not enough."""

    def __init__(self, admin: SyncAdminClient) -> None:
        self._admin = admin
        self._nodes: list[int] | None = None
        self._views: dict[str, dict[int, View] | None] = {}

    def below(self, resource: Resource, entry: Entry | None, key: ConfigKey | None) -> str | None:
        """The effective value without the resource's own override."""
        return self.below_with_key(resource, entry, key).value

    def below_with_key(self, resource: Resource, entry: Entry | None, key: ConfigKey | None) -> EffectiveValue:
        own = own_source(resource)
        if entry is not None and entry.source != own and entry.value is not None:
            return EffectiveValue(entry.value, entry.name)
        synonyms = entry.synonyms if entry is not None else ()
        synonym = next((each for each in synonyms if each.source != own and each.value is not None), None)
        if synonym is not None:
            return EffectiveValue(_converted(synonym.value, synonym.name, key), synonym.name)
        match resource.type:
            case ResourceType.BROKER:
                return _UNKNOWN if key is None else self._at_brokers(resource, key)
            case ResourceType.TOPIC | ResourceType.GROUP if key is not None and key.fallbacks:
                return self._at_brokers(resource, key) if entry is not None else _UNKNOWN
            case _:
                return EffectiveValue(key.default, key.name) if key is not None and synonyms else _UNKNOWN

    def effective(self, resource: Resource, entry: Entry | None, key: ConfigKey | None) -> str | None:
        """The effective value of a resource."""
        return self.effective_with_key(resource, entry, key).value

    def effective_with_key(self, resource: Resource, entry: Entry | None, key: ConfigKey | None) -> EffectiveValue:
        if entry is not None and entry.value is not None:
            return EffectiveValue(entry.value, entry.name)
        return self.below_with_key(resource, entry, key)

    def _at_brokers(self, resource: Resource, key: ConfigKey) -> EffectiveValue:
        """The value of all brokers, or of the named one, at the levels below the resource."""
        levels: Sequence[Source] = _LEVELS
        only = ""
        if resource.type is ResourceType.BROKER:
            only = resource.name
            levels = (Source.DEFAULT_BROKER, *_FROM_FILE) if only else _FROM_FILE
        found = self._described(key)
        if found is None:
            return _UNKNOWN
        views = [view for node, view in found.items() if not only or str(node) == only]
        values = {_value_at(view, key, levels) for view in views}
        same = {each.value for each in values}
        return min(values) if len(same) == 1 and None not in same else _UNKNOWN

    def of_topics(self, key: ConfigKey, changes: Iterable[PlannedChange] = ()) -> list[InheritedValue] | None:
        """The values that topics inherit from each broker, before and after broker-level changes. None if unknown."""
        found = self._described(key)
        if found is None:
            return None
        planned = [each for each in changes if each.resource.type is ResourceType.BROKER]
        return [_inherited(node, view, key, planned) for node, view in found.items()]

    @property
    def nodes(self) -> list[int]:
        if self._nodes is None:
            self._nodes = sorted(self._admin.describe_cluster().nodes)
        return self._nodes

    def _described(self, key: ConfigKey) -> dict[int, View] | None:
        if key.name not in self._views:
            self._views[key.name] = self._describe([each.name for each in _aliases(key)])
        return self._views[key.name]

    def _describe(self, names: Sequence[str]) -> dict[int, View] | None:
        try:
            brokers = {node: Resource.broker(node) for node in self.nodes}
            described = self._admin.describe_configs(
                brokers.values(), keys=dict.fromkeys(brokers.values(), names), synonyms=True
            )
        except KafkaError:
            return None
        return None if described.failures else {node: described[each] for node, each in brokers.items()}


class InheritedValue(NamedTuple):
    """The value that topics inherit from one broker, before and after. `is_dynamic`: the new one is dynamic."""

    node: int
    old: str | None
    new: str | None
    is_dynamic: bool


def _inherited(node: int, view: View, key: ConfigKey, changes: Iterable[PlannedChange]) -> InheritedValue:
    from kconf.configdef.catalog import kafka_43
    from kconf.engine.configs.resolver import ConfigResolver

    levels = _levels(view, key)
    default = _value_at(view, key, (Source.DEFAULT,)).value or key.default
    old = ConfigResolver(kafka_43(), levels[Source.STATIC], levels[Source.DEFAULT_BROKER], levels[Source.BROKER])
    everywhere, here = dict(old.everywhere), dict(old.here)
    names = {each.name for each in _aliases(key)}
    for each in changes:
        if each.key in names and each.resource.name in ("", str(node)):
            level = here if each.resource.name else everywhere
            level.pop(each.key, None)
            if each.after is not None:
                level[each.key] = each.after
    new = ConfigResolver(old.catalog, old.static, everywhere, here)

    def value(resolver: ConfigResolver) -> str | None:
        return resolver.inherited_value(key) if names & resolver.effective.keys() else default

    return InheritedValue(node, value(old), value(new), bool(names & (everywhere.keys() | here.keys())))


def _levels(view: View, key: ConfigKey) -> dict[Source, dict[str, str]]:
    """The values that a broker has for a key and its aliases, by level."""
    levels: dict[Source, dict[str, str]] = {each: {} for each in _LEVELS}
    names = {each.name for each in _aliases(key)}
    for entry in view.entries:
        own = [(each.source, each.value) for each in entry.synonyms if each.name == entry.name]
        for source, value in own if entry.synonyms else [(entry.source, entry.value)]:
            if entry.name in names and source in levels and value is not None:
                levels[source].setdefault(entry.name, value)
    return levels


def topic_keys_of(broker_key: str) -> list[ConfigKey]:
    """The topic keys that inherit from a broker key."""
    found = keys_for(ResourceType.TOPIC).values()
    return [each for each in found if any(fallback.name == broker_key for fallback in each.fallbacks)]


def with_inherited(admin: SyncAdminClient, found: Sequence[Difference]) -> list[Difference]:
    """Adds effective values that DescribeConfigs does not return: the value after a key is unset, and the value before
    a key is set on brokers.
    """
    unclear = [each for each in found if _is_unclear(each)]
    if not unclear:
        return list(found)
    keys: dict[Resource, list[str]] = {}
    for each in unclear:
        keys.setdefault(each.resource, []).append(each.key)
    described = admin.describe_configs(keys, keys=keys, synonyms=True)
    entries = {
        (resource, entry.name): entry
        for resource in keys
        if resource not in described.failures
        for entry in described[resource].entries
    }
    inheritance = Inheritance(admin)

    def resolved(each: Difference) -> Difference:
        entry, key = entries.get((each.resource, each.key)), known_key(each.resource.type, each.key)
        if each.op == "delete":
            new = inheritance.below_with_key(each.resource, entry, key)
            return each._replace(new=new.value, new_key=other_key(each.resource, each.key, new))
        old = inheritance.effective_with_key(each.resource, entry, key)
        return each._replace(old=old.value, old_key=other_key(each.resource, each.key, old))

    return [resolved(each) if _is_unclear(each) else each for each in found]


def _is_unclear(each: Difference) -> bool:
    if each.kind is not ChangeKind.CONFIG or each.sensitive:
        return False
    if each.resource.type is ResourceType.BROKER:
        return (each.new if each.op == "delete" else each.old) is None or has_aliases(each.resource, each.key)
    return each.op == "delete" and has_aliases(each.resource, each.key)


def other_key(resource: Resource, key: str, found: EffectiveValue) -> str:
    """The broker key that a value comes from, if it is not the requested one, for example log.retention.hours."""
    is_other = resource.type is ResourceType.BROKER and found.value is not None and found.key != key
    return found.key if is_other else ""


def has_aliases(resource: Resource, name: str) -> bool:
    """Whether a key has an alias in another unit."""
    key = known_key(resource.type, name)
    return key is not None and len(key.fallbacks) > 1


def _aliases(key: ConfigKey) -> Iterable[BrokerFallback]:
    return key.fallbacks or (BrokerFallback(key.name),)


def _value_at(view: View, key: ConfigKey, levels: Sequence[Source]) -> EffectiveValue:
    """The value at the highest level that a broker shows; aliases are in order of precedence."""
    entries = {entry.name: entry for entry in view.entries}
    for alias in _aliases(key):
        entry = entries.get(alias.name)
        if entry is None:
            continue
        told = [each.value for each in entry.synonyms if each.source in levels and each.name == alias.name]
        if not entry.synonyms and entry.source in levels:
            told = [entry.value]
        value = next((each for each in told if each is not None), None)
        if value is not None:
            return EffectiveValue(_converted(value, alias.name, key), alias.name)
    return _UNKNOWN


def _converted(value: str | None, name: str, key: ConfigKey | None) -> str | None:
    """The value of an alias in the unit of the key; None if it is not a whole number. -1 is unlimited in any unit."""
    factors = {} if key is None else {each.name: each.factor for each in _aliases(key)}
    factor, own = factors.get(name, 1), 1 if key is None else factors.get(key.name, 1)
    if factor == own or value is None:
        return value
    try:
        number = int(value)
    except ValueError:
        return None
    if number <= 0:
        return value
    whole, rest = divmod(number * factor, own)
    return str(whole) if not rest else None
