"""Checks the arguments of AdminClient's methods before anything is sent: `InvalidRequest` names the argument.

A text is iterable, and so is a named tuple: without these checks `delete_topics("kafka")` would delete topics of one
letter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from kconf.errors import InvalidRequest
from kconf.model.alteration import AlterConfigOp
from kconf.model.resource import Resource

T = TypeVar("T")

ConfigValue = str | float
"""The value of a config: a text, with or without a unit, a number, or a bool."""


def items_of(argument: str, given: Iterable[T], *kinds: type) -> list[T]:
    """The items of an argument, which must be of one of the kinds."""
    names = " or ".join(each.__name__ for each in kinds)
    if isinstance(given, (str, bytes, *kinds)) or not isinstance(given, Iterable):
        raise InvalidRequest(f"{argument} must be a list of {names}, not {_described(given)}")
    items = list(given)
    for each in items:
        if not isinstance(each, kinds):
            raise InvalidRequest(f"{argument} must be a list of {names}; {_described(each)} is in it")
    return items


def item_of(argument: str, given: T, kind: type) -> T:
    """An argument that must be of a kind."""
    if not isinstance(given, kind):
        raise InvalidRequest(f"{argument} must be {_article(kind)}, not {_described(given)}")
    return given


def mapping_of(argument: str, given: Mapping[Any, T], kind: type) -> Mapping[Any, T]:
    """An argument that must be a mapping from things of a kind."""
    if not isinstance(given, Mapping):
        raise InvalidRequest(f"{argument} must be a mapping from {kind.__name__}, not {_described(given)}")
    for each in given:
        if not isinstance(each, kind):
            raise InvalidRequest(f"{argument} must be a mapping from {kind.__name__}; {_described(each)} is in it")
    if kind is Resource:
        resources_of(argument, given)
    return given


def resources_of(argument: str, given: Iterable[Resource]) -> list[Resource]:
    resources = items_of(argument, given, Resource)
    for each in resources:
        if not isinstance(each.name, str):
            raise InvalidRequest(f"{argument}: the name of a resource must be a text, not {_described(each.name)}")
    return resources


def ops_of(argument: str, resource: Resource, given: Sequence[AlterConfigOp]) -> list[AlterConfigOp]:
    """The alterations of one resource, with numbers as texts."""
    where = f"{argument}[{resource}]"
    if isinstance(given, Mapping):
        raise InvalidRequest(
            f"{where} must be a list of AlterConfigOp, not a dict: AlterConfigOp(OpType.SET, key, value)"
        )
    ops = items_of(where, given, AlterConfigOp)
    for each in ops:
        if not isinstance(each.op, int):
            raise InvalidRequest(f"{where}: the op of {each.key!r} must be an OpType, not {_described(each.op)}")
        if not isinstance(each.key, str):
            raise InvalidRequest(f"{where}: a key must be a text, not {_described(each.key)}")
    return [
        each if each.value is None else each._replace(value=text_of(f"{where}: {each.key}", each.value)) for each in ops
    ]


def text_of(what: str, value: object) -> str:
    """A config value as a text. Numbers and bools are what Kafka writes for them; the message never has the value."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(int(value)) if isinstance(value, int) else repr(value)
    raise InvalidRequest(f"{what} must be a text or a number, not {_article(type(value))}")


def _described(value: object) -> str:
    """A value for a message: a text itself, of anything else only the type, since it may hold a secret."""
    if isinstance(value, Resource):
        return f"one Resource ({value})"
    return f"the text {value!r}" if isinstance(value, str) else _article(type(value))


def _article(kind: type) -> str:
    return f"{'an' if kind.__name__[0] in 'AEIOaeio' else 'a'} {kind.__name__}"
