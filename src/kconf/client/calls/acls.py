"""Describe, create and delete ACLs. Create and delete responses are matched by position."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from kconf.client.calls.arguments import item_of, items_of
from kconf.client.calls.base import CallResult, ClusterCall, NodeVersions, PerItemCall, api_error, distinct
from kconf.model.acl import AclBinding, AclFilter, AclType, Operation, PatternType, Permission

NO_ACL: Final = AclFilter(AclType.TOPIC, "kconf-probe", pattern=PatternType.LITERAL)
"""Matches no ACL. A DescribeAcls request with it shows whether a node has an authorizer: only a node without one
returns SECURITY_DISABLED. A managed cluster may hide its configs."""
NO_ACL_TO_DELETE: Final = NO_ACL._replace(principal="User:kconf-probe", permission=Permission.DENY, host="kconf-probe")
"""The same for DeleteAcls: also if there is such a topic, no host has this name."""

_PATTERNS = "before Kafka 2.0, ACLs support literal names only"
_TAGS_FROM = 2  # the first flexible version of CreateAcls and DeleteAcls


def _min_version(patterns: Iterable[PatternType], types: Iterable[AclType]) -> int:
    """The lowest version for these types: version 0 has only literal patterns, and USER was added in version 3."""
    if AclType.USER in types:
        return 3
    return 0 if all(each is PatternType.LITERAL for each in patterns) else 1


class DescribeAcls(ClusterCall[list[AclBinding]]):
    name = "DescribeAcls"
    hint = _PATTERNS

    def __init__(self, wanted: AclFilter | None) -> None:
        super().__init__()
        self._filter = wanted = item_of("wanted", wanted or AclFilter(), AclFilter)
        self.min_version = _min_version([wanted.pattern], [wanted.resource_type])

    def write(self, node: NodeVersions, version: int, items: Sequence[None]) -> object:
        from kconf.protocol.messages.describe_acls import DescribeAclsRequest

        return DescribeAclsRequest(*_filter_fields(self._filter))

    def read(self, version: int, frame: bytes, start: int, items: Sequence[None]) -> CallResult:
        body = self.body(version, frame, start)
        if body.error_code:
            return CallResult({None: api_error(body.error_code, body.error_message)}, body.throttle_time_ms)
        found = [_binding(resource, resource.pattern_type, acl) for resource in body.resources for acl in resource.acls]
        return CallResult({None: sorted(found)}, body.throttle_time_ms)


class CreateAcls(PerItemCall[AclBinding, None]):
    """Creating an ACL that already exists is not an error."""

    name = "CreateAcls"
    hint = _PATTERNS
    is_change = True

    def __init__(self, bindings: Iterable[AclBinding], *, reason: str | None = None) -> None:
        super().__init__(distinct(items_of("bindings", bindings, AclBinding), "an ACL"))
        self.reason = reason
        self.min_version = _min_version(
            (each.pattern for each in self.items), {each.resource_type for each in self.items}
        )

    def write(self, node: NodeVersions, version: int, items: Sequence[AclBinding]) -> object:
        from kconf.protocol.messages.create_acls import AclCreation, CreateAclsRequest

        return CreateAclsRequest(
            [
                AclCreation(
                    each.resource_type,
                    each.name,
                    each.pattern,
                    each.principal,
                    each.host,
                    each.operation,
                    each.permission,
                )
                for each in items
            ],
            self.reason if node.is_kconf and version >= _TAGS_FROM else None,
        )

    def read(self, version: int, frame: bytes, start: int, items: Sequence[AclBinding]) -> CallResult:
        body = self.body(version, frame, start)
        outcomes = {
            item: api_error(each.error_code, each.error_message) if each.error_code else None
            for item, each in zip(items, body.results, strict=False)
        }
        return CallResult(outcomes, body.throttle_time_ms)


class DeleteAcls(PerItemCall[AclFilter, list[AclBinding]]):
    """Returns the deleted ACLs by filter. A filter without matches is not an error."""

    name = "DeleteAcls"
    hint = _PATTERNS
    repeatable = False  # a second response would not contain what the first request deleted

    def __init__(self, filters: Iterable[AclFilter], *, reason: str | None = None) -> None:
        super().__init__(distinct(items_of("filters", filters, AclFilter), "a filter"))
        self.reason = reason
        self.min_version = _min_version(
            (each.pattern for each in self.items), {each.resource_type for each in self.items}
        )

    def write(self, node: NodeVersions, version: int, items: Sequence[AclFilter]) -> object:
        from kconf.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest

        reason = self.reason if node.is_kconf and version >= _TAGS_FROM else None
        return DeleteAclsRequest([DeleteAclsFilter(*_filter_fields(each)) for each in items], reason)

    def read(self, version: int, frame: bytes, start: int, items: Sequence[AclFilter]) -> CallResult:
        body = self.body(version, frame, start)
        outcomes: dict[AclFilter, Any] = {}
        for item, each in zip(items, body.filter_results, strict=False):
            bad = next((acl for acl in [each, *each.matching_acls] if acl.error_code), None)
            if bad is not None:
                outcomes[item] = api_error(bad.error_code, bad.error_message)
            else:
                outcomes[item] = sorted(_binding(acl, acl.pattern_type, acl) for acl in each.matching_acls)
        return CallResult(outcomes, body.throttle_time_ms)


def _filter_fields(wanted: AclFilter) -> tuple[int, str | None, int, str | None, str | None, int, int]:
    return (
        wanted.resource_type,
        wanted.name,
        wanted.pattern,
        wanted.principal,
        wanted.host,
        wanted.operation,
        wanted.permission,
    )


def _binding(resource: Any, pattern: int, acl: Any) -> AclBinding:
    """An ACL from a response. Unknown numbers become UNKNOWN."""
    return AclBinding(
        _TYPES.get(resource.resource_type, AclType.UNKNOWN),
        resource.resource_name,
        acl.principal,
        _OPERATIONS.get(acl.operation, Operation.UNKNOWN),
        _PERMISSIONS.get(acl.permission_type, Permission.UNKNOWN),
        _PATTERN_TYPES.get(pattern, PatternType.UNKNOWN),
        acl.host,
    )


_TYPES = {int(each): each for each in AclType}
_OPERATIONS = {int(each): each for each in Operation}
_PERMISSIONS = {int(each): each for each in Permission}
_PATTERN_TYPES = {int(each): each for each in PatternType}
