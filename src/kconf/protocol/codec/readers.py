"""Generates readers: straight-line code for one struct and version.

In the generated code, `b` is the data, `p` the position, `e` the end, and `left` the number of array elements that the
message may still contain. A count is checked before its array is created. Strings and blobs are slices, which cannot be
longer than the data. The position after a slice may be past the end; then the next read fails, or the check at the end.
"""

from __future__ import annotations

from typing import Any

from kconf.protocol.codec.compiler import Code, many, packer
from kconf.protocol.codec.fields import (
    BOOL,
    I8,
    I32,
    Array,
    Blob,
    Field,
    FieldType,
    LongText,
    Primitive,
    Text,
    fields_of,
)
from kconf.protocol.codec.varint import MAX_TEXT, Malformed, read_uvarint
from kconf.util.slices import steps


def compile_reader(cls: type, version: int, flexible: bool) -> Any:
    """A function of data, start and maximum number of elements. It returns the value and the position after it."""
    code = Code(
        "b, p, left", Malformed=Malformed, new=object.__new__, text_size=_text_size, size=_size, uvarint=read_uvarint
    )
    code.line("e = len(b)")
    made = _ReaderGenerator(code, version, flexible).struct(cls)
    with code.block("if p > e:"):
        code.line("raise Malformed('is truncated')")
    code.line(f"return {made}, p")
    return code.compile(f"read_{cls.__name__}_v{version}")


def _size(b: bytes, p: int) -> tuple[int, int]:
    """A size (plus one, as on the wire) of more than one byte, and the position of its last byte."""
    n, p = read_uvarint(b, p)
    return n, p - 1


def _text_size(b: bytes, p: int) -> tuple[int, int]:
    n, p = _size(b, p)
    if n > MAX_TEXT + 1:
        raise Malformed("has a string that is too long")
    return n, p


