"""Kafka's change notifications: which znode has changed. Written for brokers, and read as brokers do."""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from kconf.engine.access.acls import ResourcePattern
from kconf.model.acl import AclType, PatternType
from kconf.store.zookeeper import paths

DIRECTORIES: Final = (paths.CONFIG_CHANGES, paths.LITERAL_ACL_CHANGES, paths.PREFIXED_ACL_CHANGES)
_CONFIG_CHANGE: Final = "config_change_"
_ACL_CHANGE: Final = "acl_changes_"
_ROOTS_OF_VERSION_1: Final = {
    "topic": paths.TOPICS,  # as in KIP-21; Kafka's tools write the plural
    "topics": paths.TOPICS,
    "client": paths.CLIENTS,
    "clients": paths.CLIENTS,
}


class Notification(NamedTuple):
    """A notification for brokers: a sequential child of `directory`."""

    directory: str
    prefix: str
    data: bytes


def notification_for(path: str) -> Notification | None:
    """The notification for a changed znode, or None if Kafka has none: new topics and partitions, and kconf's own
    znodes.
    """
    if path.startswith("/config/"):
        text = json.dumps(
            {"version": 2, "entity_path": path.removeprefix("/config/"), "kconf": 1}, separators=(",", ":")
        )
        return Notification(paths.CONFIG_CHANGES, _CONFIG_CHANGE, text.encode())
    for resource in paths.resources_of(path) if path.startswith(paths.LITERAL_ACLS) else ():
        pattern = ResourcePattern.of(resource)
        kind = AclType(pattern.type).name
        if pattern.pattern == PatternType.LITERAL:
            return Notification(paths.LITERAL_ACL_CHANGES, _ACL_CHANGE, f"{kind}:{pattern.name}".encode())
        # Brokers reject any other field here.
        facts = {"version": 1, "resourceType": kind, "name": pattern.name, "patternType": "PREFIXED"}
        text = json.dumps(facts, separators=(",", ":"), ensure_ascii=False)
        return Notification(paths.PREFIXED_ACL_CHANGES, _ACL_CHANGE, text.encode())
    return None


def next_name(directory: str, number: int) -> str:
    """The name of the notification with this number, as Kafka and kconf create it."""
    return f"{_CONFIG_CHANGE if directory == paths.CONFIG_CHANGES else _ACL_CHANGE}{number:010d}"


class MalformedNotification(ValueError):
    """A notification that does not name a znode."""


def sequence_number(name: str) -> int:
    """The number that ZooKeeper appended to the name of a notification. -1 for other names, which are never read."""
    digits = name[-10:]
    return int(digits) if len(digits) == 10 and digits.isdecimal() else -1


def read_config_notification(data: bytes) -> tuple[str, bool] | None:
    """The znode in a config notification, and whether kconf wrote it. None if it is ignored silently.

    Reads both versions, and also the singular entity types of KIP-21's text, for which Kafka logs an error. Raises
    MalformedNotification where Kafka logs an error otherwise.
    """
    try:
        facts = json.loads(data.decode("utf-8-sig"))
    except ValueError:
        if not data:
            raise MalformedNotification("it is empty") from None
        return None  # as in Kafka: written before KIP-21
    if not isinstance(facts, dict):
        raise MalformedNotification("it is not an object")
    version = facts.get("version")
    if type(version) is not int or version not in (1, 2):
        raise MalformedNotification("its version is not 1 or 2")
    return _named_path(facts, version), "kconf" in facts


def _named_path(facts: dict[str, object], version: int) -> str:
    if version == 1:
        kind, name = facts.get("entity_type"), facts.get("entity_name")
        root = _ROOTS_OF_VERSION_1.get(kind) if isinstance(kind, str) else None
        if root is None or not isinstance(name, str) or not name:
            raise MalformedNotification("it does not name a topic or a client")
        return f"{root}/{name}"
    named = facts.get("entity_path")
    path = f"/config/{named}" if isinstance(named, str) else ""
    if not _is_config_path(path):
        raise MalformedNotification("it does not name an entity")
    return path


def _is_config_path(path: str) -> bool:
    try:
        return bool(paths.resources_of(path))
    except ValueError:
        return False


def read_acl_notification(directory: str, data: bytes) -> str:
    """The znode in an ACL notification. Raises MalformedNotification."""
    try:
        if directory == paths.LITERAL_ACL_CHANGES:
            kind, _, name = data.decode().partition(":")
            return f"{paths.LITERAL_ACLS}/{paths.ACL_TYPES[AclType[kind]]}/{name}"
        facts = json.loads(data)
        return f"{paths.PREFIXED_ACLS}/{paths.ACL_TYPES[AclType[facts['resourceType']]]}/{facts['name']}"
    except (ValueError, KeyError, TypeError):
        raise MalformedNotification("it does not name ACLs") from None
