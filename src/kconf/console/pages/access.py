"""Access: who can do what, a review of all ACLs, and SCRAM users. Never a secret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kconf.console.links import context_path, resource_path
from kconf.console.page import Page, PageRequest, PageRoute
from kconf.console.pages.parameters import Paging, paging
from kconf.console.pages.resource_facts import NO_AUTHORIZER
from kconf.engine.access.acls import matches
from kconf.engine.access.who_can import who_can
from kconf.errors import ConfigurationError, ErrorCode
from kconf.model.acl import AclBinding, AclFilter, AclType, Operation, PatternType, Permission
from kconf.model.resource import Resource, ResourceType
from kconf.operations.access.acls import (
    NO_ACL,
    NOBODY,
    OPERATIONS,
    RESOURCE_TYPES,
    SUPER_USERS,
    acl_fields,
    checked_operations,
    operation_text,
    parse_named_resource,
    parse_operation,
    resource_text,
)
from kconf.operations.access.review import review

if TYPE_CHECKING:
    from kconf.console.cluster.snapshot import ClusterSnapshot

SIZE: Final = 100
CREATE_TOPIC: Final = "A principal with CREATE on the cluster can also create every topic."
FILTERS: Final = ("q", "principal", "resource", "operation", "permission", "findings")


@dataclass(frozen=True)
class Tab:
    title: str
    path: str
    is_current: bool


@dataclass(frozen=True)
class AclRow:
    """An ACL. `path` is the page of its principal, if that is a user."""

    principal: str
    path: str | None
    permission: str
    operation: str
    resource: str
    pattern: str
    host: str
    findings: Sequence[str] = ()


@dataclass(frozen=True)
class GrantRow:
    """A principal that is allowed. `exceptions` are denied to it; `through` are the ACLs that allow it."""

    principal: str
    path: str | None
    host: str
    exceptions: Sequence[str]
    through: Sequence[AclRow]


@dataclass(frozen=True)
class WhoCanPage:
    """`grants` is None if nothing was requested, or if the answer is unknown."""

    tabs: Sequence[Tab]
    resource: str
    operation: str
    types: Sequence[str]
    operations: Sequence[str]
    grants: Sequence[GrantRow] | None
    denied: Sequence[AclRow]
    error: str | None
    notes: Sequence[str]


@dataclass(frozen=True)
class AclsPage:
    """`total` is None if the ACLs are unknown."""

    tabs: Sequence[Tab]
    fields: dict[str, str]
    operations: Sequence[str]
    rows: Sequence[AclRow]
    matching: int
    total: int | None
    with_findings: int
    paging: Paging
    notes: Sequence[str]


@dataclass(frozen=True)
class CredentialRow:
    mechanism: str
    iterations: int


@dataclass(frozen=True)
class UserRow:
    name: str
    path: str
    credentials: Sequence[CredentialRow]
    acls: int | None


@dataclass(frozen=True)
class UsersPage:
    tabs: Sequence[Tab]
    query: str
    rows: Sequence[UserRow]
    matching: int
    total: int | None
    paging: Paging
    notes: Sequence[str]


# -- who can ---------------------------------------------------------------------------------------------------------


def who(request: PageRequest) -> Page:
    snapshot = request.cluster.snapshot
    resource, operation = (request.query.get(each, "").strip() for each in ("resource", "operation"))
    notes, error, grants = _unknown(snapshot, "acls"), None, None
    denied: Sequence[AclRow] = ()
    if resource and not notes:
        try:
            kind, name = parse_named_resource(resource)
            asked = parse_operation(operation or "describe", kind)
            operation = operation_text(asked)
            acls = snapshot.state.acls
            grants = _grants(request, acls, asked, kind, name)
            about = [each for each in acls if matches(each, AclFilter(kind, name, pattern=PatternType.MATCH))]
            denied = _denials(request, about, asked)
            notes = _who_notes(grants, about, asked, kind)
        except ConfigurationError as failure:
            error = str(failure)
    page = WhoCanPage(
        tabs=_tabs(request),
        resource=resource,
        operation=operation,
        types=list(RESOURCE_TYPES),
        operations=list(dict.fromkeys(each for kind in RESOURCE_TYPES.values() for each in checked_operations(kind))),
        grants=grants,
        denied=denied,
        error=error,
        notes=notes,
    )
    return Page("access.html", page, "Access", "access", 400 if error is not None and request.wants_json else 200)


def _grants(
    request: PageRequest, acls: Sequence[AclBinding], operation: Operation, kind: AclType, name: str
) -> list[GrantRow]:
    return [
        GrantRow(
            each.principal,
            _principal_path(request, each.principal),
            each.host,
            each.exceptions,
            [_acl_row(request, acl) for acl in each.through],
        )
        for each in who_can(acls, operation, kind, name)
    ]


def _denials(request: PageRequest, about: Sequence[AclBinding], operation: Operation) -> list[AclRow]:
    """The ACLs that deny it: they take precedence."""
    refused = (Operation.ALL, operation)
    return [
        _acl_row(request, each) for each in about if each.permission is Permission.DENY and each.operation in refused
    ]


def _who_notes(
    grants: Sequence[GrantRow], about: Sequence[AclBinding], operation: Operation, kind: AclType
) -> list[str]:
    notes = [] if grants else [_sentence(NOBODY if about else NO_ACL)]
    notes.append(_sentence(SUPER_USERS))
    return [*notes, CREATE_TOPIC] if kind is AclType.TOPIC and operation is Operation.CREATE else notes


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


# -- review ----------------------------------------------------------------------------------------------------------


def acls(request: PageRequest) -> Page:
    snapshot = request.cluster.snapshot
    notes = _unknown(snapshot, "acls")
    fields = {each: request.query.get(each, "").strip() for each in FILTERS}
    found = snapshot.derived("acl review", _reviewed)
    rows = [each for each in snapshot.derived("acls", _sorted_acls) if _is_wanted(each, fields, found)]
    place, part = paging(request, len(rows), SIZE)
    page = AclsPage(
        tabs=_tabs(request),
        fields=fields,
        operations=list(OPERATIONS),
        rows=[_acl_row(request, each, found.get(each, ())) for each in rows[part]],
        matching=len(rows),
        total=None if notes else len(snapshot.state.acls),
        with_findings=len(found),
        paging=place,
        notes=[*notes, *([_NO_TOPICS] if not _are_topics_known(snapshot) and not notes else [])],
    )
    return Page("access_acls.html", page, "ACLs", "access")


_NO_TOPICS: Final = "Topics could not be listed, so ACLs for topics that do not exist are not marked."


def _reviewed(snapshot: ClusterSnapshot) -> dict[AclBinding, list[str]]:
    return review(snapshot.state.acls, snapshot.state.topics.keys() if _are_topics_known(snapshot) else None)


def _are_topics_known(snapshot: ClusterSnapshot) -> bool:
    return all(each.what != "topics" for each in snapshot.state.missing)


def _sorted_acls(snapshot: ClusterSnapshot) -> list[AclBinding]:
    return sorted(snapshot.state.acls, key=lambda each: (each.principal, resource_text(each), each.operation, each))


def _is_wanted(acl: AclBinding, fields: Mapping[str, str], found: Mapping[AclBinding, Sequence[str]]) -> bool:
    if fields["findings"] and acl not in found:
        return False
    texts = {key: str(value).lower() for key, value in acl_fields(acl).items()}
    if any(fields[each] and fields[each].lower() != texts[each] for each in ("operation", "permission")):
        return False
    if any(fields[each].lower() not in texts[each] for each in ("principal", "resource")):
        return False
    return not fields["q"] or fields["q"].lower() in " ".join([*texts.values(), *found.get(acl, ())]).lower()


# -- users -----------------------------------------------------------------------------------------------------------


def users(request: PageRequest) -> Page:
    snapshot = request.cluster.snapshot
    notes, query = _unknown(snapshot, "users"), request.query.get("q", "").strip()
    names = [each for each in sorted(snapshot.state.users) if query.lower() in each.lower()]
    place, part = paging(request, len(names), SIZE)
    counts = None if _unknown(snapshot, "acls") else snapshot.derived("acls of principals", _acl_counts)
    page = UsersPage(
        tabs=_tabs(request),
        query=query,
        rows=[_user(request, snapshot, each, counts) for each in names[part]],
        matching=len(names),
        total=None if notes else len(snapshot.state.users),
        paging=place,
        notes=notes,
    )
    return Page("access_users.html", page, "SCRAM users", "access")


def _acl_counts(snapshot: ClusterSnapshot) -> dict[str, int]:
    found: dict[str, int] = {}
    for each in snapshot.state.acls:
        found[each.principal] = found.get(each.principal, 0) + 1
    return found


def _user(request: PageRequest, snapshot: ClusterSnapshot, name: str, counts: Mapping[str, int] | None) -> UserRow:
    infos = sorted(snapshot.state.users[name])
    return UserRow(
        name,
        resource_path(str(request.context), Resource(ResourceType.SCRAM, name)),
        [CredentialRow(each.mechanism.word, each.iterations) for each in infos],
        None if counts is None else counts.get(f"User:{name}", 0),
    )


# -- all of them -----------------------------------------------------------------------------------------------------


def _unknown(snapshot: ClusterSnapshot, part: str) -> list[str]:
    """Why a part of the state is unknown; empty if it is known."""
    if not snapshot.is_read:
        return ["The cluster has not been read yet."]
    word = {"acls": "ACLs", "users": "SCRAM users"}[part]
    for each in snapshot.state.missing:
        if each.what == part:
            if part == "acls" and each.failure.code is ErrorCode.SECURITY_DISABLED:
                return [NO_AUTHORIZER]
            return [f"{word} are unknown: {each.failure.message or each.failure.code.name}"]
    return []


def _tabs(request: PageRequest) -> list[Tab]:
    base = f"{context_path(str(request.context))}/access"
    paths = {"Who can": base, "ACL review": f"{base}/acls", "SCRAM users": f"{base}/users"}
    return [Tab(title, path, request.path == path) for title, path in paths.items()]


def _acl_row(request: PageRequest, acl: AclBinding, findings: Sequence[str] = ()) -> AclRow:
    return AclRow(
        acl.principal,
        _principal_path(request, acl.principal),
        acl.permission.name.lower(),
        operation_text(acl.operation),
        resource_text(acl),
        acl.pattern.name.lower(),
        acl.host,
        findings,
    )


def _principal_path(request: PageRequest, principal: str) -> str | None:
    kind, _, name = principal.partition(":")
    if kind != "User" or name in ("", "*"):
        return None
    return resource_path(str(request.context), Resource(ResourceType.SCRAM, name))


PAGES = (
    PageRoute("/{context}/access", who),
    PageRoute("/{context}/access/acls", acls),
    PageRoute("/{context}/access/users", users),
)
