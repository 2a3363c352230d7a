"""Reads all YAML files: policies, declarations, contexts, quotas. PyYAML is imported when a file is read.

`compose` builds nodes from the parser's events without recursion, so that ten thousand topics are read fast and deep
nesting cannot exhaust the stack (PyYAML's own composers are slow in Python and overflow the stack in C). Nodes are not
converted to Python values by YAML's rules: `yes`, `007` and `1_000` remain text. `YamlReader` reads typed values from
nodes and collects all errors with line and column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from kconf.errors import ConfigurationError

S = TypeVar("S")
T = TypeVar("T")

NULL: Final = "tag:yaml.org,2002:null"
TEXT: Final = "tag:yaml.org,2002:str"
_NULLS: Final = frozenset(["", "~", "null", "Null", "NULL"])
_MAX_DEPTH: Final = 100


class ParseError(NamedTuple):
    """An error at a position in a file. Line and column start at 1."""

    line: int
    column: int
    text: str


class ParseErrors(ConfigurationError):
    """All errors of some files, printed as lines `file:line:column: message`."""

    def __init__(self, errors: Mapping[str, Iterable[ParseError]]) -> None:
        self.errors = {file: tuple(sorted(dict.fromkeys(found))) for file, found in errors.items()}
        places = ((file, *error) for file, found in self.errors.items() for error in found)
        super().__init__("\n".join(f"{file}:{line}:{column}: {text}" for file, line, column, text in places))


class YamlNode:
    """A node with its position. `id` is scalar, sequence or mapping. The value of a mapping is a list of pairs."""

    __slots__ = ("end_mark", "flow_style", "id", "start_mark", "tag", "value")

    def __init__(self, id: str, tag: str, value: Any, event: Any) -> None:  # noqa: A002
        self.id, self.tag, self.value = id, tag, value
        self.start_mark, self.end_mark = event.start_mark, event.end_mark
        self.flow_style = False

    @property
    def is_null(self) -> bool:
        """Whether there is no value, as in `topics:`."""
        return self.id == "scalar" and self.tag == NULL

    def error(self, text: str) -> ParseError:
        return ParseError(self.start_mark.line + 1, self.start_mark.column + 1, text)


# -- nodes -----------------------------------------------------------------------------------------------------------


def compose(text: str, file: str) -> YamlNode | None:
    """Parse a single document. None if there are only comments. Raises ParseErrors if it is not YAML.

    An alias is the same object as the node that it refers to.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _compose(yaml.parse(text, loader))
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        error = ParseError(line, column, f"not YAML: {problem.problem or problem.context}")
    except yaml.reader.ReaderError as problem:
        error = _error_at(text, problem.position, "not YAML: it contains an illegal character")
    except UnicodeEncodeError as problem:
        error = _error_at(text, problem.start, "not YAML: it contains half of a surrogate pair")
    except _InvalidYaml as problem:
        error = problem.error
    raise ParseErrors({file: [error]})


class _InvalidYaml(Exception):
    def __init__(self, text: str, mark: Any) -> None:
        self.error = ParseError(mark.line + 1, mark.column + 1, text)


def _error_at(text: str, position: int, problem: str) -> ParseError:
    before = text[:position]
    return ParseError(before.count("\n") + 1, len(before) - before.rfind("\n"), problem)


def _compose(events: Any) -> YamlNode | None:
    from yaml import events as kinds

    tree = _Composer()
    for event in events:
        kind = event.__class__
        if kind is kinds.ScalarEvent:
            plain = event.implicit[0] and not event.tag
            tag = event.tag or (NULL if plain and event.value in _NULLS else TEXT)
            tree.add(YamlNode("scalar", tag, event.value, event), event.anchor)
        elif kind is kinds.MappingStartEvent:
            tree.open(YamlNode("mapping", "", [], event), event)
        elif kind is kinds.SequenceStartEvent:
            tree.open(YamlNode("sequence", "", [], event), event)
        elif kind is kinds.MappingEndEvent or kind is kinds.SequenceEndEvent:
            tree.close(event)
        elif kind is kinds.AliasEvent:
            tree.add(tree.aliased(event), None)
        elif kind is kinds.DocumentStartEvent and tree.root is not None:
            raise _InvalidYaml("a file must contain one document; move the others to separate files", event.start_mark)
    return tree.root


