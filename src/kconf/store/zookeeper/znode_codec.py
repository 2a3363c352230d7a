"""Reads and writes the content of znodes: Kafka's JSON documents, validated when read.

A document written by kconf has an additional field, `kconf`, its stamp: the revision of the last change of each
resource in it. Brokers ignore the field and drop it with their next write; this is how an external change is detected.
A running broker skips what it cannot parse, but does not start with such a znode. So only strings are written, and
values in external documents are validated. Numbers and booleans are read as text, since KIP-21 writes quotas as
numbers. Invalid values are reported and never written again; the previous values stay in effect (`retaining`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, Final, NamedTuple

from kconf.configdef.key import ConfigDef
from kconf.configdef.quota import CLIENT_QUOTA, IP_QUOTA, SCRAM, USER_QUOTA
from kconf.configdef.topic import TOPIC
from kconf.configdef.validate import validate
from kconf.errors import InvalidConfig
from kconf.model.acl import Operation, Permission
from kconf.model.entry import ValueType
from kconf.model.resource import Overrides, Resource, ResourceType, Topic
from kconf.model.snapshot import decode_id, encode_id
from kconf.security.scram import ScramError, from_text

to_json = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode

STAMP: Final = "kconf"
_QUOTAS: Final[ConfigDef] = {**USER_QUOTA, **CLIENT_QUOTA, **IP_QUOTA}


class ZnodeProblem(NamedTuple):
    """An invalid part of an external znode, which is ignored: one key, or all if `key` is not set. Contains no value.

    `for_brokers`: kconf can read it, but Kafka's brokers cannot.
    """

    path: str
    key: str
    why: str
    for_brokers: bool = False

    def __str__(self) -> str:
        return f"{self.path}{f' {self.key}' if self.key else ''}: {self.why}"


class ZnodeDocument(NamedTuple):
    """The overrides of each resource in a znode, and the revisions of the last changes, if kconf wrote it."""

    overrides: Mapping[Resource, Overrides]
    stamps: Sequence[int]
    problems: Sequence[ZnodeProblem]

    def retaining(self, in_force: Callable[[Resource], Overrides]) -> tuple[ZnodeDocument, Mapping[str, str]]:
        """The document with the previous values in place of unreadable ones, and these values alone."""
        resources = list(self.overrides)
        overrides = {each: dict(values) for each, values in self.overrides.items()}
        retained: dict[str, str] = {}
        for problem in self.problems:
            for resource in [resource_of_key(resources, problem.key)] if problem.key else resources:
                for key, value in in_force(resource).items():
                    if problem.key in ("", key) and key not in overrides[resource]:
                        overrides[resource][key] = retained[key] = value
        return self._replace(overrides=overrides), retained


def resource_of_key(resources: Sequence[Resource], key: str) -> Resource:
    """The resource of a key in a znode. The znode of a user has two: quotas and credentials."""
    return resources[1] if len(resources) > 1 and key in SCRAM else resources[0]


def _word(number: Operation | Permission) -> str:
    return "".join(part.capitalize() for part in number.name.split("_"))


_OPERATIONS: Final = {_word(each).upper(): each for each in Operation}
_PERMISSIONS: Final = {_word(each).upper(): each for each in Permission}


def write_config(values: Iterable[Overrides], stamps: Sequence[int]) -> bytes:
    """Write the document of an entity. `values` are the overrides of its resources, in the order of the stamps."""
    config = {key: value for each in values for key, value in each.items()}
    return to_json({"version": 1, "config": config, STAMP: list(stamps)}).encode()


def write_acls(keys: Iterable[str], stamps: Sequence[int]) -> bytes:
    """Write the document with the ACLs of a resource pattern."""
    return to_json({"version": 1, "acls": [_acl(key) for key in keys], STAMP: list(stamps)}).encode()


def _acl(key: str) -> dict[str, str]:
    principal, host, operation, permission = json.loads(key)
    return {
        "principal": principal,
        "permissionType": _word(Permission(permission)),
        "operation": _word(Operation(operation)),
        "host": host,
    }


def write_topic(topic: Topic, stamp: int, current: bytes = b"") -> bytes:
    """Write the document with the partitions of a topic. A reassignment in the `current` document is preserved."""
    existing = _object(current) or {}
    return to_json(
        {
            "partitions": {str(number): list(replicas) for number, replicas in enumerate(topic.replicas)},
            "topic_id": encode_id(topic.id),
            "adding_replicas": existing.get("adding_replicas", {}),
            "removing_replicas": existing.get("removing_replicas", {}),
            "version": 3,
            STAMP: [stamp],
        }
    ).encode()


def read_config(path: str, resources: Sequence[Resource], data: bytes) -> ZnodeDocument:
    """Read the document of an entity. As in Kafka, a malformed one means no overrides."""
    facts = _object(data)
    config = (facts or {}).get("config", {})
    problems: list[ZnodeProblem] = []
    if data and facts is None:
        problems.append(ZnodeProblem(path, "", "it is not a JSON object"))
    if not isinstance(config, dict):
        problems.append(ZnodeProblem(path, "", "its config is not an object"))
        config = {}
    found: dict[Resource, dict[str, str]] = {each: {} for each in resources}
    for key, value in config.items():
        resource = resource_of_key(resources, key)
        text = _text(value)
        problem = "its value is not a string or a number" if text is None else _value_problem(resource, key, text)
        if text is None or problem is not None:
            problems.append(ZnodeProblem(path, key, str(problem)))
        else:
            found[resource][key] = text
            if text is not value:
                problems.append(ZnodeProblem(path, key, "its value is not a string", for_brokers=True))
    return ZnodeDocument(found, _stamps(facts, len(resources)), problems)


def _text(value: object) -> str | None:
    """A JSON value as text, or None if it is not a valid value. A whole number has no decimal point."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return (str(int(value)) if value.is_integer() else repr(value)) if isfinite(value) else None
    return str(value) if isinstance(value, str | int) else None


