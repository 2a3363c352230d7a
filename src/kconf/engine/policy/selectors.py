"""Selectors of rules: names, globs, regular expressions, labels; and the severity of a violation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import translate
from functools import cached_property
from re import compile as compile_glob
from typing import Protocol

from kconf.engine.policy.regex import LONGEST, compile_regex
from kconf.model.resource import Resource, ResourceType


class Severity(StrEnum):
    ERROR = "error"  # refuses the change
    WARN = "warn"  # allows it with a warning


class Matcher(Protocol):
    """A compiled pattern."""

    def search(self, text: str, /) -> object:
        """Something true if the pattern is found anywhere in the text."""


@dataclass(frozen=True, slots=True)
class NamePattern:
    """A name, a glob (`*`, `?`, `[abc]`) that matches the whole name, or a /regular expression/ that matches a part."""

    text: str

    @property
    def is_regex(self) -> bool:
        return len(self.text) > 1 and self.text.startswith("/") and self.text.endswith("/")

    @property
    def regex(self) -> str:
        """The regular expression to search names for. That of a glob means the same in Python and Java."""
        return self.text[1:-1] if self.is_regex else rf"\A{translate(self.text)}"

    def compiled(self) -> Matcher:
        """Raises ValueError for an expression that RE2 does not know."""
        return compile_regex(self.regex) if self.is_regex else compile_glob(self.regex)


@dataclass(frozen=True)
class Names:
    """Matches any of these patterns; without patterns, every name."""

    patterns: tuple[NamePattern, ...] = ()

    @cached_property
    def _compiled(self) -> tuple[Matcher, ...]:
        return tuple(each.compiled() for each in self.patterns)

    def matches(self, name: str) -> bool:
        if not self.patterns or len(name) > LONGEST:  # too long to match: evaluated rather than skipped
            return True
        return any(each.search(name) for each in self._compiled)


@dataclass(frozen=True)
class RuleSelector:
    """The resources of a rule. `default` is for brokers: None both, True only the cluster-wide default, False only
    single ones."""

    type: ResourceType
    names: Names = Names()
    excepted: tuple[NamePattern, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    default: bool | None = None

    def selects(self, resource: Resource, labels: Mapping[str, str]) -> bool:
        if resource.type != self.type or (self.default is not None and self.default != (not resource.name)):
            return False
        if not self.names.matches(resource.name) or (self.excepted and self._spared.matches(resource.name)):
            return False
        return all(labels.get(name) == value for name, value in self.labels)

    @property
    def is_general(self) -> bool:
        """Whether it matches every resource of its type, including future ones, except those it excludes."""
        patterns = self.names.patterns
        return not self.labels and (not patterns or any(each.text == "*" for each in patterns))

    @cached_property
    def _spared(self) -> Names:
        return Names(self.excepted)


@dataclass(frozen=True, slots=True)
class Labelled:
    """Labels for the resources that a pattern matches. If several match, the last one wins, for each label."""

    selector: RuleSelector
    labels: tuple[tuple[str, str], ...]
