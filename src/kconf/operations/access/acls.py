"""ACLs: their parts as arguments and as fields of a result, and requests that add or delete them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kconf.errors import ConfigurationError
from kconf.model.acl import CLUSTER_NAME, AclBinding, AclFilter, AclType, Operation, PatternType
from kconf.operations.execute import ChangeRequest
from kconf.operations.planned_change import ChangePlan, PlannedChange

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.model.resource import Resource
    from kconf.operations.execute import SendResult

RESOURCE_TYPES: Final = {
    "topic": AclType.TOPIC,
    "group": AclType.GROUP,
    "cluster": AclType.CLUSTER,
    "transactional-id": AclType.TRANSACTIONAL_ID,
    "delegation-token": AclType.DELEGATION_TOKEN,
    "user": AclType.USER,
}
OPERATIONS: Final = {
    each.name.lower().replace("_", "-"): each for each in Operation if each not in (Operation.UNKNOWN, Operation.ANY)
}
_CONFIGS: Final = (Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS)
_CHECKED: Final[Mapping[AclType, tuple[Operation, ...]]] = {
    AclType.TOPIC: (
        *(Operation.READ, Operation.WRITE, Operation.CREATE, Operation.DELETE, Operation.ALTER, Operation.DESCRIBE),
        *_CONFIGS,
    ),
    AclType.GROUP: (Operation.READ, Operation.DELETE, Operation.DESCRIBE, *_CONFIGS),
    AclType.CLUSTER: (
        *(Operation.CREATE, Operation.ALTER, Operation.DESCRIBE, Operation.CLUSTER_ACTION, Operation.IDEMPOTENT_WRITE),
        *_CONFIGS,
    ),
    AclType.TRANSACTIONAL_ID: (Operation.WRITE, Operation.DESCRIBE, Operation.TWO_PHASE_COMMIT),
    AclType.DELEGATION_TOKEN: (Operation.DESCRIBE,),
    AclType.USER: (Operation.CREATE_TOKENS, Operation.DESCRIBE_TOKENS),
}
"""The operations that Kafka checks, by type of resource (`AclEntry.supportedOperations`)."""
_WORDS: Final = {each: word for word, each in RESOURCE_TYPES.items()}
SUPER_USERS: Final = "super users are allowed too, but Kafka does not expose super.users, so they are not listed"
NOBODY: Final = "no ACL allows anyone to do this"
NO_ACL: Final = (
    "no ACL matches, so the brokers' allow.everyone.if.no.acl.found decides (default: false, which denies access)"
)


# -- arguments and fields --------------------------------------------------------------------------------------------


def parse_resource_pattern(argument: str) -> tuple[AclType, str, PatternType]:
    """`topic:NAME`, `topic:PREFIX*`, `topic:*` or `cluster`."""
    word, colon, name = argument.partition(":")
    kind = RESOURCE_TYPES.get(word)
    if kind is None or (not name and kind is not AclType.CLUSTER):
        names = ", ".join(each if each == "cluster" else f"{each}:NAME" for each in RESOURCE_TYPES)
        raise ConfigurationError(f"{argument!r} is not an ACL resource; use {names}")
    if kind is AclType.CLUSTER:
        if colon and name != CLUSTER_NAME:
            raise ConfigurationError("the cluster resource has no name; use cluster")
        return kind, CLUSTER_NAME, PatternType.LITERAL
    if name != "*" and name.endswith("*"):
        return kind, name[:-1], PatternType.PREFIXED
    return kind, name, PatternType.LITERAL


def parse_named_resource(argument: str) -> tuple[AclType, str]:
    """One resource, not a pattern: `topic:NAME` or `cluster`."""
    kind, name, pattern = parse_resource_pattern(argument)
    if pattern is not PatternType.LITERAL or name == "*":
        raise ConfigurationError(f"{argument!r} is a pattern; pass one resource, for example topic:orders")
    return kind, name


def checked_operations(kind: AclType) -> dict[str, Operation]:
    """The operations that Kafka checks for a resource type, by name."""
    return {word: each for word, each in OPERATIONS.items() if each in _CHECKED[kind]}


def parse_operation(text: str, kind: AclType) -> Operation:
    """An operation that Kafka checks for a resource type."""
    allowed = checked_operations(kind)
    word = text.strip().lower().replace("_", "-")
    if word not in allowed:
        raise ConfigurationError(
            f"{text!r} is not an operation of a {_WORDS[kind]} resource; use one of {', '.join(allowed)}"
        )
    return allowed[word]


def parse_operations(text: str) -> list[Operation]:
    names = [each.strip().lower().replace("_", "-") for each in text.split(",") if each.strip()]
    for each in names:
        if each not in OPERATIONS:
            raise ConfigurationError(f"{each!r} is not an operation; use one of {', '.join(OPERATIONS)}")
    if not names:
        raise ConfigurationError("--operation is empty; pass operations such as read,describe")
    return [OPERATIONS[each] for each in dict.fromkeys(names)]


def parse_principal(text: str) -> str:
    kind, colon, name = text.partition(":")
    if not colon or not kind or not name:
        raise ConfigurationError(f"{text!r} is not a principal; use User:NAME")
    return text


def operation_text(operation: Operation) -> str:
    return operation.name.lower().replace("_", "-")


def acl_text(acl: AclBinding) -> str:
    """An ACL as text without its principal: operation, resource and host."""
    host = "" if acl.host == "*" else f" from {acl.host}"
    principal = f" for {acl.principal}" if acl.principal == "User:*" else ""
    return f"{operation_text(acl.operation)} on {resource_text(acl)}{principal}{host}"


def resource_text(acl: AclBinding) -> str:
    name = f"{acl.name}*" if acl.pattern is PatternType.PREFIXED else acl.name
    word = _WORDS.get(acl.resource_type, acl.resource_type.name.lower())
    return word if acl.resource_type is AclType.CLUSTER else f"{word}:{name}"


def acl_fields(acl: AclBinding) -> dict[str, Any]:
    return {
        "resource": resource_text(acl),
        "pattern": acl.pattern.name.lower(),
        "principal": acl.principal,
        "host": acl.host,
        "operation": operation_text(acl.operation),
        "permission": acl.permission.name.lower(),
    }


# -- requests --------------------------------------------------------------------------------------------------------


def find_acls(admin: SyncAdminClient, filters: Sequence[AclFilter]) -> list[AclBinding]:
    """The ACLs that match any of the filters, without duplicates."""
    return list(dict.fromkeys(acl for each in filters for acl in admin.describe_acls(each)))


def matching_filter(wanted: AclFilter) -> AclFilter:
    """The filter, in which a literal resource name also matches prefixed ACLs and `*`."""
    if wanted.pattern is PatternType.LITERAL and wanted.name is not None:
        return wanted._replace(pattern=PatternType.MATCH)
    return wanted


def add_request(
    admin: SyncAdminClient, bindings: Sequence[AclBinding], reason: str | None, *, confirm: bool
) -> ChangeRequest:
    present = set(find_acls(admin, [each.filter() for each in bindings]))
    changes = {each: _change(each, before=each in present, after=True) for each in bindings}

    def send(resources: Sequence[Resource], _: bool) -> SendResult:
        new = {acl: change for acl, change in changes.items() if change.resource in resources and acl not in present}
        failures = admin.create_acls(new, reason=reason).failures
        return {(change.resource, change.key): failures.get(acl) for acl, change in new.items()}

    plan = ChangePlan(list(changes.values()), {})
    return ChangeRequest("acl add", plan, send, _summary("add", plan), confirm, validates=False)


def delete_request(admin: SyncAdminClient, bindings: Sequence[AclBinding], reason: str | None) -> ChangeRequest:
    changes = {each: _change(each, before=True, after=False) for each in bindings}

    def send(resources: Sequence[Resource], _: bool) -> SendResult:
        some = {acl.filter(): change for acl, change in changes.items() if change.resource in resources}
        failures = admin.delete_acls(some, reason=reason).failures
        return {(change.resource, change.key): failures.get(each) for each, change in some.items()}

    plan = ChangePlan(list(changes.values()), {})
    return ChangeRequest("acl delete", plan, send, _summary("delete", plan), len(changes) > 1, validates=False)


def _change(acl: AclBinding, *, before: bool, after: bool) -> PlannedChange:
    from kconf.engine.access.acls import key_of, pattern_of

    text = {True: "", False: None}
    shown = {"key": None, **acl_fields(acl)}
    op = "set" if after else "delete"
    return PlannedChange(pattern_of(acl).resource, key_of(acl), text[before], text[after], op, shown=shown)


def _summary(verb: str, plan: ChangePlan) -> str:
    return f"{verb} {len(plan.changes)} ACL{'' if len(plan.changes) == 1 else 's'}"
