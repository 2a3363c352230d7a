"""The form of a change: its fields, and how they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from starlette.datastructures import QueryParams

from kconf.configdef.lookup import known_key, similar_key, update_mode
from kconf.configdef.units import raw_value, shown_value, unit_of
from kconf.console.links import KINDS, docs_link, resource_of
from kconf.console.page import BadRequest
from kconf.errors import ConfigurationError
from kconf.model.alteration import AlterConfigOp, OpType
from kconf.model.entry import ValueType, own_source
from kconf.model.resource import Resource, ResourceType
from kconf.operations.configs import is_sensitive

if TYPE_CHECKING:
    from kconf.model.entry import Entry, View
    from kconf.operations.configs import Assignments

MOST_RESOURCES: Final = 1000
MOST_ROWS: Final = 300
LEAVE: Final = "leave"
OPS: Final = {"set": OpType.SET, "unset": OpType.DELETE, "append": OpType.APPEND, "subtract": OpType.SUBTRACT}
CHANGEABLE: Final = frozenset(KINDS.values()) - {ResourceType.SCRAM}
_EXAMPLES: Final = {"time": "7d, 12h, 500ms or a number", "size": "1GiB, 512KiB or a number"}


@dataclass(frozen=True)
class KeyField:
    """A row of the form. `was` is the original content of the field: a different value is set."""

    key: str
    op: str
    value: str
    was: str
    effective: str | None
    source: str
    hint: str
    about: str
    docs: str | None
    choices: Sequence[str]
    ops: Sequence[str]
    is_new: bool
    is_secret: bool


def named_resources(names: Sequence[str]) -> list[Resource]:
    """The resources of an address or a form, such as `topic:orders`. All must have the same type."""
    found = list(dict.fromkeys(_resource(each) for each in names))
    if not found:
        raise BadRequest("no resource is selected; add one to the address, as in ?resource=topic:NAME")
    if len(found) > MOST_RESOURCES:
        raise BadRequest(f"{len(found):,} resources are selected; at most {MOST_RESOURCES:,} can be changed at once")
    if len({each.type for each in found}) > 1:
        raise BadRequest("resources of several types cannot be changed at once")
    return found


def _resource(text: str) -> Resource:
    word, colon, name = text.partition(":")
    if not colon or KINDS.get(word) not in CHANGEABLE:
        raise BadRequest(f"{text!r} is not a resource; use topic:NAME, broker:ID, broker:default or group:NAME")
    return resource_of(word, name)


def read_fields(form: QueryParams, resources: Sequence[Resource]) -> Assignments:
    """The alterations requested by a form, the same for all resources. Raises ConfigurationError."""
    kind = resources[0].type
    ops: dict[str, AlterConfigOp] = {}
    for number in _numbers(form):
        key = form.get(f"key.{number}", "").strip()
        word, value = form.get(f"op.{number}", LEAVE), form.get(f"value.{number}", "")
        if word == LEAVE and value != form.get(f"was.{number}", ""):
            word = "set"
        if not key or word == LEAVE:
            continue
        if word not in OPS:
            raise BadRequest(f"{word!r} is not an operation")
        if key in ops:
            raise ConfigurationError(f"{key} was given twice")
        ops[key] = _op(kind, key, OPS[word], value)
    if not ops:
        raise ConfigurationError("the form contains no changes")
    return {key_0: list(ops.values()) for key_0 in resources}


def filled_in(query: QueryParams) -> QueryParams:
    """The parameters of an address that fill in the form: `set=KEY=VALUE` and `unset=KEY`, both repeatable."""
    pairs = [(*each.partition("=")[::2], "set") for each in query.getlist("set")]
    pairs += [(each, "", "unset") for each in query.getlist("unset")]
    fields = [
        (f"{name}.{number}", text)
        for number, (key, value, op) in enumerate(pairs)
        for name, text in (("key", key), ("value", value), ("op", op), ("was", ""))
    ]
    return QueryParams(fields)


def _numbers(form: QueryParams) -> list[int]:
    found = sorted(int(each[4:]) for each in form if each.startswith("key.") and each[4:].isdecimal())
    return found[:MOST_ROWS]


def _op(kind: ResourceType, key: str, op: OpType, text: str) -> AlterConfigOp:
    known = known_key(kind, key)
    if known is None and (close := similar_key(kind, key)) is not None:
        raise ConfigurationError(f"kconf does not know {key}; did you mean {close}?")
    if op is OpType.DELETE:
        return AlterConfigOp(op, key, "")
    return AlterConfigOp(op, key, raw_value(known, text.strip() if known is not None else text))


def key_fields(
    resources: Sequence[Resource], views: Mapping[Resource, View], chosen: Sequence[str], form: QueryParams
) -> list[KeyField]:
    """The rows: keys that are set on the resource (if there is one), chosen keys, earlier input, and an empty row."""
    one = resources[0] if len(resources) == 1 else None
    entries = dict(views[one]) if one is not None and one in views else {}
    own = [] if one is None else [name for name, each in entries.items() if each.source == own_source(one)]
    entered = {form.get(f"key.{number}", "").strip(): number for number in _numbers(form)}
    names = dict.fromkeys([*sorted(own), *chosen, *(each for each in entered if each)])
    fields = [
        _field(resources[0], name, entries.get(name), form, entered.get(name), is_own=name in own) for name in names
    ]
    return [*fields, _empty()]


def _field(
    resource: Resource, name: str, entry: Entry | None, form: QueryParams, number: int | None, *, is_own: bool
) -> KeyField:
    key = known_key(resource.type, name)
    secret = is_sensitive(resource, name, key, entry)
    shown = "" if entry is None or secret else shown_value(name, entry.value)
    was = shown if is_own else ""
    unit = unit_of(name)
    validator = None if key is None else key.validator
    is_list = (key is not None and key.type is ValueType.LIST) or (entry is not None and entry.type is ValueType.LIST)
    hints = [] if validator is None else [str(validator)]
    if unit is not None and unit[0] in _EXAMPLES:
        hints.append(_EXAMPLES[unit[0]])
    if entry is not None and update_mode(resource, entry) == "read-only":
        hints.insert(0, "read-only: the cluster refuses a change of this key")
    return KeyField(
        key=name,
        op=(LEAVE if is_own else "set") if number is None else form.get(f"op.{number}", LEAVE),
        value=was if number is None or secret else form.get(f"value.{number}", ""),
        was=was,
        effective=None if entry is None else ("[hidden]" if secret else shown),
        source="" if entry is None else entry.source.name.lower().replace("_", " "),
        hint="; ".join(hints),
        about="" if key is None else key.about,
        docs=None if key is None else docs_link(resource.type, name),
        choices=() if validator is None else validator.choices,
        ops=["set", "unset", *(["append", "subtract"] if is_list else [])],
        is_new=False,
        is_secret=secret,
    )


def _empty() -> KeyField:
    return KeyField("", "set", "", "", None, "", "", "", None, (), list(OPS), True, False)
