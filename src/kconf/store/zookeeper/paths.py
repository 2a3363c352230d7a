"""The paths of Kafka's znodes up to 3.9 and of kconf's own, as pure functions.

kconf uses Kafka's own znodes, so that brokers in ZooKeeper mode apply what kconf writes. What Kafka does not have
(groups, client metrics) or cannot store (ACLs for names with a slash, topics with names that brokers reject) is under
/kconf/config, which brokers do not read.
"""

from __future__ import annotations

from typing import Final
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
DELETE_TOPICS: Final = "/admin/delete_topics"
LITERAL_ACLS: Final = "/kafka-acl"
PREFIXED_ACLS: Final = "/kafka-acl-extended/prefixed"
LITERAL_ACL_CHANGES: Final = "/kafka-acl-changes"
PREFIXED_ACL_CHANGES: Final = "/kafka-acl-extended-changes"
CLUSTER_ID: Final = "/cluster/id"

KCONF: Final = "/kconf"
FORMAT: Final = "/kconf/format"
CLOCK: Final = "/kconf/clock"
KCONF_CONFIG: Final = "/kconf/config"
KCONF_TOPICS: Final = "/kconf/topics"
JOURNAL: Final = "/kconf/journal"
OLDEST: Final = "/kconf/oldest"
MARKS: Final = "/kconf/marks"
STORE_KEY: Final = "/kconf/seal"
EPOCH: Final = "/kconf/epoch"
ATTEMPTS: Final = "/kconf/attempts"
SERVERS: Final = "/kconf/servers"
ARCHIVE_LOCK: Final = "/kconf/archiver"
TURN: Final = "/kconf/turn"
COPY_IN_PROGRESS: Final = "/kconf/copying"

ACL_TYPES: Final = {
    AclType.TOPIC: "Topic",
    AclType.GROUP: "Group",
    AclType.CLUSTER: "Cluster",
    AclType.TRANSACTIONAL_ID: "TransactionalId",
    AclType.DELEGATION_TOKEN: "DelegationToken",
    AclType.USER: "User",
}
ROOTS: Final = (
    *(TOPICS, CLIENTS, USERS, BROKERS, IPS, CONFIG_CHANGES, TOPIC_NODES, BROKER_IDS, DELETE_TOPICS),
    *(LITERAL_ACL_CHANGES, PREFIXED_ACL_CHANGES),
    *(f"{root}/{word}" for root in (LITERAL_ACLS, PREFIXED_ACLS) for word in ACL_TYPES.values()),
    *(f"{KCONF_CONFIG}/{each.word}" for each in ResourceType),
    *(KCONF_TOPICS, MARKS, ATTEMPTS, SERVERS, TURN),
)
"""Created with a store, before its journal. Those outside /kconf are the same that Kafka creates."""

DEFAULT: Final = "<default>"
_EMPTY: Final = "<empty>"
_WORDS: Final = {each.word: each for each in ResourceType}
_ACL_WORDS: Final = {word: kind for kind, word in ACL_TYPES.items()}


def sanitize(name: str) -> str:
    """A user or client id as part of a path, in Kafka's percent-encoding. No name can clash with `<default>`."""
    if name in (".", ".."):  # not encoded by Kafka, but rejected by ZooKeeper
        return name.replace(".", "%2E")
    return quote(name, safe="").replace("~", "%7E") or _EMPTY


def desanitize(part: str) -> str:
    """The reverse of `sanitize`. Kafka decodes like an HTML form: a raw `+` is a space."""
    return "" if part == _EMPTY else unquote_plus(part, errors="strict")


def _entity(name: str | None) -> str:
    return DEFAULT if name is None else sanitize(name)


def _named(part: str) -> str | None:
    return None if part == DEFAULT else desanitize(part)


def config_path(resource: Resource) -> str:
    """The znode with the overrides of a resource. A user's znode has both quotas and credentials."""
    kind, name = resource
    if kind == ResourceType.TOPIC and name_problem(name) is None:
        return f"{TOPICS}/{name}"
    if kind == ResourceType.BROKER:
        return f"{BROKERS}/{name or DEFAULT}"
    if kind == ResourceType.QUOTA:
        return _quota_path(QuotaEntity.from_resource(resource))
    if kind == ResourceType.SCRAM:
        return f"{USERS}/{sanitize(name)}"
    if kind == ResourceType.ACL:
        pattern = ResourcePattern.of(resource)
        if fits_kafka_tree(pattern):
            root = LITERAL_ACLS if pattern.pattern == PatternType.LITERAL else PREFIXED_ACLS
            return f"{root}/{ACL_TYPES[AclType(pattern.type)]}/{pattern.name}"
    return f"{KCONF_CONFIG}/{ResourceType(kind).word}/{sanitize(name)}"


def _quota_path(entity: QuotaEntity) -> str:
    parts = dict(entity.parts)
    if parts.keys() == {IP}:
        return f"{IPS}/{parts[IP] or DEFAULT}"  # not encoded, since Kafka's tools expect colons in addresses
    if parts.keys() == {CLIENT_ID}:
        return f"{CLIENTS}/{_entity(parts[CLIENT_ID])}"
    user = f"{USERS}/{_entity(parts[USER])}"
    return user if CLIENT_ID not in parts else f"{user}/clients/{_entity(parts[CLIENT_ID])}"


def fits_kafka_tree(pattern: ResourcePattern) -> bool:
    """Whether Kafka's tree can store the ACLs of a pattern: it does not encode their names."""
    return (
        bool(pattern.name)
        and "/" not in pattern.name
        and pattern.name not in (".", "..")
        and _is_valid_name(pattern.name)
    )


def _is_valid_name(name: str) -> bool:
    """Whether ZooKeeper accepts a name without encoding."""
    return all(" " <= each < "\x7f" or "\xa0" <= each < "\ud800" or "\uf900" <= each < "\ufff0" for each in name)


def topic_path(name: str) -> str:
    """The znode with the partitions and replicas of a topic."""
    return f"{TOPIC_NODES}/{name}" if name_problem(name) is None else f"{KCONF_TOPICS}/{sanitize(name)}"


def topic_of(path: str) -> str | None:
    """The topic of a znode of `topic_path`, or None for other znodes."""
    root, _, part = path.rpartition("/")
    if root == TOPIC_NODES:
        return part
    return desanitize(part) if root == KCONF_TOPICS else None


def resources_of(path: str) -> tuple[Resource, ...]:
    """The resources in a znode, in the order of its stamps. Empty if it is not a config znode.

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
    return _nested_resource(root, part)


def _nested_resource(root: str, part: str) -> tuple[Resource, ...]:
    above, _, word = root.rpartition("/")
    if above == KCONF_CONFIG and word in _WORDS:
        return (Resource(_WORDS[word], desanitize(part)),)
    if above in (LITERAL_ACLS, PREFIXED_ACLS) and word in _ACL_WORDS:
        kind = PatternType.LITERAL if above == LITERAL_ACLS else PatternType.PREFIXED
        return (ResourcePattern(int(_ACL_WORDS[word]), int(kind), part).resource,)
    users, _, user = above.rpartition("/")
    if users == USERS and word == "clients":
        return (_quota({USER: _named(user), CLIENT_ID: _named(part)}),)
    return ()


def _quota(parts: dict[str, str | None]) -> Resource:
    return QuotaEntity.of(parts).resource
