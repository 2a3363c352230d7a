"""The query in the search field of a list: words, patterns, conditions on values, and flags.

`orders` is part of a name, `orders.*` a pattern for the whole name, `retention.ms>30d` a condition as in `--where`,
`owner:payments` an owner, and `is:drifted` a flag. All must match. Use quotes for text with spaces.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from kconf.client.contexts.context import is_glob
from kconf.errors import ConfigurationError
from kconf.model.resource import ResourceType
from kconf.operations.where import WhereCondition, parse_conditions

FLAGS: Final = {
    "set": "something is set on it",
    "drifted": "it differs from the declared files",
    "violating": "it violates a rule of the policy",
    "internal": "internal topics",
}
"""What may follow `is:`, and what it means."""
OWNER: Final = "owner:"
FLAG: Final = "is:"


class QueryError(ConfigurationError):
    """The query is not valid."""


@dataclass(frozen=True)
class ListQuery:
    """`words` are lower case. `owner` is None for any owner, empty for no owner."""

    words: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    conditions: tuple[WhereCondition, ...] = ()
    owner: str | None = None
    flags: frozenset[str] = frozenset()

    def matches_name(self, name: str) -> bool:
        lower = name.lower()
        return all(each in lower for each in self.words) and all(fnmatchcase(name, each) for each in self.patterns)


def parse_query(text: str, kind: ResourceType | None) -> ListQuery:
    """If `kind` is None, the resources of the list have no keys, and conditions are not allowed."""
    try:
        tokens = shlex.split(text)
    except ValueError:
        raise QueryError("a quote is not closed") from None
    words, patterns, conditions, owner, flags = [], [], [], None, set()
    for each in tokens:
        if each.startswith(OWNER):
            owner = each.removeprefix(OWNER)
        elif each.startswith(FLAG):
            flags.add(_flag(each.removeprefix(FLAG)))
        elif any(sign in each for sign in "<>=!"):
            conditions.append(_condition(each, kind))
        elif is_glob(each):
            patterns.append(each)
        else:
            words.append(each.lower())
    return ListQuery(tuple(words), tuple(patterns), tuple(conditions), owner, frozenset(flags))


def _flag(word: str) -> str:
    if word not in FLAGS:
        raise QueryError(f"is:{word} is not a flag; use {', '.join(FLAG + each for each in FLAGS)}")
    return word


def _condition(text: str, kind: ResourceType | None) -> WhereCondition:
    if kind is None:
        raise QueryError(f"{text!r}: this list has no values to compare")
    try:
        return parse_conditions([text], kind)[0]
    except ConfigurationError as error:
        raise QueryError(str(error).removeprefix("--where: ").replace("--where takes", "a condition is")) from None
