"""Reviews ACLs: finds those that allow too much, and those without effect."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from kconf.engine.access.acls import ANYONE, ANYWHERE
from kconf.model.acl import AclType, Operation, PatternType, Permission

if TYPE_CHECKING:
    from kconf.model.acl import AclBinding

EVERYBODY: Final = "allows everybody"
EVERYTHING: Final = "allows every operation on every resource of this type"
DENIED: Final = "has no effect: a DENY for the same principal, host and resource overrides it"
NO_TOPIC: Final = "no such topic is listed: it does not exist, or you are not authorized to describe it"
NO_TOPICS: Final = "matches no listed topic"

_Place = tuple[AclType, str, PatternType, str, str]


def review(acls: Sequence[AclBinding], topics: Collection[str] | None) -> dict[AclBinding, list[str]]:
    """The findings by ACL. `topics` are the listed topics; None if unknown."""
    reviewer = _Reviewer(acls, topics)
    found = {each: reviewer.findings(each) for each in acls}
    return {each: texts for each, texts in found.items() if texts}


class _Reviewer:
    def __init__(self, acls: Sequence[AclBinding], topics: Collection[str] | None) -> None:
        self._topics = None if topics is None else frozenset(topics)
        self._sorted = sorted(topics or ())
        self._denied: dict[_Place, set[Operation]] = {}
        for each in acls:
            if each.permission is Permission.DENY:
                self._denied.setdefault(_place(each), set()).add(each.operation)

    def findings(self, acl: AclBinding) -> list[str]:
        found = []
        if acl.permission is Permission.ALLOW:
            if acl.principal == ANYONE:
                found.append(EVERYBODY)
            if acl.operation is Operation.ALL and acl.name == ANYWHERE and acl.pattern is PatternType.LITERAL:
                found.append(EVERYTHING)
            if self._denied.get(_place(acl), set()) & {acl.operation, Operation.ALL}:
                found.append(DENIED)
        if acl.resource_type is AclType.TOPIC and self._topics is not None and not self._has_topic(acl):
            found.append(NO_TOPICS if acl.pattern is PatternType.PREFIXED else NO_TOPIC)
        return found

    def _has_topic(self, acl: AclBinding) -> bool:
        if acl.pattern is PatternType.PREFIXED:
            place = bisect_left(self._sorted, acl.name)
            return place < len(self._sorted) and self._sorted[place].startswith(acl.name)
        return acl.name == ANYWHERE or acl.name in (self._topics or ())


def _place(acl: AclBinding) -> _Place:
    return acl.resource_type, acl.name, acl.pattern, acl.principal, acl.host
