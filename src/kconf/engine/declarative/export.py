"""A cluster as files that declare it: what an export writes, and a plan then finds nothing to change in.

Written line by line, so that ten thousand topics take no time and the files look as a person would write them. A secret
is told as set, without its value; a password not at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Final

from kconf.engine.declarative.diff import quota_value
from kconf.engine.declarative.model import Declared, is_operators
from kconf.model.acl import CLUSTER_NAME, AclBinding, AclType, PatternType, Permission
from kconf.model.cluster_state import ClusterState
from kconf.model.entry import Entry, own_source
from kconf.model.quota import USER
from kconf.model.resource import Resource, ResourceType
from kconf.model.scram import Mechanism

Show = Callable[[str, str], str]
"""How a key's value is written: with its unit, say."""

SECTIONS: Final = {
    "brokers": ResourceType.BROKER,
    "groups": ResourceType.GROUP,
    "client-metrics": ResourceType.CLIENT_METRICS,
}
_PLAIN: Final = re.compile(r"[A-Za-z0-9_/][A-Za-z0-9_./-]*")
_SPECIAL: Final = frozenset(["null", "true", "false", "yes", "no", "on", "off", "y", "n"])


def declared_files(reading: ClusterState, declared: Declared, show: Show) -> dict[str, str]:
    """The files by name, of what `declared` selects and does not ignore; a section that is empty has no file."""
    sections: dict[str, Iterable[str]] = {
        "topics": _topics(reading, declared, show),
        **{word: _configs(reading, declared, kind, show) for word, kind in SECTIONS.items()},
        "quotas": _quotas(reading, declared, show),
        "users": _users(reading, declared),
        "acls": _acls(reading, declared),
    }
    files = {}
    for name, lines in sections.items():
        body = list(lines)
        if body:
            files[f"{name}.yaml"] = "\n".join(["version: 1", f"{name}:", *body, ""])
    return files


def quoted(text: str) -> str:
    """A text as YAML reads it back, in quotes where it must."""
    if _PLAIN.fullmatch(text) and text.lower() not in _SPECIAL:
        return text
    escaped = (_ESCAPES.get(each) or (each if each.isprintable() else f"\\U{ord(each):08x}") for each in text)
    return f'"{"".join(escaped)}"'


_ESCAPES: Final = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}


def _topics(reading: ClusterState, declared: Declared, show: Show) -> Iterator[str]:
    for name, shape in sorted(reading.topics.items()):
        resource = Resource(ResourceType.TOPIC, name)
        if shape.internal or not declared.includes(resource):
            continue
        yield f"  {quoted(name)}:"
        yield f"    partitions: {shape.partitions}"
        yield f"    replication: {shape.replication}"
        configs = list(_values(resource, reading, declared, show))
        if configs:
            yield "    configs:"
            yield from (f"      {each}" for each in configs)


def _configs(reading: ClusterState, declared: Declared, kind: ResourceType, show: Show) -> Iterator[str]:
    for resource in sorted(each for each in reading.configs if each.type is kind):
        values = list(_values(resource, reading, declared, show)) if declared.includes(resource) else []
        if values:
            is_default = kind is ResourceType.BROKER and not resource.name
            yield f"  {'default' if is_default else quoted(resource.name)}:"
            yield from (f"    {each}" for each in values)


def _values(resource: Resource, reading: ClusterState, declared: Declared, show: Show) -> Iterator[str]:
    own = own_source(resource)
    view = reading.configs.get(resource)
    for entry in () if view is None else view.entries:
        if entry.source == own and not declared.ignores_key(entry.name):
            yield f"{quoted(entry.name)}: {_value(entry, show)}"


def _value(entry: Entry, show: Show) -> str:
    if entry.sensitive or entry.value is None:
        return "{sensitive: true}"
    return quoted(show(entry.name, entry.value))


def _quotas(reading: ClusterState, declared: Declared, show: Show) -> Iterator[str]:
    for entity, limits in sorted(reading.quotas.items(), key=lambda each: str(each[0])):
        parts: Mapping[str, str | None] = dict(entity.parts)
        if not declared.includes(entity.resource, *(name or "" for name in parts.values())):
            continue
        if is_operators(parts.get(USER) or ""):
            continue
        fields = [f"{kind}-default: true" if name is None else f"{kind}: {quoted(name)}" for kind, name in entity.parts]
        yield f"  - {fields[0]}"
        yield from (f"    {each}" for each in fields[1:])
        yield "    limits:"
        yield from (f"      {key}: {show(key, quota_value(key, value))}" for key, value in sorted(limits.items()))


def _users(reading: ClusterState, declared: Declared) -> Iterator[str]:
    for user, infos in sorted(reading.users.items()):
        known = [each for each in infos if each.mechanism is not Mechanism.UNKNOWN]
        if not known or is_operators(user) or not declared.includes(Resource(ResourceType.SCRAM, user)):
            continue
        yield f"  {quoted(user)}:"
        yield from (f"    {each.mechanism.word}: {{iterations: {each.iterations}}}" for each in known)


def _acls(reading: ClusterState, declared: Declared) -> Iterator[str]:
    """One entry for all that a principal may do to one thing."""

    def rule(binding: AclBinding) -> tuple[str, int, int, str, int, str]:
        kind, name, principal, _, permission, pattern, host = binding
        return principal, int(kind), int(pattern), name, int(permission), host

    resource = Resource(ResourceType.ACL, "")
    for _, same in groupby(sorted(reading.acls, key=lambda each: (rule(each), each.operation.name)), key=rule):
        bindings = list(same)
        first = bindings[0]
        if is_operators(first.principal.partition(":")[2]) or not declared.includes(resource, first.principal):
            continue
        yield f"  - principal: {quoted(first.principal)}"
        yield f"    resource: {quoted(_acl_resource(first))}"
        if first.pattern is PatternType.PREFIXED:
            yield "    pattern: prefixed"
        yield f"    operations: [{', '.join(each.operation.name for each in bindings)}]"
        if first.permission is Permission.DENY:
            yield "    permission: deny"
        if first.host != "*":
            yield f"    host: {quoted(first.host)}"


def _acl_resource(binding: AclBinding) -> str:
    word = binding.resource_type.name.lower().replace("_", "-")
    is_cluster = binding.resource_type is AclType.CLUSTER and binding.name == CLUSTER_NAME
    return word if is_cluster else f"{word}:{binding.name}"
