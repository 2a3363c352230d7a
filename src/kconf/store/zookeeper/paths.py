"""Where Kafka up to 3.9 keeps what in ZooKeeper, and how it is called there. Pure: names in, paths out.

Kafka's own tree is used as it is, so that a cluster in ZooKeeper mode obeys what kconf writes. What Kafka does not know
(groups, client metrics) or cannot hold (an ACL whose name has a slash, a topic that no broker would accept) stands
under /kconf/config, where no broker looks.
"""

from __future__ import annotations

import json
from typing import Final, NamedTuple
from urllib.parse import quote, unquote_plus

from kconf.engine.access.acls import ResourcePattern
from kconf.engine.topics.names import name_problem
from kconf.model.acl import AclType, PatternType
from kconf.model.quota import CLIENT_ID, IP, USER, QuotaEntity
from kconf.model.resource import Resource, ResourceType

TOPICS: Final = "/config/topics"
CLIENTS: Final = "/config/clients"
USERS: Final = "/config/users"
BROKERS: Final = "/config/brokers"
IPS: Final = "/config/ips"
CONFIG_CHANGES: Final = "/config/changes"
TOPIC_NODES: Final = "/brokers/topics"
BROKER_IDS: Final = "/brokers/ids"
DELETIONS: Final = "/admin/delete_topics"
LITERAL_ACLS: Final = "/kafka-acl"
PREFIXED_ACLS: Final = "/kafka-acl-extended/prefixed"
LITERAL_ACL_CHANGES: Final = "/kafka-acl-changes"
PREFIXED_ACL_CHANGES: Final = "/kafka-acl-extended-changes"
CLUSTER_ID: Final = "/cluster/id"

OURS: Final = "/kconf"
OWN_CONFIG: Final = "/kconf/config"
OWN_TOPICS: Final = "/kconf/topics"
JOURNAL: Final = "/kconf/journal"
OLDEST: Final = "/kconf/oldest"
MARKS: Final = "/kconf/marks"
SEAL: Final = "/kconf/seal"
EPOCH: Final = "/kconf/epoch"
ATTEMPTS: Final = "/kconf/attempts"
SERVERS: Final = "/kconf/servers"
ARCHIVER: Final = "/kconf/archiver"
TURN: Final = "/kconf/turn"
COPYING: Final = "/kconf/copying"

ACL_TYPES: Final = {
    AclType.TOPIC: "Topic",
    AclType.GROUP: "Group",
    AclType.CLUSTER: "Cluster",
    AclType.TRANSACTIONAL_ID: "TransactionalId",
    AclType.DELEGATION_TOKEN: "DelegationToken",
    AclType.USER: "User",
}
ROOTS: Final = (
    *(TOPICS, CLIENTS, USERS, BROKERS, IPS, CONFIG_CHANGES, TOPIC_NODES, BROKER_IDS, DELETIONS),
    *(LITERAL_ACL_CHANGES, PREFIXED_ACL_CHANGES),
    *(f"{root}/{word}" for root in (LITERAL_ACLS, PREFIXED_ACLS) for word in ACL_TYPES.values()),
    *(f"{OWN_CONFIG}/{each.word}" for each in ResourceType),
    *(OWN_TOPICS, MARKS, ATTEMPTS, SERVERS, TURN),
)
"""What is made when a store is, before its journal. Kafka makes the same where it needs them."""

DEFAULT: Final = "<default>"
_EMPTY: Final = "<empty>"
_CHANGE: Final = "config_change_"
_WORDS: Final = {each.word: each for each in ResourceType}
_ACL_WORDS: Final = {word: kind for kind, word in ACL_TYPES.items()}


def sanitised(name: str) -> str:
    """A user or client id as part of a path, in Kafka's percent-encoding; no name can clash with `<default>`."""
    if name in (".", ".."):  # Kafka leaves them, and ZooKeeper refuses them
        return name.replace(".", "%2E")
    return quote(name, safe="").replace("~", "%7E") or _EMPTY


