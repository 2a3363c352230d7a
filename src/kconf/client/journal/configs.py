"""How each kind of call is recorded: what it would change, read from the cluster; here, configs.

A line tells a change as a server's journal does. What may not be read is told as not set, since nothing else is known.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from kconf.client.calls.base import Call
from kconf.client.calls.configs import AlterConfigs, DescribeConfigs, DescribeConfigsResult, IncrementalAlterConfigs
from kconf.configdef.key import ConfigKey
from kconf.errors import KafkaError
from kconf.model.alteration import AlterConfigOp, OpType
from kconf.model.entry import Entry, ValueType, own_source
from kconf.model.journal import Change, ChangeKind
from kconf.model.resource import Resource, ResourceType

T = TypeVar("T")

Script = Generator[Call[Any, Any, Any], Any, T]
"""Yields the calls that shall be made, and is sent their results."""

UNSEEN = "unseen"
"""Stands for a secret that is set and that nobody is shown; its keyed hash tells nothing."""


class Begun(NamedTuple):
    """A change that is about to be asked for, and the item of the call that it belongs to."""

    item: Hashable
    change: Change


class Recorder(Protocol):
    """How one kind of call is recorded."""

    def before(self) -> Script[list[Begun]]:
        """What the call would change."""

    def after(self, done: Sequence[Begun], result: Any) -> Script[list[Change]]:
        """What it has changed, where that is known better now, by what the call gave."""


class Known:
    """A recorder for calls of which all is known beforehand."""

    def after(self, done: Sequence[Begun], result: Any) -> Script[list[Change]]:
        yield from ()
        return [each.change for each in done]


class AlteredConfigs(Known):
    """Key by key."""

    def __init__(self, call: IncrementalAlterConfigs) -> None:
        self.wishes = call.alterations

    def before(self) -> Script[list[Begun]]:
        keys = {resource: [each.key for each in wishes] for resource, wishes in self.wishes.items()}
        entries = yield from described(keys, keys)
        found = []
        for resource, wishes in self.wishes.items():
            for each in wishes:
                change = altered(resource, each, entries.get(resource, {}).get(each.key))
                if change is not None:
                    found.append(Begun(resource, change))
        return found


class ReplacedConfigs(Known):
    """All values of a resource together: what is not mentioned goes."""

    def __init__(self, call: AlterConfigs) -> None:
        self.configs = call.configs

    def before(self) -> Script[list[Begun]]:
        every = yield from described(self.configs)
        found = []
        for resource, wanted in self.configs.items():
            entries = every.get(resource, {})
            wishes = [AlterConfigOp(OpType.SET, key, value) for key, value in wanted.items()]
            own = own_source(resource)
            gone = [name for name, entry in entries.items() if entry.source == own and name not in wanted]
            wishes += [AlterConfigOp(OpType.DELETE, name) for name in gone]
            changes = [altered(resource, each, entries.get(each.key)) for each in wishes]
            found += [Begun(resource, each) for each in changes if each is not None]
        return found


def described(
    resources: Mapping[Resource, object], keys: Mapping[Resource, Sequence[str]] | None = None
) -> Script[dict[Resource, dict[str, Entry]]]:
    """The entries of resources by name, as far as they may be read."""
    try:
        views: DescribeConfigsResult = yield DescribeConfigs(resources, keys=keys)
    except KafkaError:
        return {}
    return {
        resource: {entry.name: entry for entry in views[resource].entries}
        for resource in views
        if resource not in views.failures
    }


def altered(resource: Resource, wish: AlterConfigOp, entry: Entry | None) -> Change | None:
    """The line that a wish would leave behind; None where it changes nothing."""
    is_own = entry is not None and entry.source == own_source(resource)
    key = _key(resource.type, wish.key, entry)
    sensitive = entry.sensitive if entry is not None else key is None or key.sensitive
    before = (entry.value or UNSEEN if sensitive else entry.value) if entry is not None and is_own else None
    after = _after(wish, key, before)
    if before == after and not sensitive:
        return None
    op = OpType(wish.op).name.lower()
    return Change(ChangeKind.CONFIG, resource, wish.key, before, after, op, sensitive)


def _after(wish: AlterConfigOp, key: ConfigKey | None, before: str | None) -> str | None:
    if wish.op == OpType.DELETE:
        return None
    if wish.op == OpType.SET:
        return wish.value
    from kconf.engine.configs.list_ops import combined

    try:
        return combined(wish.op, key, wish.key, before, wish.value or "")
    except KafkaError:
        return wish.value  # the cluster will refuse it, too


def _key(kind: ResourceType, name: str, entry: Entry | None) -> ConfigKey | None:
    from kconf.configdef.catalog import kafka_43

    found = kafka_43().of(kind).get(name)
    if found is None and entry is not None and entry.type is not ValueType.UNKNOWN:
        return ConfigKey(name=name, type=entry.type)
    return found
