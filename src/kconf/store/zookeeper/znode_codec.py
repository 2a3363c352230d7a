"""What stands in a znode: Kafka's documents, read strictly and written so that no broker can stumble over them.

A document that kconf wrote has one more field, `kconf`: the revision of the last change of each resource that it holds
(real brokers ignore the field, and lose it with their next write: that is how a change from outside is told). A running
broker skips what it cannot read, but the same znode keeps it from starting again: so only strings are written, and of a
foreign document each value is held against its key. What fails is reported, left out, and never written again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
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
    """Something in a foreign znode that was left out. It never shows a value."""

    path: str
    key: str
    why: str

    def __str__(self) -> str:
        return f"{self.path}{f' {self.key}' if self.key else ''}: {self.why}"


class ZnodeDocument(NamedTuple):
    """A znode as it was read: the overrides of each resource, and when kconf last changed each; no stamps: foreign."""

    overrides: Mapping[Resource, Overrides]
    stamps: Sequence[int]
    problems: Sequence[ZnodeProblem]


def _word(number: Operation | Permission) -> str:
    return "".join(part.capitalize() for part in number.name.split("_"))


_OPERATIONS: Final = {_word(each).upper(): each for each in Operation}
_PERMISSIONS: Final = {_word(each).upper(): each for each in Permission}


def write_config(values: Iterable[Overrides], stamps: Sequence[int]) -> bytes:
    """The document of an entity. `values` are those of all resources that it holds, in the order of the stamps."""
    config = {key: value for each in values for key, value in each.items()}
    return to_json({"version": 1, "config": config, STAMP: list(stamps)}).encode()


def write_acls(keys: Iterable[str], stamps: Sequence[int]) -> bytes:
    """The document of a pattern's ACLs."""
    return to_json({"version": 1, "acls": [_acl(key) for key in keys], STAMP: list(stamps)}).encode()


def _acl(key: str) -> dict[str, str]:
    principal, host, operation, permission = json.loads(key)
    return {
        "principal": principal,
        "permissionType": _word(Permission(permission)),
        "operation": _word(Operation(operation)),
        "host": host,
    }


def write_topic(topic: Topic, stamp: int, found: bytes = b"") -> bytes:
    """The document of a topic's partitions. `found` is what stands there now: what a move of replicas needs stays."""
    kept = _object(found) or {}
    return to_json(
        {
            "partitions": {str(number): list(replicas) for number, replicas in enumerate(topic.replicas)},
            "topic_id": encode_id(topic.id),
            "adding_replicas": kept.get("adding_replicas", {}),
            "removing_replicas": kept.get("removing_replicas", {}),
            "version": 3,
            STAMP: [stamp],
        }
    ).encode()


def read_config(path: str, holders: Sequence[Resource], data: bytes) -> ZnodeDocument:
    """An entity's document. As in Kafka, what is not one is an entity without overrides."""
    facts = _object(data)
    config = (facts or {}).get("config", {})
    if not isinstance(config, dict):
        config = {}
    problems: list[ZnodeProblem] = []
    if data and facts is None:
        problems.append(ZnodeProblem(path, "", "it is not a JSON object"))
    found: dict[Resource, dict[str, str]] = {each: {} for each in holders}
    for key, value in config.items():
        holder = holders[1] if len(holders) > 1 and key in SCRAM else holders[0]
        why = _fault(holder, key, value)
        if why is None:
            found[holder][key] = value
        else:
            problems.append(ZnodeProblem(path, key, why))
    return ZnodeDocument(found, _stamps(facts, len(holders)), problems)


def _fault(holder: Resource, key: str, value: object) -> str | None:
    """Why a value must not be taken over; None: it may."""
    if not isinstance(value, str):
        return "its value is not a string"
    if holder.type == ResourceType.SCRAM:
        try:
            from_text(value)
        except ScramError:
            return "it is no SCRAM credential"
        return None
    if holder.type == ResourceType.QUOTA:
        known = _QUOTAS.get(key)
        if known is None:
            return "there is no such quota"
        whole = known.type in (ValueType.LONG, ValueType.INT)
        return "its value is not a number" if not _is_number(value, whole=whole) else None
    known = TOPIC.get(key) if holder.type == ResourceType.TOPIC else None
    if known is not None:
        try:
            validate(known, value)
        except InvalidConfig:
            return "its value is not one that the key can have"
    return None


def _is_number(text: str, *, whole: bool) -> bool:
    """Plain numbers only: a broker does not start from '1e4' or '10000.0' where it wants a whole one."""
    if whole:
        return text.removeprefix("-").isdecimal() and text.isascii()
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and text == text.strip() and "_" not in text


def read_acls(path: str, holder: Resource, data: bytes) -> ZnodeDocument:
    """A pattern's ACLs, as the keys of its resource."""
    facts = _object(data)
    listed = (facts or {}).get("acls", [])
    problems: list[ZnodeProblem] = []
    found: dict[str, str] = {}
    if facts is None or not isinstance(listed, list):
        problems.append(ZnodeProblem(path, "", "it is not a document of ACLs"))
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
    return ZnodeDocument({holder: found}, _stamps(facts, 1), problems)


def read_topic(path: str, name: str, data: bytes) -> tuple[Topic | None, int | None, Sequence[ZnodeProblem]]:
    """A topic, its stamp (None: foreign), and what is wrong with it.

    A topic without an id (it is from before Kafka 2.8, or the controller has not seen it yet) is not there yet.
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
        return None, None, [ZnodeProblem(path, "", "it is not a document of a topic's partitions")]
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
