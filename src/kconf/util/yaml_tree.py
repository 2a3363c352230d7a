"""A YAML text as a tree of marked nodes, and every mistake in it with line and column.

Nodes are never turned into Python values, so nothing is guessed. PyYAML is imported when a file is read, and lives
here only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from kconf.errors import ConfigurationError

S = TypeVar("S")
T = TypeVar("T")


class YamlNode(Protocol):
    """PyYAML's: `id` is scalar, sequence or mapping."""

    id: str
    tag: str
    value: Any
    start_mark: Any


class ParseError(NamedTuple):
    """Where and what; both numbers count from 1."""

    line: int
    column: int
    text: str


class ParseErrors(ConfigurationError):
    """All that is wrong with a file of rules; prints as lines `file:line:column: sentence`."""

    def __init__(self, file: str, mistakes: Iterable[ParseError]) -> None:
        self.mistakes = tuple(sorted(mistakes))
        super().__init__("\n".join(f"{file}:{line}:{column}: {text}" for line, column, text in self.mistakes))


class Wrong(Exception):
    """A mistake that ends the reading of the part it is in."""


class YamlTree:
    """Reads nodes, and notes what is wrong with them. `raise wrong(node, …)` ends the reading of the part it is in."""

    def __init__(self) -> None:
        self.mistakes: list[ParseError] = []

    def compose(self, text: str) -> YamlNode | None:
        import yaml

        try:
            node: YamlNode | None = yaml.compose(text, yaml.SafeLoader)  # the C one is faster, and dies of deep nesting
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
            self.mistakes.append(ParseError(line, column, f"this is no YAML: {error.problem or error.context}"))
        except yaml.reader.ReaderError as error:
            before = text[: error.position]
            place = before.count("\n") + 1, len(before) - before.rfind("\n")
            self.mistakes.append(ParseError(*place, "this is no YAML: a character that may not stand in it"))
        except RecursionError:
            self.mistakes.append(ParseError(1, 1, "this is nested too deeply"))
        else:
            if node is None:
                self.mistakes.append(ParseError(1, 1, "the file is empty; a policy without rules says `rules: []`"))
            return node
        return None

    def note(self, node: YamlNode, text: str) -> None:
        self.mistakes.append(ParseError(node.start_mark.line + 1, node.start_mark.column + 1, text))

    def wrong(self, node: YamlNode, text: str) -> Wrong:
        self.note(node, text)
        return Wrong()

    def fields(self, node: YamlNode, known: Sequence[str], what: str) -> dict[str, YamlNode]:
        """The fields of a mapping; those that are unknown or repeated are told and left out."""
        found: dict[str, YamlNode] = {}
        for key, value in self.pairs(node, what):
            name = key.value
            if name in found:
                self.note(key, f"{name} stands twice in {what}")
            elif name not in known:
                self.note(key, f"{what} has no field {name!r}{hint(name, known)}")
            else:
                found[name] = value
        return found

    def pairs(self, node: YamlNode, what: str) -> list[tuple[YamlNode, YamlNode]]:
        if node.id != "mapping":
            raise self.wrong(node, f"{what} must be a mapping of fields")
        for key, _ in node.value:
            if key.id != "scalar":
                raise self.wrong(key, f"the name of a field must be a text in {what}")
        return list(node.value)

    def needed(self, node: YamlNode, fields: Mapping[str, YamlNode], name: str, what: str) -> YamlNode:
        if name not in fields:
            raise self.wrong(node, f"{what} needs the field {name}")
        return fields[name]

    def text(self, node: YamlNode, what: str) -> str:
        if node.id != "scalar" or node.tag.endswith(":null") or not node.value.strip():
            raise self.wrong(node, f"{what} must be a text")
        if not node.value.isascii() and any("\ud800" <= each <= "\udfff" for each in node.value):
            raise self.wrong(node, f"{what} holds half a character (an escape from \\ud800 to \\udfff)")
        return str(node.value)

    def flag(self, node: YamlNode, what: str) -> bool:
        text = self.text(node, what)
        if text not in ("true", "false"):
            raise self.wrong(node, f"{what} must be true or false: {text!r}")
        return text == "true"

    def items(self, node: YamlNode, what: str) -> list[YamlNode]:
        """The items of a list; one alone needs no brackets."""
        items = list(node.value) if node.id == "sequence" else [node]
        if not items:
            raise self.wrong(node, f"{what} must not be empty")
        return items

    def attempt(self, read: Callable[[], T]) -> T | None:
        """What was read, or None after a mistake: the rest of the rule is worth reading."""
        try:
            return read()
        except Wrong:
            return None

    def each(self, items: Iterable[S], read: Callable[[S], T]) -> tuple[T, ...]:
        """Read them all, and only then stop at the mistakes."""
        read_so_far: list[T] = []
        whole = True
        for item in items:
            try:
                read_so_far.append(read(item))
            except Wrong:
                whole = False
        if not whole:
            raise Wrong
        return tuple(read_so_far)


def hint(word: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches  # only a mistake needs it

    close = get_close_matches(word, list(known), 1, 0.6)
    return f"; did you mean {close[0]}?" if close else ""
