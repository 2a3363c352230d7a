"""Compares a declaration with a cluster: the changes that would make the cluster match the files.

Values are compared by meaning: `7d` equals 604800000, ` a, b` equals `a,b`, and a value that is inherited anyway need
not be set. Undeclared values are not changed; prune.py finds what to remove.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from json import dumps
from typing import NamedTuple

from kconf.configdef.java.parsing import parse
from kconf.configdef.key import ConfigDef
from kconf.configdef.validators import collapse
from kconf.engine.access.acls import key_of, pattern_of
from kconf.engine.declarative.model import Declared, DesiredConfigs, DesiredTopic, SecretSource, SourceLocation
from kconf.engine.quotas.alter import QUOTA_KEYS, quota_text
from kconf.errors import InvalidRequest
from kconf.model.cluster_state import ClusterState, TopicShape
from kconf.model.entry import Entry, Source, ValueType, View, own_source
from kconf.model.journal import ChangeKind
from kconf.model.resource import Resource, ResourceType
from kconf.util.yaml.reader import suggestion

KeysOf = Callable[[ResourceType], ConfigDef]


class Difference(NamedTuple):
    """A change that would make the cluster match the files, with the fields of a journal line.

    `before` and `after` are the values set on the resource itself, `old` and `new` the effective ones. Secrets are
    never included: for a credential the iterations are shown. `trouble` is the reason if the change cannot be made.
    `old_key` and `new_key` are the keys that `old` and `new` come from, if that is another key in another unit.
    """

    kind: ChangeKind
    resource: Resource
    op: str
    key: str
    before: str | None
    after: str | None
    old: str | None = None
    new: str | None = None
    source: Source | None = None
    place: SourceLocation | None = None
    sensitive: bool = False
    secret: SecretSource | None = None
    pruned: bool = False
    trouble: str = ""
    old_key: str = ""
    new_key: str = ""


class Differences(NamedTuple):
    """All differences by resource, and a sentence for each thing that cannot be compared."""

    found: list[Difference]
    notes: list[str]


def differences(declared: Declared, reading: ClusterState, keys: KeysOf) -> Differences:
    """The changes that would make the cluster match the files, in an order in which they can be made."""
    compared = _Compared(declared, reading, keys)
    parts = (compared.topics(), compared.configs(), compared.quotas(), compared.users(), compared.acls())
    return Differences([each for part in parts for each in part], compared.notes)


def same(kind: ValueType, one: str | None, other: str | None) -> bool:
    """Whether two strings are the same value of a type."""
    if one == other:
        return True
    if one is None or other is None:
        return False
    try:
        return collapse(parse(kind, one)) == collapse(parse(kind, other))
    except ValueError:
        return False


def quota_value(key: str, value: float) -> str:
    """A quota as it is stored."""
    try:
        return quota_text(QUOTA_KEYS[key], value, fractions=True)
    except (KeyError, InvalidRequest):
        return repr(value)


@lru_cache(maxsize=1024)
def shape_text(partitions: int | None, replication: int | None) -> str:
    """A topic's partitions and replicas, as shown in a plan; None: the cluster's default."""
    return dumps({"partitions": partitions, "replication": replication}, separators=(",", ":"))


class _Compared:
    """A declaration compared with a cluster."""

    def __init__(self, declared: Declared, reading: ClusterState, keys: KeysOf) -> None:
        self.declared, self.reading = declared, reading
        self.notes: list[str] = []
        self._keys_of = keys
        self._entries: dict[int, dict[str, Entry]] = {}

    def topics(self) -> Iterator[Difference]:
        for name, wanted in self.declared.topics.items():
            shape = self.reading.topics.get(name)
            resource = Resource(ResourceType.TOPIC, name)
            if shape is None:
                after = shape_text(wanted.partitions, wanted.replication)
                yield Difference(ChangeKind.TOPIC, resource, "create", "", None, after, place=wanted.place)
            elif (wanted.partitions or shape.partitions, wanted.replication or shape.replication) != shape[1:3]:
                yield _reshaped(resource, wanted, shape)

    def configs(self) -> Iterator[Difference]:
        for resource, wanted in self.declared.configs.items():
            view = self.reading.configs.get(resource)
            if view is None and resource.type is ResourceType.TOPIC and resource.name not in self.declared.topics:
                continue  # reported as missing
            entries = self._by_name(view)
            own = own_source(resource)
            for key, value in wanted.items():
                found = self._config(resource, own, key, value, entries.get(key), view)
                if found is not None:
                    yield found

    def _config(
        self, resource: Resource, own: Source, key: str, wanted: DesiredConfigs, entry: Entry | None, view: View | None
    ) -> Difference | None:
        is_own = entry is not None and entry.source == own
        if wanted.text is None or (entry is not None and entry.sensitive):
            return self._secret(resource, key, wanted, entry, is_own)
        if entry is not None and same(type_of(resource, entry, self._keys_of), entry.value, wanted.text):
            return None
        trouble = ""
        if entry is None and view is not None and resource.type is ResourceType.TOPIC:
            known = self._keys_of(ResourceType.TOPIC)
            trouble = f"this cluster does not know the topic key {key!r}{suggestion(key, known)}"
        before = entry.value if entry is not None and is_own else None
        old, source = (None, None) if entry is None else (entry.value, entry.source)
        made = Difference(ChangeKind.CONFIG, resource, "set", key, before, wanted.text, old, wanted.text, source)
        return made._replace(place=wanted.place, trouble=trouble)

    def _secret(
        self, resource: Resource, key: str, wanted: DesiredConfigs, entry: Entry | None, is_own: bool
    ) -> Difference | None:
        """The comparison of a secret: only whether it is set is known."""
        if is_own:
            if wanted.text is not None:
                hidden = "the cluster does not show the current value, so it is neither compared nor changed"
                self.notes.append(f"{resource} {key}: {hidden}")
            return None
        trouble = "" if wanted.secret or wanted.text else f"{key} is not set, and the file has no valueFrom for it"
        made = plain_difference(resource, "set", key, None, wanted.text, wanted.place)
        source = None if entry is None else entry.source
        return made._replace(source=source, sensitive=True, secret=wanted.secret, trouble=trouble)

    def quotas(self) -> Iterator[Difference]:
        for entity, limits in self.declared.quotas.items():
            there = self.reading.quotas.get(entity, {})
            for key, wanted in limits.items():
                value = there.get(key)
                if value is None or wanted.text is None or value != float(wanted.text):
                    before = None if value is None else quota_value(key, value)
                    yield plain_difference(entity.resource, "set", key, before, wanted.text, wanted.place)

    def users(self) -> Iterator[Difference]:
        for user, mechanisms in self.declared.users.items():
            resource = Resource(ResourceType.SCRAM, user)
            there = {each.mechanism: each.iterations for each in self.reading.users.get(user, ())}
            for mechanism, wanted in mechanisms.items():
                iterations = there.get(mechanism)
                if iterations is not None and wanted.iterations in (None, iterations):
                    continue
                before = None if iterations is None else iterations_text(iterations)
                after = iterations_text(wanted.iterations)
                trouble = "" if wanted.secret else "the file has no passwordFrom for this credential"
                made = plain_difference(resource, "set", mechanism.word, before, after, wanted.place)
                yield made._replace(sensitive=True, secret=wanted.secret, trouble=trouble)

    def acls(self) -> Iterator[Difference]:
        there = set(self.reading.acls)
        for binding, place in self.declared.acls.items():
            if binding not in there:
                yield plain_difference(pattern_of(binding).resource, "set", key_of(binding), None, "", place)

    def _by_name(self, view: View | None) -> Mapping[str, Entry]:
        """Computed once per View: topics with the same overrides share one."""
        if view is None:
            return {}
        found = self._entries.get(id(view))
        if found is None:
            found = self._entries[id(view)] = {entry.name: entry for entry in view.entries}
        return found


def type_of(resource: Resource, entry: Entry, keys: KeysOf) -> ValueType:
    """From the cluster, or from the catalog if the cluster is too old to report it."""
    if entry.type is not ValueType.UNKNOWN:
        return entry.type
    known = keys(resource.type).get(entry.name)
    return known.type if known is not None else ValueType.STRING


def _reshaped(resource: Resource, wanted: DesiredTopic, shape: TopicShape) -> Difference:
    partitions, replication = wanted.partitions or shape.partitions, wanted.replication or shape.replication
    trouble = ""
    if partitions < shape.partitions:
        trouble = f"partitions cannot be removed: the topic has {shape.partitions}"
    elif replication != shape.replication:
        trouble = (
            f"its replication factor is {shape.replication}: change it with a partition reassignment, not with a plan"
        )
    before, after = shape_text(shape.partitions, shape.replication), shape_text(partitions, replication)
    return Difference(ChangeKind.TOPIC, resource, "grow", "", before, after, place=wanted.place, trouble=trouble)


def plain_difference(
    resource: Resource, op: str, key: str, before: str | None, after: str | None, place: SourceLocation | None = None
) -> Difference:
    """For quotas, credentials and ACLs, which inherit nothing: the value that is set is the effective one."""
    return Difference(ChangeKind.CONFIG, resource, op, key, before, after, before, after, place=place)


def iterations_text(count: int | None) -> str:
    """A credential as it is shown in a plan."""
    return "iterations=4096" if count is None else f"iterations={count}"
