"""Declares messages: a class with one `f(...)` per field, in wire order.

    @struct
    class DescribeConfigsResource:
        resource_type: int = f(I8)
        resource_name: str = f(STRING)
        config_names: Sequence[str] | None = f(Array(STRING), nullable=0)

A field exists from version `since` to version `until`, may be null from version `nullable` on, is a tagged field if it
has a `tag`, and is not shown by `repr` if it is `secret`. Readers and writers are generated from these declarations,
once per version. Dataclasses are not used, because every command imports this module at startup.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final, NamedTuple, TypeVar, dataclass_transform

ALWAYS: Final = 1 << 15


class Primitive(NamedTuple):
    """A value of fixed size. `code` is its letter in a struct format."""

    name: str
    code: str
    size: int


I8: Final = Primitive("i8", "b", 1)
I16: Final = Primitive("i16", "h", 2)
U16: Final = Primitive("u16", "H", 2)
I32: Final = Primitive("i32", "i", 4)
I64: Final = Primitive("i64", "q", 8)
F64: Final = Primitive("f64", "d", 8)
BOOL: Final = Primitive("bool", "?", 1)
UUID16: Final = Primitive("uuid", "16s", 16)


class Text:
    """A string: a length, then UTF-8."""

    __slots__ = ()


class LongText(Text):
    """A string that may be longer than Kafka's limit. Only in flexible versions."""

    __slots__ = ()


class Blob:
    """A length, then bytes."""

    __slots__ = ()


STRING: Final = Text()
LONG_STRING: Final = LongText()
BYTES: Final = Blob()


class Array:
    """An array of values of one type."""

    __slots__ = ("of",)

    def __init__(self, of: FieldType) -> None:
        self.of = of


FieldType = Primitive | Text | Blob | Array | type

_MISSING: Final = object()


class Field(NamedTuple):
    """One field of a message."""

    name: str
    type: FieldType
    since: int
    until: int
    nullable: int  # the first version in which the field may be null
    tag: int | None
    secret: bool
    given: Any  # the declared default, if any

    @property
    def required(self) -> bool:
        return self.given is _MISSING

    @property
    def default(self) -> Any:
        """The value in versions without this field."""
        return None if self.given is _MISSING else self.given

    def present(self, version: int) -> bool:
        return self.since <= version <= self.until

    def may_be_null(self, version: int) -> bool:
        return self.nullable <= version


def f(
    type: FieldType,  # noqa: A002 – a table reads best with the plain word
    *,
    since: int = 0,
    until: int = ALWAYS,
    nullable: int = ALWAYS,
    tag: int | None = None,
    secret: bool = False,
    default: Any = _MISSING,
) -> Any:
    """Declare a field. A field that does not exist in every version needs a default."""
    return Field("", type, since, until, nullable, tag, secret, default)


class Struct:
    """Base class of all structs: equality and repr."""

    __slots__ = ()
    FIELDS: ClassVar[tuple[Field, ...]] = ()

    def __eq__(self, other: object) -> bool:
        if self.__class__ is not other.__class__:
            return NotImplemented
        return all(getattr(self, each.name) == getattr(other, each.name) for each in self.FIELDS)

    __hash__ = None  # type: ignore[assignment]  # it can be edited

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({', '.join(self._shown(each) for each in self.FIELDS)})"

    def _shown(self, field: Field) -> str:
        value = getattr(self, field.name)
        return f"{field.name}=[hidden]" if field.secret and value is not None else f"{field.name}={value!r}"


T = TypeVar("T")


@dataclass_transform(field_specifiers=(f,))
def struct(cls: type[T]) -> type[T]:
    """Class decorator that turns a class with declared fields into a struct.

    Takes a tenth of the time of `dataclasses`, for a hundred classes.
    """
    table = tuple(row._replace(name=name) for name, row in vars(cls).items() if isinstance(row, Field))
    arguments = [each.name if each.required else f"{each.name}=defaults[{each.name!r}]" for each in table]
    lines = [f"def __init__(self, {', '.join(arguments)}):", *(f" self.{each.name} = {each.name}" for each in table)]
    scope: dict[str, Any] = {"defaults": {each.name: each.given for each in table}}
    exec("\n".join([*lines, " pass"]), scope)
    body = {
        "__slots__": tuple(each.name for each in table),
        "__init__": scope["__init__"],
        "__doc__": cls.__doc__,
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__annotations__": cls.__annotations__,
        "__match_args__": tuple(each.name for each in table),
        "FIELDS": table,
    }
    return type(cls.__name__, (Struct,), body)  # replaces the declared class


def fields_of(cls: Any) -> tuple[Field, ...]:
    """The fields of a struct."""
    return cls.FIELDS  # type: ignore[no-any-return]  # put there by `struct`