def _value_problem(resource: Resource, key: str, value: str) -> str | None:
    """Why a value is invalid, or None if it is valid."""
    if resource.type == ResourceType.SCRAM:
        try:
            from_text(value)
        except ScramError:
            return "it is not a SCRAM credential"
        return None
    if resource.type == ResourceType.QUOTA:
        known = _QUOTAS.get(key)
        if known is None:
            return "unknown quota"
        whole = known.type in (ValueType.LONG, ValueType.INT)
        return "its value is not a number" if not _is_number(value, whole=whole) else None
    known = TOPIC.get(key) if resource.type == ResourceType.TOPIC else None
    if known is not None:
        try:
            validate(known, value)
        except InvalidConfig:
            return "its value is not valid for the key"
    return None


def _is_number(text: str, *, whole: bool) -> bool:
    """Whether a text is a plain number. A broker does not start with '1e4' or '10000.0' in place of an integer."""
    if whole:
        return text.removeprefix("-").isdecimal() and text.isascii()
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and text == text.strip() and "_" not in text


def read_acls(path: str, resource: Resource, data: bytes) -> ZnodeDocument:
    """The ACLs of a resource pattern, as the keys of its resource."""
    facts = _object(data)
    listed = (facts or {}).get("acls", [])
    problems: list[ZnodeProblem] = []
    found: dict[str, str] = {}
    if facts is None or not isinstance(listed, list):
        problems.append(ZnodeProblem(path, "", "it is not an ACL document"))
        listed = []
    for each in listed:
        try:
            operation = _OPERATIONS[each["operation"].replace("_", "").upper()]
            permission = _PERMISSIONS[each["permissionType"].upper()]
            principal, host = str(each["principal"]), str(each["host"])
        except (KeyError, TypeError, AttributeError):
            problems.append(ZnodeProblem(path, "", "one of its ACLs cannot be read"))
            continue
        found[to_json([principal, host, int(operation), int(permission)])] = ""
    return ZnodeDocument({resource: found}, _stamps(facts, 1), problems)


def read_topic(path: str, name: str, data: bytes) -> tuple[Topic | None, int | None, Sequence[ZnodeProblem]]:
    """Read a topic: its partitions, its stamp (None if written externally), and its problems.

    A topic without an id (from before Kafka 2.8, or not yet seen by the controller) is treated as missing.
    """
    facts = _object(data)
    stamps = _stamps(facts, 1)
    try:
        partitions = (facts or {})["partitions"]
        replicas = tuple(tuple(map(int, partitions[str(number)])) for number in range(len(partitions)))
        identity = (facts or {}).get("topic_id")
        if identity is None:
            return None, None, ()
        topic = Topic(name, decode_id(identity), replicas)
    except (KeyError, TypeError, ValueError):
        return None, None, [ZnodeProblem(path, "", "it is not a partition document")]
    return topic, stamps[0] if stamps else None, ()


def _stamps(facts: Mapping[str, Any] | None, count: int) -> Sequence[int]:
    found = (facts or {}).get(STAMP)
    if isinstance(found, list) and len(found) == count and all(type(each) is int for each in found):
        return tuple(found)
    return ()


def _object(data: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(data)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