class _ReaderGenerator:
    """Generates code. Every method returns the name of the variable with the value."""

    def __init__(self, code: Code, version: int, flexible: bool) -> None:
        self.code, self.version, self.flexible = code, version, flexible

    def struct(self, cls: type) -> str:
        values: dict[str, str] = {}
        run: list[Field] = []
        tagged: list[Field] = []
        for field in fields_of(cls):
            if not field.present(self.version) or (field.tag is not None and not self.flexible):
                values[field.name] = self._default(field)
            elif field.tag is not None:
                tagged.append(field)
            elif isinstance(field.type, Primitive):
                run.append(field)
            else:
                self._run(run, values)
                values[field.name] = self._value(field.type, field.name, nullable=field.may_be_null(self.version))
        self._run(run, values)
        if self.flexible:
            self._tags(tagged, values)
        made = self.code.fresh("v")
        self.code.line(f"{made} = new({self.code.name('C', cls)})")
        for name, value in values.items():
            self.code.line(f"{made}.{name} = {value}")
        return made

    def _default(self, field: Field) -> str:
        plain = field.default is None or type(field.default) in (bool, int, str)
        return repr(field.default) if plain else self.code.name("D", field.default)

    def _run(self, run: list[Field], values: dict[str, str]) -> None:
        """Read adjacent fixed-size fields with one call."""
        types = [field.type for field in run if isinstance(field.type, Primitive)]
        if len(types) == 1:
            values[run[0].name] = self._primitive(types[0])
        elif types:
            names = [self.code.fresh("v") for _ in run]
            unpack = self.code.name("U", packer("".join(each.code for each in types))[1])
            self.code.line(f"{', '.join(names)} = {unpack}(b, p); p += {sum(each.size for each in types)}")
            values.update({field.name: name for field, name in zip(run, names, strict=True)})
        run.clear()

    def _primitive(self, kind: Primitive) -> str:
        made, code = self.code.fresh("v"), self.code
        if kind is BOOL:
            code.line(f"{made} = b[p] != 0; p += 1")
        elif kind is I8:
            code.line(f"{made} = b[p]; p += 1")
            with code.block(f"if {made} > 127:"):
                code.line(f"{made} -= 256")
        else:
            code.line(f"{made}, = {code.name('U', packer(kind.code)[1])}(b, p); p += {kind.size}")
        return made

    def _value(self, kind: FieldType, what: str, *, nullable: bool) -> str:
        match kind:
            case Primitive():
                return self._primitive(kind)
            case Text() | Blob():
                return self._sized(kind, what, nullable)
            case Array():
                return self._array(kind, what, nullable)
            case type():
                return self._maybe_struct(kind) if nullable else self.struct(kind)

    def _null(self, made: str, what: str, nullable: bool) -> None:
        self.code.line(f"{made} = None" if nullable else f"raise Malformed({f'has a null {what}'!r})")

    def _sized(self, kind: Text | Blob, what: str, nullable: bool) -> str:
        code = self.code
        n, q, made = (code.fresh(stem) for stem in "nqv")
        if self.flexible:  # the encoded size is the size plus one; zero is null
            code.line(f"{n} = b[p]")
            with code.block(f"if {n} > 127:"):
                code.line(f"{n}, p = {'size' if isinstance(kind, Blob | LongText) else 'text_size'}(b, p)")
            there, start, end = n, "p + 1", f"p + {n}"
        else:
            size = 2 if isinstance(kind, Text) else 4
            code.line(f"{n}, = {code.name('U', packer('h' if isinstance(kind, Text) else 'i')[1])}(b, p)")
            there, start, end = f"{n} >= 0", f"p + {size}", f"p + {n} + {size}"
        with code.block(f"if {there}:"):
            code.line(f"{q} = {end}")
            code.line(f"{made} = b[{start}:{q}]" + (".decode('utf-8', 'replace')" if isinstance(kind, Text) else ""))
            code.line(f"p = {q}")
        with code.block("else:"):
            self._null(made, what, nullable)
            code.line(f"p = {start}")
        return made

    def _array(self, kind: Array, what: str, nullable: bool) -> str:
        code = self.code
        n, made = code.fresh("n"), code.fresh("v")
        if self.flexible:
            code.line(f"{n} = b[p] - 1; p += 1")
            with code.block(f"if {n} > 126:"):
                code.line(f"{n}, p = uvarint(b, p - 1); {n} -= 1")
        else:
            code.line(f"{n}, = {code.name('U', packer('i')[1])}(b, p); p += 4")
        with code.block(f"if {n} > 0:"):
            code.line(f"left -= {n}")
            with code.block(f"if {n} * {_least(kind.of, self.version, self.flexible)} > e - p or left < 0:"):
                code.line(f"raise Malformed({f'has more {what} than allowed'!r})")
            self._elements(kind.of, n, made, what)
        with code.block(f"elif {n}:"):
            self._null(made, what, nullable)
        with code.block("else:"):
            code.line(f"{made} = []")
        return made

    def _elements(self, kind: FieldType, n: str, made: str, what: str) -> None:
        code = self.code
        if isinstance(kind, Primitive) and len(kind.code) == 1:
            numbers = f"{code.name('F', many)}({n}, {kind.code!r}).unpack_from(b, p)"
            code.line(f"{made} = list({numbers}); p += {n} * {kind.size}")
            return
        code.line(f"{made} = []")
        with (
            code.block(f"for {(m := code.fresh('m'))} in {code.name('S', steps)}({n}):"),
            code.block(f"for _ in range({m}):"),
        ):
            code.line(f"{made}.append({self._value(kind, what, nullable=False)})")

    def _maybe_struct(self, cls: type) -> str:
        made, there = self.code.fresh("v"), self._primitive(I8)
        with self.code.block(f"if {there} < 0:"):
            self.code.line(f"{made} = None")
        with self.code.block("else:"):
            self.code.line(f"{made} = {self.struct(cls)}")
        return made

    def _tags(self, tagged: list[Field], values: dict[str, str]) -> None:
        code = self.code
        for field in tagged:
            values[field.name] = code.fresh("v")
            code.line(f"{values[field.name]} = {self._default(field)}")
        n, tag, size, q = (code.fresh(stem) for stem in "ntzq")
        code.line(f"{n} = b[p]; p += 1")
        with code.block(f"if {n}:"):
            with code.block(f"if {n} > 127:"):
                code.line(f"{n}, p = uvarint(b, p - 1)")
            with code.block(f"for _ in range({n}):"):
                code.line(f"{tag}, p = uvarint(b, p); {size}, p = uvarint(b, p); {q} = p + {size}")
                for field in tagged:
                    with code.block(f"if {tag} == {field.tag}:"):
                        got = self._value(field.type, field.name, nullable=field.may_be_null(self.version))
                        code.line(f"{values[field.name]} = {got}")
                        with code.block(f"if p != {q}:"):
                            code.line(f"raise Malformed({f'has a {field.name} that does not match its size'!r})")
                code.line(f"p = {q}")


def _least(kind: FieldType, version: int, flexible: bool) -> int:
    """The minimum size of a value of this type in bytes."""
    match kind:
        case Primitive():
            return kind.size
        case Text():
            return 1 if flexible else 2
        case Blob() | Array():
            return 1 if flexible else I32.size
        case type():
            rows = [field for field in fields_of(kind) if field.present(version) and field.tag is None]
            return sum(_least_of(field, version, flexible) for field in rows) + flexible


def _least_of(field: Field, version: int, flexible: bool) -> int:
    absent = isinstance(field.type, type) and field.may_be_null(version)
    return 1 if absent else _least(field.type, version, flexible)