class _Composer:
    """The tree so far: the open collections, each with the key whose value comes next."""

    def __init__(self) -> None:
        self.root: YamlNode | None = None
        self._anchors: dict[str, YamlNode] = {}
        self._above: list[tuple[YamlNode | None, YamlNode | None]] = []
        self._open: YamlNode | None = None
        self._key: YamlNode | None = None

    def add(self, node: YamlNode, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = node
        parent = self._open
        if parent is None:
            self.root = node
        elif parent.id == "sequence":
            parent.value.append(node)
        elif self._key is None:
            self._key = node
        else:
            parent.value.append((self._key, node))
            self._key = None

    def open(self, node: YamlNode, event: Any) -> None:
        self.add(node, event.anchor)
        if len(self._above) > _MAX_DEPTH:
            raise _InvalidYaml("nested too deeply", node.start_mark)
        node.flow_style = bool(event.flow_style)
        self._above.append((self._open, self._key))
        self._open, self._key = node, None

    def close(self, event: Any) -> None:
        if self._open is not None:
            self._open.end_mark = event.end_mark
        self._open, self._key = self._above.pop()

    def aliased(self, event: Any) -> YamlNode:
        node = self._anchors.get(event.anchor)
        if node is None:
            raise _InvalidYaml(f"undefined alias *{event.anchor}", event.start_mark)
        if node is self._open or any(node is above for above, _ in self._above):
            raise _InvalidYaml(f"&{event.anchor} contains itself", event.start_mark)
        return node


# -- values ----------------------------------------------------------------------------------------------------------


class InvalidNode(Exception):
    """Ends the reading of a part with an error. The error itself is in `YamlReader.errors`."""


class YamlReader:
    """Reads the nodes of one file and collects its errors. `raise self.invalid(node, …)` ends the reading of a part."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.errors: list[ParseError] = []

    def compose(self, text: str) -> YamlNode | None:
        """The root node, or None if the text is empty or not YAML."""
        try:
            return compose(text, self.file)
        except ParseErrors as problem:
            self.errors.extend(problem.errors[self.file])
            return None

    def raise_errors(self) -> None:
        if self.errors:
            raise ParseErrors({self.file: self.errors})

    def report(self, node: YamlNode, text: str) -> None:
        self.errors.append(node.error(text))

    def invalid(self, node: YamlNode, text: str) -> InvalidNode:
        self.report(node, text)
        return InvalidNode()

    def fields(self, node: YamlNode, known: Sequence[str], what: str) -> dict[str, YamlNode]:
        """The fields of a mapping. Unknown and repeated fields are reported and ignored."""
        found: dict[str, YamlNode] = {}
        for key, value in self.pairs(node, what):
            name = key.value
            if name in found:
                self.report(key, f"{name} occurs twice in {what}")
            elif name not in known:
                self.report(key, f"unknown field {name!r} in {what}{suggestion(name, known)}")
            else:
                found[name] = value
        return found

    def pairs(self, node: YamlNode, what: str) -> list[tuple[YamlNode, YamlNode]]:
        if node.id != "mapping":
            raise self.invalid(node, f"{what} must be a mapping of fields")
        for key, _ in node.value:
            if key.id != "scalar":
                raise self.invalid(key, f"field names in {what} must be strings")
        return list(node.value)

    def required(self, node: YamlNode, fields: Mapping[str, YamlNode], name: str, what: str) -> YamlNode:
        if name not in fields:
            raise self.invalid(node, f"{what} needs the field {name}")
        return fields[name]

    def text(self, node: YamlNode, what: str) -> str:
        if node.id != "scalar" or node.is_null or not node.value.strip():
            raise self.invalid(node, f"{what} must be a string")
        if not node.value.isascii() and any("\ud800" <= each <= "\udfff" for each in node.value):
            raise self.invalid(node, f"{what} contains half of a surrogate pair (an escape from \\ud800 to \\udfff)")
        return str(node.value)

    def flag(self, node: YamlNode, what: str) -> bool:
        text = self.text(node, what)
        if text not in ("true", "false"):
            raise self.invalid(node, f"{what} must be true or false: {text!r}")
        return text == "true"

    def items(self, node: YamlNode, what: str) -> list[YamlNode]:
        """The items of a list. A single item needs no brackets."""
        items = list(node.value) if node.id == "sequence" else [node]
        if not items:
            raise self.invalid(node, f"{what} must not be empty")
        return items

    def attempt(self, read: Callable[[], T]) -> T | None:
        """The result of `read`, or None after an error, so that reading can continue and find more errors."""
        try:
            return read()
        except InvalidNode:
            return None

    def read_each(self, items: Iterable[S], read: Callable[[S], T]) -> tuple[T, ...]:
        """Read all items, then raise InvalidNode if any of them is invalid."""
        values: list[T] = []
        failed = False
        for item in items:
            try:
                values.append(read(item))
            except InvalidNode:
                failed = True
        if failed:
            raise InvalidNode
        return tuple(values)


def suggestion(word: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches  # needed only after an error

    close = get_close_matches(word, list(known), 1, 0.6)
    return f"; did you mean {close[0]}?" if close else ""
