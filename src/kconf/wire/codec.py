"""Tables of fields become straight-line readers and writers, one per struct and version (as dataclasses makes __init__).

Readers are total: whatever the bytes, they return a value or raise RemoteProtocolError. Every length is checked against
the bytes left before anything is allocated, and one message may hold at most `MAX_ELEMENTS` array elements, so that a
small frame cannot turn into a large heap. Unknown tags are skipped. Surplus bytes after a body are left alone, as a
real broker does. Writers take `bytes` in place of a struct inside an array: something that was encoded before.
"""

from __future__ import annotations

import struct as _struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Protocol, TypeVar

from kconf.errors import LocalProtocolError, RemoteProtocolError
from kconf.wire.fields import I32, Array, Blob, Field, FieldType, Primitive, Text, fields_of

MAX_ELEMENTS = 1 << 18

T = TypeVar("T")
Out = Callable[[bytes], None]


def decode(cls: type[T], version: int, flexible: bool, data: bytes, start: int = 0) -> T:
    """Read one message body that begins at `start`."""
    try:
        value, _ = reader(cls, version, flexible)(data, start)
    except (_struct.error, IndexError) as error:
        raise RemoteProtocolError(f"{cls.__name__} v{version}: {error}") from None
    except _Bad as error:
        raise RemoteProtocolError(f"{cls.__name__} v{version}: {error}") from None
    return value  # type: ignore[no-any-return]  # compiled code has no types


def encode(value: object, version: int, flexible: bool) -> bytes:
    """Write one struct: a message body, or an element to be joined into one later."""
    parts: list[bytes] = []
    try:
        writer(type(value), version, flexible)(value, parts.append)
    except (_struct.error, AttributeError, TypeError, KeyError) as error:
        raise LocalProtocolError(f"{type(value).__name__} v{version}: {error}") from error
    return b"".join(parts)


class Reader(Protocol):
    def __call__(self, data: bytes, position: int, /) -> tuple[Any, int]: ...


class Writer(Protocol):
    def __call__(self, value: Any, out: Out, /) -> None: ...


class _Bad(Exception):
    """Raised by compiled readers; `decode` names the message."""


@lru_cache(maxsize=None)
def reader(cls: type, version: int, flexible: bool) -> Reader:
    code = _Code("b, p", {"_Bad": _Bad, "uvarint": _read_uvarint, "text": _text})
    code.line(f"e = len(b); left = {MAX_ELEMENTS}")
    result = _ReadStruct(code, version, flexible).struct(cls)
    code.line(f"return {result}, p")
    return code.compile(f"read_{cls.__name__}_v{version}")  # type: ignore[no-any-return]


@lru_cache(maxsize=None)
def writer(cls: type, version: int, flexible: bool) -> Writer:
    code = _Code("o, out", {"uvarint": uvarint, "encode": encode})
    _WriteStruct(code, version, flexible).struct(cls, "o")
    return code.compile(f"write_{cls.__name__}_v{version}")  # type: ignore[no-any-return]


class _Code:
    """Lines of Python under way, with the names they may use."""

    def __init__(self, arguments: str, names: dict[str, Any]) -> None:
        self._lines = [f"def compiled({arguments}):"]
        self._names = names
        self._depth = 1
        self._count = 0

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    def block(self, head: str) -> _Block:
        self.line(head)
        return _Block(self)

    def fresh(self, stem: str) -> str:
        self._count += 1
        return f"{stem}{self._count}"

    def name(self, stem: str, value: object) -> str:
        """Give the compiled code a name for `value`."""
        for name, known in self._names.items():
            if known is value:
                return name
        name = self.fresh(stem)
        self._names[name] = value
        return name

    def packed(self, codes: str) -> str:
        return self.name("S", _packer(codes))

    def compile(self, name: str) -> Any:
        scope = dict(self._names)
        exec(compile("\n".join([*self._lines, "    pass"]), f"<{name}>", "exec"), scope)
        made = scope["compiled"]
        made.__name__ = name
        return made

    def indent(self, by: int) -> None:
        self._depth += by