def restored(part: str) -> str:
    """The name that a part of a path stands for. Kafka decodes as forms are decoded: a raw `+` is a space."""
    return "" if part == _EMPTY else unquote_plus(part, errors="strict")


def _entity(name: str | None) -> str:
    return DEFAULT if name is None else sanitised(name)


def _named(part: str) -> str | None:
    return None if part == DEFAULT else restored(part)


def config_path(resource: Resource) -> str:
    """The znode that has a resource's overrides; that of a user has its quotas and its credentials."""
    kind, name = resource
    if kind == ResourceType.TOPIC and name_problem(name) is None:
        return f"{TOPICS}/{name}"
    if kind == ResourceType.BROKER:
        return f"{BROKERS}/{name or DEFAULT}"
    if kind == ResourceType.QUOTA:
        return _quota_path(QuotaEntity.from_resource(resource))
    if kind == ResourceType.SCRAM:
        return f"{USERS}/{sanitised(name)}"
    if kind == ResourceType.ACL:
        pattern = ResourcePattern.of(resource)
        if is_kafkas(pattern):
            root = LITERAL_ACLS if pattern.pattern == PatternType.LITERAL else PREFIXED_ACLS
            return f"{root}/{ACL_TYPES[AclType(pattern.type)]}/{pattern.name}"
    return f"{OWN_CONFIG}/{ResourceType(kind).word}/{sanitised(name)}"


def _quota_path(entity: QuotaEntity) -> str:
    parts = dict(entity.parts)
    if parts.keys() == {IP}:
        return (
            f"{IPS}/{parts[IP] or DEFAULT}"  # as it is: Kafka's tools read an address with colons, not an encoded one
        )
    if parts.keys() == {CLIENT_ID}:
        return f"{CLIENTS}/{_entity(parts[CLIENT_ID])}"
    user = f"{USERS}/{_entity(parts[USER])}"
    return user if CLIENT_ID not in parts else f"{user}/clients/{_entity(parts[CLIENT_ID])}"


def is_kafkas(pattern: ResourcePattern) -> bool:
    """Whether Kafka's tree can hold the ACLs of a pattern: their names stand there raw."""
    return (
        bool(pattern.name) and "/" not in pattern.name and pattern.name not in (".", "..") and _is_plain(pattern.name)
    )


def _is_plain(name: str) -> bool:
    """Whether ZooKeeper takes a name as it is."""
    return all(" " <= each < "\x7f" or "\xa0" <= each < "\ud800" or "\uf900" <= each < "\ufff0" for each in name)


def topic_path(name: str) -> str:
    """The znode that says which partitions and replicas a topic has."""
    return f"{TOPIC_NODES}/{name}" if name_problem(name) is None else f"{OWN_TOPICS}/{sanitised(name)}"


def topic_of(path: str) -> str | None:
    """The topic that a znode is about, if it is one of `topic_path`."""
    root, _, part = path.rpartition("/")
    if root == TOPIC_NODES:
        return part
    return restored(part) if root == OWN_TOPICS else None


def owners(path: str) -> tuple[Resource, ...]:
    """The resources whose overrides stand in a znode, in the order of its stamps; none: it is not one of ours to read.

    Raises ValueError for a name that cannot be decoded.
    """
    root, _, part = path.rpartition("/")
    if not part:
        return ()
    match root:
        case "/config/topics":
            return (Resource.topic(part),)
        case "/config/brokers":
            return (Resource(ResourceType.BROKER, "" if part == DEFAULT else part),)
        case "/config/clients":
            return (_quota({CLIENT_ID: _named(part)}),)
        case "/config/ips":
            return (_quota({IP: None if part == DEFAULT else part}),)
        case "/config/users":
            user = _named(part)
            return (
                (_quota({USER: user}),) if user is None else (_quota({USER: user}), Resource(ResourceType.SCRAM, user))
            )
    return _nested_owner(root, part)


