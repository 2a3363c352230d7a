"""Generates writers: straight-line code for one struct and version.

In the generated code, `out` receives the bytes in pieces. An array element may be `bytes` in place of a struct: an
element that is already encoded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kconf.protocol.codec.compiler import Code, many, packer
from kconf.protocol.codec.fields import BOOL, I8, Array, Blob, Field, FieldType, LongText, Primitive, Text, fields_of
from kconf.protocol.codec.varint import MAX_TEXT, ONE_BYTE, uvarint
from kconf.util.slices import in_slices

_I8_BYTES = {n: bytes([n & 255]) for n in range(-128, 128)}


def compile_writer(cls: type, version: int, flexible: bool) -> Any:
    """A function of a value and `out`."""
    code = _code()
    _WriterGenerator(code, version, flexible).struct(cls, "o")
    return code.compile(f"write_{cls.__name__}_v{version}")


def _code() -> Code:
    code = Code("o, out", ONE=ONE_BYTE, I8S=_I8_BYTES, text_size=_text_size, uvarint=uvarint)
    code.line("'''Writes `o`.'''")  # a function needs a body, also for a struct without fields
    return code


def _text_size(n: int) -> bytes:
    if n > MAX_TEXT + 1:
        raise ValueError(f"a string of {n - 1} bytes is too long")
    return uvarint(n)


class _WriterGenerator:
    """Generates code that writes the value of an expression."""

    def __init__(self, code: Code, version: int, flexible: bool) -> None:
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
                self.value(field.type, f"{holder}.{field.name}", nullable=field.may_be_null(self.version))
        if self.flexible and run and not tagged:
            self._run(run, holder, tail="x")  # an additional zero byte: no tags
            return
        self._run(run, holder)
        if self.flexible:
            self._tags(sorted(tagged, key=lambda field: field.tag or 0), holder)

    def _run(self, run: list[Field], holder: str, tail: str = "") -> None:
        """Write adjacent fixed-size fields with one call."""
        types = [field.type for field in run if isinstance(field.type, Primitive)]
        if len(types) == 1 and not tail:
            self._primitive(types[0], f"{holder}.{run[0].name}")
        elif types:
            pack = self.code.name("P", packer("".join(each.code for each in types) + tail)[0])
            self.code.line(f"out({pack}({', '.join(f'{holder}.{field.name}' for field in run)}))")
        run.clear()

    def _primitive(self, kind: Primitive, expression: str) -> None:
        if kind is BOOL:
            self.code.line(f"out(ONE[1] if {expression} else ONE[0])")
        elif kind is I8:
            self.code.line(f"out(I8S[{expression}])")
        else:
            self.code.line(f"out({self.code.name('P', packer(kind.code)[0])}({expression}))")

    def value(self, kind: FieldType, expression: str, *, nullable: bool) -> None:
        code = self.code
        if isinstance(kind, Primitive):
            self._primitive(kind, expression)
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

    def _some(self, kind: FieldType, held: str, *, nullable: bool) -> None:
        code = self.code
        match kind:
            case Text():
                code.line(f"{held} = {held}.encode('utf-8', 'replace')")
                self._size(held, "h", "uvarint" if isinstance(kind, LongText) else "text_size")
                code.line(f"out({held})")
            case Blob():
                self._size(held, "i", "uvarint")
                code.line(f"out({held})")
            case Array():
                self._size(held, "i", "uvarint")
                self._elements(kind.of, held)
            case type():
                if nullable:
                    code.line("out(ONE[1])")
                self.struct(kind, held)
            case Primitive():
                raise AssertionError("primitives are written by value()")

    def _size(self, held: str, letter: str, long: str) -> None:
        n, code = self.code.fresh("n"), self.code
        if self.flexible:
            code.line(f"{n} = len({held}) + 1")
            code.line(f"out(ONE[{n}] if {n} < 128 else {long}({n}))")
        else:
            code.line(f"out({code.name('P', packer(letter)[0])}(len({held})))")

    def _elements(self, kind: FieldType, held: str) -> None:
        code = self.code
        if isinstance(kind, Primitive) and len(kind.code) == 1:
            code.line(f"out({code.name('F', many)}(len({held}), {kind.code!r}).pack(*{held}))")
            return
        each = code.fresh("x")
        with code.block(f"for {each} in {code.name('S', in_slices)}({held}):"):
            if isinstance(kind, type):
                with code.block(f"if type({each}) is bytes:"):
                    code.line(f"out({each})")
                with code.block("else:"):
                    self.struct(kind, each)
            else:
                self.value(kind, each, nullable=False)

    def _tags(self, tagged: list[Field], holder: str) -> None:
        code = self.code
        if not tagged:
            code.line("out(ONE[0])")
            return
        found = code.fresh("t")
        code.line(f"{found} = []")
        for field in tagged:
            held = f"{holder}.{field.name}"
            # As in Kafka, defaults are not sent. An empty sequence of any type is a default.
            empty = isinstance(field.type, Array) and field.default == ()
            differs = f"{held} is None or len({held})" if empty else f"{held} != {code.name('D', field.default)}"
            with code.block(f"if {differs}:"):
                code.line(f"{found}.append(({field.tag}, {code.name('W', _cell(field, self.version))}({held})))")
        code.line(f"out(uvarint(len({found})))")
        with code.block(f"for tag, data in {found}:"):
            code.line("out(uvarint(tag)); out(uvarint(len(data))); out(data)")


def _cell(field: Field, version: int) -> Callable[[Any], bytes]:
    """A writer for one tagged value, which is preceded by its size."""
    code = _code()
    _WriterGenerator(code, version, True).value(field.type, "o", nullable=field.may_be_null(version))
    write = code.compile(f"write_tag_{field.name}")

    def cell(value: Any) -> bytes:
        parts: list[bytes] = []
        write(value, parts.append)
        return b"".join(parts)

    return cell