class _Block:
    def __init__(self, code: _Code) -> None:
        self._code = code

    def __enter__(self) -> None:
        self._code.indent(1)

    def __exit__(self, *_: object) -> None:
        self._code.indent(-1)


@lru_cache(maxsize=None)
def _packer(codes: str) -> _struct.Struct:
    return _struct.Struct(">" + codes)


class _ReadStruct:
    """Emits the code that reads values; every method returns the name that holds the value."""

    def __init__(self, code: _Code, version: int, flexible: bool) -> None:
        self.code, self.version, self.flexible = code, version, flexible

    def struct(self, cls: type) -> str:
        values: dict[str, str] = {}
        run: list[Field] = []
        tagged: list[Field] = []
        for field in fields_of(cls):
            if not field.present(self.version):
                values[field.name] = self.code.name("D", field.default)
            elif field.tag is not None:
                tagged.append(field)
                values[field.name] = self.code.name("D", field.default)
            elif isinstance(field.type, Primitive):
                run.append(field)
            else:
                self._run(run, values)
                values[field.name] = self.value(field.type, nullable=field.nullable <= self.version, what=field.name)
        self._run(run, values)
        if self.flexible:
            self._tags(tagged, values)
        made = self.code.fresh("v")
        arguments = ", ".join(values[field.name] for field in fields_of(cls))
        self.code.line(f"{made} = {self.code.name('C', cls)}({arguments})")
        return made

    def _run(self, run: list[Field], values: dict[str, str]) -> None:
        """Fixed-size fields that stand together are read together."""
        if not run:
            return
        types = [field.type for field in run if isinstance(field.type, Primitive)]
        names = [self.code.fresh("v") for _ in run]
        packer = self.code.packed("".join(each.code for each in types))
        self.code.line(f"{', '.join(names)}, = {packer}.unpack_from(b, p); p += {sum(each.size for each in types)}")
        values.update({field.name: name for field, name in zip(run, names, strict=True)})
        run.clear()

    def value(self, kind: FieldType, *, nullable: bool, what: str) -> str:
        match kind:
            case Primitive():
                made = self.code.fresh("v")
                self.code.line(f"{made}, = {self.code.packed(kind.code)}.unpack_from(b, p); p += {kind.size}")
                return made
            case Text() | Blob():
                return self._sized(kind, nullable, what)
            case Array():
                return self._array(kind, nullable, what)
            case type():
                return self._maybe_struct(kind) if nullable else self.struct(kind)

    def _length(self, wide: bool) -> str:
        n, code = self.code.fresh("n"), self.code
        if self.flexible:
            code.line(f"{n} = b[p]; p += 1")
            with code.block(f"if {n} > 127:"):
                code.line(f"{n}, p = uvarint(b, p - 1)")
            code.line(f"{n} -= 1")
        else:
            letter, size = ("i", 4) if wide else ("h", 2)
            code.line(f"{n}, = {code.packed(letter)}.unpack_from(b, p); p += {size}")
        return n

    def _null(self, n: str, made: str, nullable: bool, what: str) -> _Block:
        with self.code.block(f"if {n} < 0:"):
            self.code.line(f"{made} = None" if nullable else f"raise _Bad({what + ' is null'!r})")
        return self.code.block("else:")

    def _sized(self, kind: Text | Blob, nullable: bool, what: str) -> str:
        made, code = self.code.fresh("v"), self.code
        n = self._length(wide=isinstance(kind, Blob))
        with self._null(n, made, nullable, what):
            q = code.fresh("q")
            code.line(f"{q} = p + {n}")
            with code.block(f"if {q} > e:"):
                code.line(f"raise _Bad({what + ' is cut off'!r})")
            code.line(f"{made} = " + (f"text(b[p:{q}])" if isinstance(kind, Text) else f"b[p:{q}]"))
            code.line(f"p = {q}")
        return made

    def _array(self, kind: Array, nullable: bool, what: str) -> str:
        made, code = self.code.fresh("v"), self.code
        n = self._length(wide=True)
        with self._null(n, made, nullable, what):
            code.line(f"left -= {n}")
            with code.block(f"if {n} * {_least(kind.of, self.version, self.flexible)} > e - p or left < 0:"):
                code.line(f"raise _Bad({what + ' holds more elements than it may'!r})")
            if isinstance(kind.of, Primitive):
                many = code.name("F", _many)
                code.line(f"{made} = list({many}({n}, {kind.of.code!r}).unpack_from(b, p)); p += {n} * {kind.of.size}")
                return made
            code.line(f"{made} = []")
            with code.block(f"for _ in range({n}):"):
                code.line(f"{made}.append({self.value(kind.of, nullable=False, what=what)})")
        return made

    def _maybe_struct(self, cls: type) -> str:
        made = self.code.fresh("v")
        n = self.value(Primitive("i8", "b", 1), nullable=False, what="")
        with self._null(n, made, True, cls.__name__):
            self.code.line(f"{made} = {self.struct(cls)}")
        return made

    def _tags(self, tagged: list[Field], values: dict[str, str]) -> None:
        code = self.code
        n, tag, size, q = (code.fresh(stem) for stem in ("n", "t", "z", "q"))
        for field in tagged:
            name = code.fresh("v")
            code.line(f"{name} = {values[field.name]}")
            values[field.name] = name
        code.line(f"{n} = b[p]; p += 1")
        with code.block(f"if {n}:"):
            with code.block(f"if {n} > 127:"):
                code.line(f"{n}, p = uvarint(b, p - 1)")
            with code.block(f"for _ in range({n}):"):
                code.line(f"{tag}, p = uvarint(b, p); {size}, p = uvarint(b, p); {q} = p + {size}")
                with code.block(f"if {q} > e:"):
                    code.line("raise _Bad('a tagged field is cut off')")
                for field in tagged:
                    with code.block(f"if {tag} == {field.tag}:"):
                        got = self.value(field.type, nullable=field.nullable <= self.version, what=field.name)
                        code.line(f"{values[field.name]} = {got}")
                        with code.block(f"if p != {q}:"):
                            code.line(f"raise _Bad({field.name + ' has another size than its tag says'!r})")
                code.line(f"p = {q}")


