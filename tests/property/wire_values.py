"""Every message of `kconf.protocol.apis`, with random values generated from its table of fields."""

from __future__ import annotations

import itertools
import string
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from hypothesis import strategies as st

from kconf.errors import ErrorCode
from kconf.protocol.apis import APIS, Api
from kconf.protocol.codec.fields import (
    BOOL,
    F64,
    I8,
    I16,
    I32,
    I64,
    U16,
    UUID16,
    Array,
    Blob,
    Field,
    FieldType,
    Primitive,
    Text,
    fields_of,
)

OURS = 10_000  # tags from here on are kconf's own
FIRST_EXTENSION = 2000  # and so are API keys from here on


class Message(NamedTuple):
    """One direction of one API in one version."""

    api: Api
    version: int
    side: str

    @property
    def cls(self) -> type[Any]:
        return self.api.request if self.side == "request" else self.api.response

    @property
    def flexible(self) -> bool:
        return self.api.is_flexible(self.version)

    def __str__(self) -> str:
        return f"{self.api.name}-v{self.version}-{self.side}"


MESSAGES = [
    Message(api, version, side)
    for api in APIS.values()
    for version in range(api.min, api.max + 1)
    for side in ("request", "response")
]


def values(cls: type[Any], version: int, *, ours: bool = True) -> st.SearchStrategy[Any]:
    """Any value of a struct in this version; without kconf's own tags if not `ours`."""
    made = {
        field.name: _field(field, version, ours)
        for field in fields_of(cls)
        if field.present(version) and (ours or field.tag is None or field.tag < OURS)
    }
    absent = {field.name: field.default for field in fields_of(cls) if field.name not in made}
    return st.builds(lambda **drawn: cls(**drawn, **absent), **made)


def fullest(cls: type[Any], version: int) -> Any:
    """The fullest value of a struct: no nulls, no defaults, two elements in every list, all different."""
    return _fullest_struct(cls, version, itertools.count(1))


_LAST_OF_KIO = 133
"""The codes of Kafka 4.4 are newer than kio."""


def _is_code(field: Field) -> bool:
    return field.name == "error_code" or field.name.endswith("_error_code")


def _field(field: Field, version: int, ours: bool) -> st.SearchStrategy[Any]:
    if _is_code(field):
        made: st.SearchStrategy[Any] = st.sampled_from([int(code) for code in ErrorCode if code <= _LAST_OF_KIO])
    elif field.name.endswith("_ms"):  # kio has a timedelta, which holds fewer milliseconds than an i64
        lowest = -1 if field.type is I64 else -(2**31)  # the earliest point in time that kio accepts
        made = st.integers(lowest, 2**31 - 1)
    else:
        made = _any(field.type, version, ours)
    if field.may_be_null(version):
        made = st.none() | made
    if field.tag is not None and isinstance(field.type, Array):
        made = made.map(lambda elements: elements or field.default)  # an empty one is not sent, and read as the default
    return made


_TEXT = (
    st.text(max_size=5) | st.text(string.ascii_letters, max_size=5) | st.sampled_from(["x" * 126, "é" * 64, "x" * 400])
)
_PRIMITIVES: dict[Primitive, st.SearchStrategy[Any]] = {
    BOOL: st.booleans(),
    F64: st.floats(allow_nan=False),
    U16: st.integers(0, 0xFFFF),
    UUID16: st.binary(min_size=16, max_size=16),
    **{kind: st.integers(-(1 << 8 * kind.size - 1), (1 << 8 * kind.size - 1) - 1) for kind in (I8, I16, I32, I64)},
}


def _any(kind: FieldType, version: int, ours: bool) -> st.SearchStrategy[Any]:
    match kind:
        case Primitive():
            return _PRIMITIVES[kind]
        case Text():
            return _TEXT
        case Blob():
            return st.binary(max_size=8) | st.just(bytes(200))
        case Array():
            return st.lists(_any(kind.of, version, ours), max_size=3)
        case type():
            return values(kind, version, ours=ours)


def _fullest_struct(cls: type[Any], version: int, numbers: Iterator[int]) -> Any:
    made = {
        field.name: _fullest_field(field, version, numbers)
        for field in fields_of(cls)
        if field.present(version) and (field.tag is None or field.tag < OURS)
    }
    return cls(**{field.name: made.get(field.name, field.default) for field in fields_of(cls)})


def _fullest_field(field: Field, version: int, numbers: Iterator[int]) -> Any:
    if _is_code(field):
        return next(numbers) % 80 + 1
    return _fullest(field.type, version, numbers)


_FULL: dict[Primitive, Callable[[int], Any]] = {
    BOOL: lambda n: True,
    F64: lambda n: n + 0.5,
    UUID16: lambda n: n.to_bytes(16, "big"),
    I8: lambda n: n % 127 + 1,
    I16: lambda n: n * 7,
    U16: lambda n: n * 7,
    I32: lambda n: n * 70_000,
    I64: lambda n: n * 70_000,
}


def _fullest(kind: FieldType, version: int, numbers: Iterator[int]) -> Any:
    match kind:
        case Primitive():
            return _FULL[kind](next(numbers))
        case Text():
            return f"text {next(numbers)}"
        case Blob():
            return b"blob %d" % next(numbers)
        case Array():
            return [_fullest(kind.of, version, numbers) for _ in range(2)]
        case type():
            return _fullest_struct(kind, version, numbers)
