"""Records changes of configs. The values before a change are read from the cluster.

A change is recorded as in a server's journal. A value that cannot be read is recorded as not set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kconf.client.calls.configs import AlterConfigs, DescribeConfigs, DescribedConfigs, IncrementalAlterConfigs
from kconf.client.journal.base import UNREADABLE, CallSequence, ItemChange, PlannedChangesRecorder
from kconf.configdef.key import ConfigKey
from kconf.errors import KafkaError
from kconf.model.alteration import AlterConfigOp, OpType
from kconf.model.entry import Entry, ValueType, own_source
from kconf.model.journal import Change, ChangeKind
from kconf.model.resource import Resource, ResourceType


class IncrementalAlterConfigsRecorder(PlannedChangesRecorder):
    def __init__(self, call: IncrementalAlterConfigs) -> None:
        self.alterations = call.alterations

    def before(self) -> CallSequence[list[ItemChange]]:
        keys = {resource: [each.key for each in ops] for resource, ops in self.alterations.items()}
        entries = yield from read_entries(keys, keys)
        found = []
        for resource, ops in self.alterations.items():
            for each in ops:
                change = config_change(resource, each, entries.get(resource, {}).get(each.key))
                if change is not None:
                    found.append(ItemChange(resource, change))
        return found


class AlterConfigsRecorder(PlannedChangesRecorder):
    """Records AlterConfigs, which removes keys that are not given."""

    def __init__(self, call: AlterConfigs) -> None:
        self.configs = call.configs

    def before(self) -> CallSequence[list[ItemChange]]:
        described = yield from read_entries(self.configs)
        found = []
        for resource, wanted in self.configs.items():
            entries = described.get(resource, {})
            ops = [AlterConfigOp(OpType.SET, key, value) for key, value in wanted.items()]
            own = own_source(resource)
            removed = [name for name, entry in entries.items() if entry.source == own and name not in wanted]
            ops += [AlterConfigOp(OpType.DELETE, name) for name in removed]
            changes = [config_change(resource, each, entries.get(each.key)) for each in ops]
            found += [ItemChange(resource, each) for each in changes if each is not None]
        return found


def read_entries(
    resources: Mapping[Resource, object], keys: Mapping[Resource, Sequence[str]] | None = None
) -> CallSequence[dict[Resource, dict[str, Entry]]]:
    """The entries of resources by name, without resources that cannot be read."""
    try:
        views: DescribedConfigs = yield DescribeConfigs(resources, keys=keys)
    except KafkaError:
        return {}
    return {
        resource: {entry.name: entry for entry in views[resource].entries}
        for resource in views
        if resource not in views.failures
    }


def config_change(resource: Resource, op: AlterConfigOp, entry: Entry | None) -> Change | None:
    """The change that an operation would make, or None if it changes nothing."""
    is_own = entry is not None and entry.source == own_source(resource)
    key = _key(resource.type, op.key, entry)
    sensitive = entry.sensitive if entry is not None else key is None or key.sensitive
    before = (entry.value or UNREADABLE if sensitive else entry.value) if entry is not None and is_own else None
    after = _after(op, key, before)
    if before == after and not sensitive:
        return None
    return Change(ChangeKind.CONFIG, resource, op.key, before, after, OpType(op.op).name.lower(), sensitive)


def _after(op: AlterConfigOp, key: ConfigKey | None, before: str | None) -> str | None:
    if op.op == OpType.DELETE:
        return None
    if op.op == OpType.SET:
        return op.value
    from kconf.engine.configs.list_ops import combined

    try:
        return combined(op.op, key, op.key, before, op.value or "")
    except KafkaError:
        return op.value  # the cluster will refuse the operation


def _key(kind: ResourceType, name: str, entry: Entry | None) -> ConfigKey | None:
    from kconf.configdef.catalog import kafka_43

    found = kafka_43().of(kind).get(name)
    if found is None and entry is not None and entry.type is not ValueType.UNKNOWN:
        return ConfigKey(name=name, type=entry.type)
    return found
