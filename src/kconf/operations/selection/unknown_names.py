"""Finds names and patterns in scopes that match nothing, because they are probably misspelled."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from kconf.client.contexts.context import is_glob
from kconf.engine.declarative.model import SCOPES
from kconf.errors import ErrorCode, KafkaError, ResourceNotFound, TopicNotAuthorized, UnknownTopic
from kconf.model.resource import Resource, ResourceType
from kconf.operations.selection.scopes import in_scope
from kconf.operations.selection.selectors import TYPES, NothingMatches, is_regex, names_of

if TYPE_CHECKING:
    from kconf.engine.declarative.model import Scope
    from kconf.model.cluster_state import ClusterState
    from kconf.operations.target import Target


Name = tuple[Resource, str]
"""A resource and a key of a record."""


def named_topics(scopes: Iterable[Scope]) -> list[Resource]:
    """The topics that scopes name literally."""
    texts = [each.text for scope in scopes if scope.word == "topic" for each in scope.names.patterns]
    return [Resource.topic(each) for each in texts if not _is_pattern(each)]


def check_scopes(
    targets: Sequence[Target], scopes: Sequence[Scope], known: Collection[Name], *, has_record: bool = True
) -> None:
    """Raise an error for the first scope that matches nothing in `known` or on one of the clusters."""
    where = "neither on the cluster nor in its history" if has_record else "not on the cluster"
    for scope in scopes:
        if scope.names.patterns and not _covers(scope, known):
            _check_scope(targets, scope, known, where)


def _covers(scope: Scope, known: Collection[Name]) -> bool:
    kind = SCOPES[scope.word]
    return any(in_scope((scope,), *each) for each in known if each[0].type is kind)


def _check_scope(targets: Sequence[Target], scope: Scope, known: Collection[Name], where: str) -> None:
    kind = SCOPES[scope.word]
    names = {resource.name for resource, _ in known if resource.type is kind}
    for target in targets:
        found = _names_on(target, kind)
        if found is None or any(map(scope.names.matches, found)):
            return  # it exists, or that is unknown
        names.update(found)
    text = scope.names.patterns[0].text
    if _is_pattern(text):
        raise NothingMatches(f"{scope} matches nothing: {where}")
    if kind is ResourceType.TOPIC:
        _check_visible(targets, text)
    raise _unknown(scope, where, sorted(names))


def _unknown(scope: Scope, where: str, names: Sequence[str]) -> KafkaError:
    from difflib import get_close_matches

    near = (
        get_close_matches(scope.names.patterns[0].text, names, 1)
        if scope.word not in ("quota", "acl", "broker")
        else []
    )
    meant = f"; did you mean {scope.word}:{near[0]}?" if near else ""
    if scope.word == "broker" and names:
        meant = f"; the brokers are {', '.join(each or 'default' for each in names)}"
    message = f"{scope} is {where}{meant}"
    return UnknownTopic(message) if scope.word == "topic" else ResourceNotFound(message)


def _check_visible(targets: Sequence[Target], name: str) -> None:
    """Raise an error if a topic may exist that the caller is not authorized to describe."""
    for target in targets:
        with target.open() as admin:
            failure = admin.describe_topics([name]).failures.get(name)
        if failure is not None and failure.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            raise TopicNotAuthorized(f"not authorized to describe topic:{name}")


def _names_on(target: Target, kind: ResourceType) -> set[str] | None:
    """The names that a scope can match; None if they cannot be read."""
    if kind in TYPES.values():
        try:
            with target.open() as admin:
                return set(names_of(admin, kind))
        except KafkaError:
            return None
    state = asyncio.run(_read(target, kind))
    if state.missing:
        return None
    if kind is ResourceType.QUOTA:
        return {name or "" for entity in state.quotas for _, name in entity.parts}
    return set(state.users) if kind is ResourceType.SCRAM else {each.principal for each in state.acls}


async def _read(target: Target, kind: ResourceType) -> ClusterState:
    from kconf.client.cluster_reader import PARTS, read_cluster

    async with target.open_async() as admin:
        return await read_cluster(admin, [part for part, each in PARTS.items() if each is kind])


def _is_pattern(text: str) -> bool:
    return is_glob(text) or is_regex(text)
