"""Collects generated Python code and the names that it uses. `readers.py` and `writers.py` generate it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import Any


class Code:
    """The source of one generated function."""

    def __init__(self, arguments: str, **names: object) -> None:
        self._lines = [f"def compiled({arguments}):"]
        self._names: dict[str, object] = names
        self._depth = 1
        self._count = 0

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """An indented block below `head`. May be empty."""
        self.line(head)
        self._depth += 1
        before = len(self._lines)
        yield
        if len(self._lines) == before:
            self.line("pass")
        self._depth -= 1

    def fresh(self, stem: str) -> str:
        self._count += 1
        return f"{stem}{self._count}"

    def name(self, stem: str, value: object) -> str:
        """A name for `value` in the generated code."""
        for name, known in self._names.items():
            if known is value:
                return name
        name = self.fresh(stem)
        self._names[name] = value
        return name

    def compile(self, name: str) -> Any:
        scope = dict(self._names)
        exec(compile("\n".join(self._lines), f"<{name}>", "exec"), scope)
        made: Any = scope["compiled"]
        made.__name__ = name
        return made


@cache
def packer(codes: str) -> tuple[Any, Any]:
    """`pack` and `unpack_from` of a big-endian format. Cached by format."""
    made = struct.Struct(">" + codes)
    return made.pack, made.unpack_from


@lru_cache(maxsize=256)
def many(count: int, code: str) -> struct.Struct:
    """The format of an array of numbers."""
    return struct.Struct(f">{count}{code}")
