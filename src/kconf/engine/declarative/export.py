"""Writes a cluster as declarative files, for which a plan finds no differences.

A sensitive value is written as set, without its value; passwords are not written. What could not be read is marked, so
that pruning ignores it: a topic as `unmanaged: ["*"]`, anything else as `ignore` in a separate file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from kconf.engine.declarative.diff import quota_value
from kconf.engine.declarative.model import Declared, is_operators
from kconf.model.acl import CLUSTER_NAME, AclBinding, AclType, PatternType, Permission
from kconf.model.cluster_state import ClusterState, MissingPart
from kconf.model.entry import Entry, own_source
from kconf.model.quota import USER
from kconf.model.resource import Resource, ResourceType
from kconf.model.scram import Mechanism
from kconf.util.yaml.writer import Flow, YamlValue, to_yaml

Show = Callable[[str, str], str]
"""Formats the value of a key, for example with its unit."""

_SCOPE_OF_PART: Final = {
    "topics": "topic",
    "brokers": "broker",
    "groups": "group",
    "quotas": "quota",
    "users": "user",
    "acls": "acl",
}
"""The scope to ignore if a whole section could not be read."""

SECTIONS: Final = {
    "brokers": ResourceType.BROKER,
    "groups": ResourceType.GROUP,
    "client-metrics": ResourceType.CLIENT_METRICS,
}


def declared_files(reading: ClusterState, declared: Declared, show: Show) -> dict[str, str]:
    """The files by name, with everything that `declared` selects and does not ignore; empty sections have no file."""
    sections: dict[str, YamlValue] = {
        "topics": dict(_topics(reading, declared, show)),
        **{word: dict(_configs(reading, declared, kind, show)) for word, kind in SECTIONS.items()},
        "quotas": list(_quotas(reading, declared, show)),
        "users": dict(_users(reading, declared)),
        "acls": list(_acls(reading, declared)),
    }
    files = {f"{name}.yaml": to_yaml({"version": 1, name: section}) for name, section in sections.items() if section}
    unread = [each for each in reading.missing if not each.is_absent]
    return {**files, "unread.yaml": _unread_file(unread)} if unread else files


def _unread_file(unread: Sequence[MissingPart]) -> str:
    """Comments on what could not be read, and why; `ignore` lists what is not marked in another file."""
    scopes = [each for each in map(_scope, unread) if each]
    document: dict[str, YamlValue] = {"version": 1, **({"ignore": scopes} if scopes else {})}
    reasons = [f"# {' '.join(each.what.split())}: {each.failure.code.name}\n" for each in unread]
    head, _, rest = to_yaml(document).partition("\n")
    return "".join([f"{head}\n", "# This export could not read the following; --prune ignores it:\n", *reasons, rest])


def _scope(unread: MissingPart) -> str:
    """The scope to ignore for an unreadable part; empty for a topic, which is marked where it is declared."""
    word, colon, name = unread.what.partition(":")
    if not colon:
        return _SCOPE_OF_PART.get(word, word)
    return "" if word == "topic" else f"{word}:{_literal(name)}"


def _literal(name: str) -> str:
    """A pattern that matches only this name."""
    escaped = re.sub(r"([*?[])", r"[\1]", name)
    return f"[/]{escaped[1:]}" if escaped.startswith("/") else escaped


def _topics(reading: ClusterState, declared: Declared, show: Show) -> Iterator[tuple[str, YamlValue]]:
    unread = {each.what for each in reading.missing if not each.is_absent}
    for name, shape in sorted(reading.topics.items()):
        resource = Resource(ResourceType.TOPIC, name)
        if shape.internal or not declared.includes(resource):
            continue
        topic: dict[str, YamlValue] = {"partitions": shape.partitions, "replication": shape.replication}
        configs = dict(_values(resource, reading, declared, show))
        if configs:
            topic["configs"] = configs
        if unread & {"topics", str(resource)}:
            topic["unmanaged"] = Flow(["*"])
        yield name, topic


def _configs(
    reading: ClusterState, declared: Declared, kind: ResourceType, show: Show
) -> Iterator[tuple[str, YamlValue]]:
    for resource in sorted(each for each in reading.configs if each.type is kind):
        if not declared.includes(resource):
            continue
        values = dict(_values(resource, reading, declared, show))
        if values or kind is ResourceType.BROKER:  # so that an override which someone adds to a broker is drift
            is_default = kind is ResourceType.BROKER and not resource.name
            yield "default" if is_default else resource.name, values


def _values(
    resource: Resource, reading: ClusterState, declared: Declared, show: Show
) -> Iterator[tuple[str, YamlValue]]:
    own = own_source(resource)
    view = reading.configs.get(resource)
    for entry in () if view is None else view.entries:
        if entry.source == own and not declared.leaves_key(resource, entry.name):
            yield entry.name, _value(entry, show)


def _value(entry: Entry, show: Show) -> YamlValue:
    if entry.sensitive or entry.value is None:
        return Flow({"sensitive": True})
    return show(entry.name, entry.value)


def _quotas(reading: ClusterState, declared: Declared, show: Show) -> Iterator[YamlValue]:
    for entity, limits in sorted(reading.quotas.items(), key=lambda each: str(each[0])):
        parts: Mapping[str, str | None] = dict(entity.parts)
        if not declared.includes(entity.resource, *(name or "" for name in parts.values())):
            continue
        if is_operators(parts.get(USER) or ""):
            continue
        quota: dict[str, YamlValue] = {}
        for kind, name in entity.parts:
            quota.update({f"{kind}-default": True} if name is None else {kind: name})
        quota["limits"] = {key: show(key, quota_value(key, value)) for key, value in sorted(limits.items())}
        yield quota


def _users(reading: ClusterState, declared: Declared) -> Iterator[tuple[str, YamlValue]]:
    for user, infos in sorted(reading.users.items()):
        known = [each for each in infos if each.mechanism is not Mechanism.UNKNOWN]
        if not known or is_operators(user) or not declared.includes(Resource(ResourceType.SCRAM, user)):
            continue
        yield user, {each.mechanism.word: Flow({"iterations": each.iterations}) for each in known}


def _acls(reading: ClusterState, declared: Declared) -> Iterator[YamlValue]:
    """One entry for all operations of a principal on one resource."""

    def rule(binding: AclBinding) -> tuple[str, int, int, str, int, str]:
        kind, name, principal, _, permission, pattern, host = binding
        return principal, int(kind), int(pattern), name, int(permission), host

    resource = Resource(ResourceType.ACL, "")
    for _, same in groupby(sorted(reading.acls, key=lambda each: (rule(each), each.operation.name)), key=rule):
        bindings = list(same)
        first = bindings[0]
        if is_operators(first.principal.partition(":")[2]) or not declared.includes(resource, first.principal):
            continue
        acl: dict[str, YamlValue] = {"principal": first.principal, "resource": _acl_resource(first)}
        if first.pattern is PatternType.PREFIXED:
            acl["pattern"] = "prefixed"
        acl["operations"] = Flow([each.operation.name for each in bindings])
        if first.permission is Permission.DENY:
            acl["permission"] = "deny"
        if first.host != "*":
            acl["host"] = first.host
        yield acl


def _acl_resource(binding: AclBinding) -> str:
    word = binding.resource_type.name.lower().replace("_", "-")
    is_cluster = binding.resource_type is AclType.CLUSTER and binding.name == CLUSTER_NAME
    return word if is_cluster else f"{word}:{binding.name}"
