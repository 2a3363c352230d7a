"""A YAML text as marked nodes, made of the parser's events without recursion.

Files of ten thousand topics are read in a moment, and no depth of nesting can exhaust the stack: PyYAML's own composers
are either slow (in Python) or die of it (in C). An alias is the very node that it stands for.
"""

from __future__ import annotations

from typing import Any, Final

_NULLS: Final = frozenset(["", "~", "null", "Null", "NULL"])
_DEEPEST: Final = 100
NULL: Final = "tag:yaml.org,2002:null"
TEXT: Final = "tag:yaml.org,2002:str"


class MarkedNode:
    """As PyYAML's nodes: `id` is scalar, sequence or mapping; a mapping's value is a list of pairs."""

    __slots__ = ("id", "start_mark", "tag", "value")

    def __init__(self, id: str, tag: str, value: Any, start_mark: Any) -> None:  # noqa: A002
        self.id, self.tag, self.value, self.start_mark = id, tag, value, start_mark


class YamlSyntaxError(ValueError):
    """What is no YAML; `line` and `column` count from 1."""

    def __init__(self, text: str, line: int, column: int) -> None:
        super().__init__(text)
        self.line, self.column = line, column


def compose(text: str) -> MarkedNode | None:
    """The one document of a text, or None where it has none; `YamlSyntaxError` where it is no YAML."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _compose(yaml.parse(text, loader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise YamlSyntaxError(f"this is no YAML: {error.problem or error.context}", line, column) from None
    except yaml.reader.ReaderError as error:
        line, column = _place(text, error.position)
        raise YamlSyntaxError("this is no YAML: a character that may not stand in it", line, column) from None
    except UnicodeEncodeError as error:
        line, column = _place(text, error.start)
        raise YamlSyntaxError("this is no YAML: half a character", line, column) from None


def _compose(events: Any) -> MarkedNode | None:
    from yaml import events as kinds

    tree = _Growing()
    for event in events:
        kind = event.__class__
        if kind is kinds.ScalarEvent:
            plain = event.implicit[0] and not event.tag
            tag = event.tag or (NULL if plain and event.value in _NULLS else TEXT)
            tree.add(MarkedNode("scalar", tag, event.value, event.start_mark), event.anchor)
        elif kind is kinds.MappingStartEvent:
            tree.open(MarkedNode("mapping", "", [], event.start_mark), event.anchor)
        elif kind is kinds.SequenceStartEvent:
            tree.open(MarkedNode("sequence", "", [], event.start_mark), event.anchor)
        elif kind is kinds.MappingEndEvent or kind is kinds.SequenceEndEvent:
            tree.close()
        elif kind is kinds.AliasEvent:
            if event.anchor not in tree.anchors:
                raise _trouble(f"nothing before it is called &{event.anchor}", event.start_mark)
            tree.add(tree.anchors[event.anchor], None)
        elif kind is kinds.DocumentStartEvent and tree.root is not None:
            raise _trouble("a file holds one document: write a second file", event.start_mark)
    return tree.root


class _Growing:
    """The tree so far: the collection that is open, and those above it, each with the key that waits for its value."""

    def __init__(self) -> None:
        self.root: MarkedNode | None = None
        self.anchors: dict[str, MarkedNode] = {}
        self._above: list[tuple[MarkedNode | None, MarkedNode | None]] = []
        self._open: MarkedNode | None = None
        self._key: MarkedNode | None = None

    def add(self, node: MarkedNode, anchor: str | None) -> None:
        if anchor is not None:
            self.anchors[anchor] = node
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

    def open(self, node: MarkedNode, anchor: str | None) -> None:
        self.add(node, anchor)
        if len(self._above) > _DEEPEST:
            raise _trouble("this is nested too deeply", node.start_mark)
        self._above.append((self._open, self._key))
        self._open, self._key = node, None

    def close(self) -> None:
        self._open, self._key = self._above.pop()


def _trouble(text: str, mark: Any) -> YamlSyntaxError:
    return YamlSyntaxError(text, mark.line + 1, mark.column + 1)


def _place(text: str, position: int) -> tuple[int, int]:
    before = text[:position]
    return before.count("\n") + 1, len(before) - before.rfind("\n")