class _WriteStruct:
    """Emits the code that writes the value held by an expression."""

    def __init__(self, code: _Code, version: int, flexible: bool) -> None:
        self.code, self.version, self.flexible = code, version, flexible

    def struct(self, cls: type, holder: str) -> None:
        run: list[Field] = []
        tagged: list[Field] = []
        for field in fields_of(cls):
            if not field.present(self.version):
                continue
            if field.tag is not None:
                tagged.append(field)
            elif isinstance(field.type, Primitive):
                run.append(field)
            else:
                self._run(run, holder)
                self.value(field.type, f"{holder}.{field.name}", nullable=field.nullable <= self.version)
        self._run(run, holder)
        if self.flexible:
            self._tags(sorted(tagged, key=lambda field: field.tag or 0), holder)

    def _run(self, run: list[Field], holder: str) -> None:
        if not run:
            return
        codes = "".join(field.type.code for field in run if isinstance(field.type, Primitive))
        self.code.line(f"out({self.code.packed(codes)}.pack({', '.join(f'{holder}.{field.name}' for field in run)}))")
        run.clear()

    def value(self, kind: FieldType, expression: str, *, nullable: bool) -> None:
        code = self.code
        if isinstance(kind, Primitive):
            code.line(f"out({code.packed(kind.code)}.pack({expression}))")
            return
        held = code.fresh("v")
        code.line(f"{held} = {expression}")
        if nullable:
            with code.block(f"if {held} is None:"):
                code.line(f"out({self._nothing(kind)!r})")
            with code.block("else:"):
                self._some(kind, held, nullable=True)
        else:
            self._some(kind, held, nullable=False)

    def _nothing(self, kind: FieldType) -> bytes:
        if isinstance(kind, type):
            return b"\xff"
        if self.flexible:
            return b"\x00"
        return b"\xff\xff" if isinstance(kind, Text) else b"\xff\xff\xff\xff"

    def _length(self, n: str, wide: bool) -> None:
        if self.flexible:
            self.code.line(f"out(uvarint({n} + 1))")
        else:
            self.code.line(f"out({self.code.packed('i' if wide else 'h')}.pack({n}))")

    def _some(self, kind: FieldType, held: str, *, nullable: bool) -> None:
        code = self.code
        match kind:
            case Text():
                code.line(f"{held} = {held}.encode('utf-8', 'replace')")
                self._length(f"len({held})", wide=False)
                code.line(f"out({held})")
            case Blob():
                self._length(f"len({held})", wide=True)
                code.line(f"out({held})")
            case Array():
                self._array(kind, held)
            case type():
                if nullable:
                    code.line(r"out(b'\x01')")
                self.struct(kind, held)
            case Primitive():
                raise AssertionError("primitives are written by value()")

    def _array(self, kind: Array, held: str) -> None:
        code = self.code
        self._length(f"len({held})", wide=True)
        if isinstance(kind.of, Primitive):
            code.line(f"out({code.name('F', _many)}(len({held}), {kind.of.code!r}).pack(*{held}))")
            return
        each = code.fresh("x")
        with code.block(f"for {each} in {held}:"):
            if isinstance(kind.of, type):
                with code.block(f"if type({each}) is bytes:"):
                    code.line(f"out({each})")
                with code.block("else:"):
                    self.struct(kind.of, each)
                    code.line("pass")
            else:
                self.value(kind.of, each, nullable=False)

    def _tags(self, tagged: list[Field], holder: str) -> None:
        code = self.code
        if not tagged:
            code.line(r"out(b'\x00')")
            return
        found = code.fresh("t")
        code.line(f"{found} = []")
        for field in tagged:
            with code.block(f"if {holder}.{field.name} != {code.name('D', field.default)}:"):
                cell = code.name("W", _cell(field, self.version))
                code.line(f"{found}.append(({field.tag}, {cell}({holder}.{field.name})))")
        code.line(f"out(uvarint(len({found})))")
        with code.block(f"for tag, data in {found}:"):
            code.line("out(uvarint(tag)); out(uvarint(len(data))); out(data)")


