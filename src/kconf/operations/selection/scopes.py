"""Scopes: select the resources of a history, diff, export or watch, as in declarative files.

A scope is a resource type (`topic`), a name (`topic:orders`) or a glob (`topic:orders.*`). Without scopes: everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kconf.errors import ConfigurationError
from kconf.model.resource import Resource, ResourceType

if TYPE_CHECKING:
    from kconf.engine.declarative.model import Scope


def parse_scopes(arguments: Sequence[str], command: str) -> tuple[Scope, ...]:
    from kconf.engine.declarative.reader import read_scopes

    try:
        return read_scopes(arguments, command)
    except ValueError as error:
        raise ConfigurationError(str(error)) from None


def types_of(scopes: Sequence[Scope]) -> list[ResourceType]:
    """The resource types of the scopes, without duplicates; none if there are no scopes."""
    from kconf.engine.declarative.model import SCOPES

    return list(dict.fromkeys(SCOPES[each.word] for each in scopes))


def in_scope(scopes: Sequence[Scope], resource: Resource, key: str = "") -> bool:
    """Whether a resource is in scope. The key matters only for ACLs, which are selected by their principal."""
    if not scopes:
        return True
    names: Iterable[str] = (resource.name,)
    if resource.type is ResourceType.QUOTA:
        from kconf.model.quota import QuotaEntity

        names = [name or "" for _, name in QuotaEntity.from_resource(resource).parts]
    elif resource.type is ResourceType.ACL:
        import json

        names = [json.loads(key)[0]]
    return any(each.covers(resource, names) for each in scopes)