def _nested_owner(root: str, part: str) -> tuple[Resource, ...]:
    above, _, word = root.rpartition("/")
    if above == OWN_CONFIG and word in _WORDS:
        return (Resource(_WORDS[word], restored(part)),)
    if above in (LITERAL_ACLS, PREFIXED_ACLS) and word in _ACL_WORDS:
        kind = PatternType.LITERAL if above == LITERAL_ACLS else PatternType.PREFIXED
        return (ResourcePattern(int(_ACL_WORDS[word]), int(kind), part).resource,)
    users, _, user = above.rpartition("/")
    if users == USERS and word == "clients":
        return (_quota({USER: _named(user), CLIENT_ID: _named(part)}),)
    return ()


def _quota(parts: dict[str, str | None]) -> Resource:
    return QuotaEntity.of(parts).resource


class Notification(NamedTuple):
    """What is told to Kafka's brokers when a znode has changed: a sequential child of `directory`."""

    directory: str
    prefix: str
    data: bytes


def notice(path: str) -> Notification | None:
    """The notification of a changed znode; None where Kafka has none: topics made or grown, and what is ours alone."""
    if path.startswith("/config/"):
        text = json.dumps(
            {"version": 2, "entity_path": path.removeprefix("/config/"), "kconf": 1}, separators=(",", ":")
        )
        return Notification(CONFIG_CHANGES, _CHANGE, text.encode())
    for resource in owners(path) if path.startswith(LITERAL_ACLS) else ():
        pattern = ResourcePattern.of(resource)
        kind = AclType(pattern.type).name
        if pattern.pattern == PatternType.LITERAL:
            return Notification(LITERAL_ACL_CHANGES, "acl_changes_", f"{kind}:{pattern.name}".encode())
        # Brokers refuse any further field here.
        facts = {"version": 1, "resourceType": kind, "name": pattern.name, "patternType": "PREFIXED"}
        text = json.dumps(facts, separators=(",", ":"), ensure_ascii=False)
        return Notification(PREFIXED_ACL_CHANGES, "acl_changes_", text.encode())
    return None


class MalformedNotification(ValueError):
    """A notification that says nothing that could be followed."""


def number_of(name: str) -> int:
    """Of a notification, in the order of all in its directory; -1: a stray name has none, and is never followed."""
    digits = name[-10:]
    return int(digits) if len(digits) == 10 and digits.isdecimal() else -1


def read_notice(data: bytes) -> tuple[str, bool] | None:
    """The znode that a config notification names, and whether kconf wrote it; None: to be ignored silently.

    Reads both of KIP-21's versions. Raises BadNotice where Kafka logs an error.
    """
    try:
        facts = json.loads(data.decode("utf-8-sig"))
    except ValueError:
        if not data:
            raise MalformedNotification("it is empty") from None
        return None  # as in Kafka: from before KIP-21
    if not isinstance(facts, dict):
        raise MalformedNotification("it is not an object")
    version = facts.get("version")
    if type(version) is not int or version not in (1, 2):
        raise MalformedNotification("its version is not 1 or 2")
    return _named_path(facts, version), "kconf" in facts


def _named_path(facts: dict[str, object], version: int) -> str:
    if version == 1:
        kind, name = facts.get("entity_type"), facts.get("entity_name")
        if kind not in ("topics", "clients") or not isinstance(name, str) or not name:
            raise MalformedNotification("it names neither a topic nor a client")
        return f"/config/{kind}/{name}"
    named = facts.get("entity_path")
    path = f"/config/{named}" if isinstance(named, str) else ""
    if not _leads_somewhere(path):
        raise MalformedNotification("it names no entity")
    return path


def _leads_somewhere(path: str) -> bool:
    try:
        return bool(owners(path))
    except ValueError:
        return False


def read_acl_notice(directory: str, data: bytes) -> str:
    """The znode that an ACL notification names; raises BadNotice."""
    try:
        if directory == LITERAL_ACL_CHANGES:
            kind, _, name = data.decode().partition(":")
            return f"{LITERAL_ACLS}/{ACL_TYPES[AclType[kind]]}/{name}"
        facts = json.loads(data)
        return f"{PREFIXED_ACLS}/{ACL_TYPES[AclType[facts['resourceType']]]}/{facts['name']}"
    except (ValueError, KeyError, TypeError):
        raise MalformedNotification("it names no ACLs") from None
