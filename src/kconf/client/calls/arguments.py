"""Checks the arguments of AdminClient methods before anything is sent. `InvalidRequest` names the argument.

Strings and named tuples are iterable: without these checks, `delete_topics("kafka")` would delete the topics "k", "a"
and "f".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from kconf.errors import InvalidRequest
from kconf.model.alteration import AlterConfigOp
from kconf.model.resource import Resource

T = TypeVar("T")

ConfigValue = str | float
"""The value of a config: a string, with or without a unit, a number, or a bool."""


def items_of(argument: str, given: Iterable[T], *kinds: type) -> list[T]:
    """The items of an argument, which must have one of these types."""
    names = " or ".join(each.__name__ for each in kinds)
    if isinstance(given, (str, bytes, *kinds)) or not isinstance(given, Iterable):
        raise InvalidRequest(f"{argument} must be a list of {names}, not {_described(given)}")
    items = list(given)
    for each in items:
        if not isinstance(each, kinds):
            raise InvalidRequest(f"{argument} must be a list of {names}, but contains {_described(each)}")
    return items


def item_of(argument: str, given: T, kind: type) -> T:
    """An argument of a required type."""
    if not isinstance(given, kind):
        raise InvalidRequest(f"{argument} must be {_article(kind)}, not {_described(given)}")
    return given


def mapping_of(argument: str, given: Mapping[Any, T], kind: type) -> Mapping[Any, T]:
    """An argument that must be a mapping with keys of a required type."""
    if not isinstance(given, Mapping):
        raise InvalidRequest(f"{argument} must be a mapping with keys of type {kind.__name__}, not {_described(given)}")
    for each in given:
        if not isinstance(each, kind):
            raise InvalidRequest(f"{argument} must have keys of type {kind.__name__}, but contains {_described(each)}")
    if kind is Resource:
        resources_of(argument, given)
    return given


def resources_of(argument: str, given: Iterable[Resource]) -> list[Resource]:
    resources = items_of(argument, given, Resource)
    for each in resources:
        if not isinstance(each.name, str):
            raise InvalidRequest(f"{argument}: the name of a resource must be a string, not {_described(each.name)}")
    return resources


def ops_of(argument: str, resource: Resource, given: Sequence[AlterConfigOp]) -> list[AlterConfigOp]:
    """The alterations of one resource, with numbers as strings."""
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
            raise InvalidRequest(f"{where}: a key must be a string, not {_described(each.key)}")
    return [
        each if each.value is None else each._replace(value=text_of(f"{where}: {each.key}", each.value)) for each in ops
    ]


def text_of(what: str, value: object) -> str:
    """A config value as a string. Numbers and bools are written as in Kafka. Errors never contain the value."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(int(value)) if isinstance(value, int) else repr(value)
    raise InvalidRequest(f"{what} must be a string or a number, not {_article(type(value))}")


def _described(value: object) -> str:
    """A value for an error message. Only the type is shown unless it is a string, since it may contain a secret."""
    if isinstance(value, Resource):
        return f"one Resource ({value})"
    return f"the string {value!r}" if isinstance(value, str) else _article(type(value))


def _article(kind: type) -> str:
    return f"{'an' if kind.__name__[0] in 'AEIOaeio' else 'a'} {kind.__name__}"
