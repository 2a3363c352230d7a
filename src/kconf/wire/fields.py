"""How a message is declared: a class with one `f(...)` per field, in the order of the wire.

    @struct
    class DescribeConfigsResource:
        resource_type: int = f(I8)
        resource_name: str = f(STRING)
        config_names: Sequence[str] | None = f(Array(STRING), nullable=0)

A field is there from version `since` to version `until`, may be null from version `nullable` on, and travels as a
tagged field where it has a `tag`. `codec.py` turns such a table into straight-line code, once per version.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeVar, dataclass_transform

ALWAYS: Final = 1 << 15


@dataclass(frozen=True, slots=True)
class Primitive:
    """A value of fixed size; `code` is its letter in a struct format, "" where it has none."""

    name: str
    code: str
    size: int


I8 = Primitive("i8", "b", 1)
I16 = Primitive("i16", "h", 2)
I32 = Primitive("i32", "i", 4)
I64 = Primitive("i64", "q", 8)
F64 = Primitive("f64", "d", 8)
BOOL = Primitive("bool", "?", 1)
UUID16 = Primitive("uuid", "16s", 16)


@dataclass(frozen=True, slots=True)
class Text:
    """A string: UTF-8 behind its length."""


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes behind their length."""


STRING = Text()
BYTES = Blob()


@dataclass(frozen=True, slots=True)
class Array:
    """Any number of the same thing."""

    of: FieldType


FieldType = Primitive | Text | Blob | Array | type


@dataclass(frozen=True, slots=True)
class Field:
    """One row of a message's table."""

    name: str
    type: FieldType
    since: int
    until: int
    nullable: int  # the first version in which it may be null
    tag: int | None
    default: Any

    def present(self, version: int) -> bool:
        return self.since <= version <= self.until


_MISSING: Final = object()


@dataclass(frozen=True, slots=True)
class _Row:
    """What `f` returns; `struct` gives it its name."""

    type: FieldType
    since: int
    until: int
    nullable: int
    tag: int | None
    default: Any


def f(
    type: FieldType,  # noqa: A002 – a table reads best with the plain word
    *,
    since: int = 0,
    until: int = ALWAYS,
    nullable: int = ALWAYS,
    tag: int | None = None,
    default: Any = _MISSING,
) -> Any:
    """Declare a field. One that is not there in every version needs a default for the others."""
    return _Row(type, since, until, nullable, tag, default)


class Struct:
    """What all structs can do: be compared and shown."""

    __slots__ = ()
    FIELDS: ClassVar[tuple[Field, ...]] = ()

    def __eq__(self, other: object) -> bool:
        if self.__class__ is not other.__class__:
            return NotImplemented
        return all(getattr(self, each.name) == getattr(other, each.name) for each in self.FIELDS)

    __hash__ = None  # type: ignore[assignment]  # it can be edited

    def __repr__(self) -> str:
        values = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in self.FIELDS)
        return f"{self.__class__.__name__}({values})"


T = TypeVar("T")


@dataclass_transform(field_specifiers=(f,))
def struct(cls: type[T]) -> type[T]:
    """Make a class of declared fields a struct of the wire.

    Not `dataclasses`: a tenth of its time per class, and there are eighty of them at every start of a command.
    """
    rows = {name: row for name, row in vars(cls).items() if isinstance(row, _Row)}
    table = tuple(
        Field(
            name, row.type, row.since, row.until, row.nullable, row.tag, None if row.default is _MISSING else row.default
        )
        for name, row in rows.items()
    )
    arguments = [name if row.default is _MISSING else f"{name}=defaults[{name!r}]" for name, row in rows.items()]
    lines = [f"def __init__(self, {', '.join(arguments)}):", *(f" self.{name} = {name}" for name in rows), " pass"]
    scope: dict[str, Any] = {"defaults": {name: row.default for name, row in rows.items()}}
    exec("\n".join(lines), scope)
    body = {"__slots__": tuple(rows), "__init__": scope["__init__"], "__doc__": cls.__doc__, "FIELDS": table}
    made = type(cls.__name__, (Struct,), {**body, "__module__": cls.__module__, "__annotations__": cls.__annotations__})
    return made  # type: ignore[return-value]  # it stands for the declared class


def fields_of(cls: Any) -> tuple[Field, ...]:
    """The table of a struct."""
    return cls.FIELDS  # type: ignore[no-any-return]  # put there by `struct`
