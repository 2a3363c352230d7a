"""Regular expressions that cannot be made to run for ever.

A rule's pattern meets names and values that any client may choose, on the server's only loop, and `re` cannot be
interrupted. So a pattern is taken only where there is one way to read a text with it, or few: no repeat inside a repeat
unless something ends each round, no choices inside a repeat that begin alike, and no long row of repeats that could
take each other's characters. Java must know the pattern too: the pipeline runs on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import prod
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as sre_parse  # type: ignore[attr-defined]
from typing import Any

from kconf.configdef.java_regex import is_java_regex

LONGEST = 256  # characters that are matched; a longer text fits no pattern
_MOST_WAYS = LONGEST**2  # to cut a text between repeats that follow each other

_REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT)
_EVERY = frozenset(range(257))  # Latin-1, and 256 for all that is beyond

Chars = frozenset[int]
Node = tuple[Any, Any]


def compile_safely(text: str, *, search: bool = False) -> re.Pattern[str]:
    """The pattern, or ValueError with a reason that completes "the pattern …".

    To search for it is to try it at every place of a text, as if `.*` stood before it.
    """
    try:
        tree = sre_parse.parse(text)
        pattern = re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"cannot be read: {error}") from None
    if not is_java_regex(text):
        raise ValueError("means nothing to Java, on which the pipeline would run it")
    anywhere = search and not text.startswith(("^", r"\A"))
    _check_row(list(_flat(tree)), [(_EVERY, LONGEST)] if anywhere else [])
    _check(tree)
    return pattern


def _check(nodes: Iterable[Node]) -> None:
    flat = list(_flat(nodes))
    _check_row(flat, [])
    for op, argument in flat:
        if op in _REPEATS and argument[1] > 1:
            _check_rounds(list(_flat(argument[2])))
        for inner in _inner((op, argument)):
            _check(inner)


def _check_rounds(body: Sequence[Node]) -> None:
    """Can one text be cut into rounds in more than one way?"""
    for op, argument in _deep(body):
        if op is sre.BRANCH and not _begin_apart(argument[1]):
            raise ValueError("has choices inside a repeat that may begin with the same character")
    if not any(op in _REPEATS and argument[0] != argument[1] for op, argument in _deep(body)):
        return
    for edge, rest in ((body[0], body[1:]), (body[-1], body[:-1])):
        if edge[0] in (sre.LITERAL, sre.IN, sre.NOT_LITERAL) and _chars([edge]).isdisjoint(_chars(rest)):
            return
    raise ValueError("has a repeat inside a repeat, with nothing between the rounds that only stands there")


def _check_row(flat: Sequence[Node], row: list[tuple[Chars, float]]) -> None:
    """Parts that follow each other and could take the same characters: each multiplies the ways to try."""
    for node in flat:
        begins = _begins(node)
        rivals = [each for each in row if not each[0].isdisjoint(begins)]
        if _needed(node):  # who cannot take what it begins with has ended here
            row = rivals
        ways = _ways(node)
        if ways > 1:
            if ways * prod(each for _, each in rivals) > _MOST_WAYS:
                raise ValueError("has too many repeats in a row that could take the same characters")
            row = [*row, (_chars([node]), ways)]


def _ways(node: Node) -> float:
    """In about how many ways one text can be read by it."""
    op, argument = node
    within = max((_all_ways(inner) for inner in _inner(node)), default=1.0)
    if op in _REPEATS and argument[0] != argument[1]:
        rounds = int(argument[1]) - int(argument[0]) + 1
        return max(within, float(min(rounds**1.5, LONGEST)))
    if op is sre.BRANCH and not _begin_apart(argument[1]):
        return sum(map(_all_ways, argument[1]))
    return within


def _all_ways(nodes: Iterable[Node]) -> float:
    return prod(map(_ways, _flat(nodes)))


def _begin_apart(choices: Iterable[Any]) -> bool:
    firsts = [_first(choice) for choice in choices]
    return len(frozenset[int]().union(*firsts)) == sum(map(len, firsts))


def _flat(nodes: Iterable[Node]) -> Iterable[Node]:
    """The sequence without the groups that only group."""
    for op, argument in nodes:
        if op is sre.SUBPATTERN:
            yield from _flat(argument[3])
        else:
            yield op, argument


def _inner(node: Node) -> list[Any]:
    op, argument = node
    if op in _REPEATS or op is sre.POSSESSIVE_REPEAT:
        return [argument[2]]
    if op is sre.BRANCH:
        return list(argument[1])
    if op in (sre.ASSERT, sre.ASSERT_NOT):
        return [argument[1]]
    if op is sre.ATOMIC_GROUP:
        return [argument]
    if op is sre.GROUPREF_EXISTS:
        return [each for each in argument[1:] if each is not None]
    return []


def _deep(nodes: Iterable[Node]) -> Iterable[Node]:
    for node in _flat(nodes):
        yield node
        for inner in _inner(node):
            yield from _deep(inner)


def _needed(node: Node) -> bool:
    """Whether it always takes a character."""
    op, argument = node
    if op in _REPEATS or op is sre.POSSESSIVE_REPEAT:
        return argument[0] > 0 and any(map(_needed, _flat(argument[2])))
    if op is sre.BRANCH:
        return all(any(map(_needed, _flat(choice))) for choice in argument[1])
    return op in (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY)


def _first(nodes: Iterable[Node]) -> Chars:
    """What it may begin with; everything, where it may be empty."""
    flat = list(_flat(nodes))
    return _begin(flat) if any(map(_needed, flat)) else _EVERY


def _begin(nodes: Iterable[Node]) -> Chars:
    """What it may begin with, unless it is empty."""
    found: Chars = frozenset()
    for node in _flat(nodes):
        found |= _begins(node)
        if _needed(node):
            break
    return found


def _begins(node: Node) -> Chars:
    op, argument = node
    if op in _REPEATS or op is sre.POSSESSIVE_REPEAT:
        return _begin(argument[2])
    if op is sre.BRANCH:
        return frozenset[int]().union(*map(_begin, argument[1]))
    return _chars([node])


def _chars(nodes: Iterable[Node]) -> Chars:
    """All characters that it may take."""
    found: set[int] = set()
    for op, argument in _deep(nodes):
        if op is sre.LITERAL:
            found.add(min(argument, 256))
        elif op is sre.NOT_LITERAL:
            found |= _EVERY - ({argument} if argument < 256 else set())
        elif op is sre.IN:
            found |= _set(argument)
        elif op in (sre.ANY, sre.GROUPREF, sre.GROUPREF_EXISTS):
            return _EVERY
    return frozenset(found)


def _set(items: Iterable[Node]) -> Chars:
    found: set[int] = set()
    negated = False
    for op, argument in items:
        if op is sre.NEGATE:
            negated = True
        elif op is sre.LITERAL:
            found.add(min(argument, 256))
        elif op is sre.RANGE:
            found |= set(range(min(argument[0], 256), min(argument[1], 256) + 1))
        else:
            found |= _category(argument)
    if not negated:
        return frozenset(found)
    return (_EVERY - found) | {256}


def _category(category: Any) -> Chars:
    letter = {"DIGIT": "d", "SPACE": "s", "WORD": "w"}.get(str(category).rsplit("_", 1)[-1])
    if letter is None:
        return _EVERY
    mark = letter.upper() if "NOT" in str(category) else letter
    return frozenset(code for code in range(256) if re.match(rf"\{mark}", chr(code))) | {256}