def _cell(field: Field, version: int) -> Callable[[Any], bytes]:
    """A writer for one tagged value on its own: its size stands before it."""
    code = _Code("o, out", {"uvarint": uvarint})
    _WriteStruct(code, version, True).value(field.type, "o", nullable=field.nullable <= version)
    write = code.compile(f"write_tag_{field.name}")

    def cell(value: Any) -> bytes:
        parts: list[bytes] = []
        write(value, parts.append)
        return b"".join(parts)

    return cell


def _least(kind: FieldType, version: int, flexible: bool) -> int:
    """The fewest bytes that a value of this type takes."""
    match kind:
        case Primitive():
            return kind.size
        case Text():
            return 1 if flexible else 2
        case Blob() | Array():
            return 1 if flexible else I32.size
        case type():
            rows = [field for field in fields_of(kind) if field.present(version) and field.tag is None]
            return sum(_least(field.type, version, flexible) for field in rows) + flexible


@lru_cache(maxsize=256)
def _many(count: int, letter: str) -> _struct.Struct:
    return _struct.Struct(f">{count}{letter}")


_ONE_BYTE = [bytes([n]) for n in range(128)]


def uvarint(n: int) -> bytes:
    """An unsigned number, seven bits a byte, lowest first."""
    if n < 128:
        return _ONE_BYTE[n]
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def _read_uvarint(b: bytes, p: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = b[p]
        p += 1
        value |= (byte & 127) << shift
        if byte < 128:
            break
        shift += 7
        if shift > 28:
            raise _Bad("a length does not end")
    if value > 0x7FFFFFFF:
        raise _Bad("a length is too large")
    return value, p


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
