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
    ERROR = "error"  # refuses
    WARN = "warn"  # tells


class Matcher(Protocol):
    """A compiled pattern."""

    def search(self, text: str, /) -> object:
        """Something true if the pattern is found anywhere in the text."""


@dataclass(frozen=True, slots=True)
class NamePattern:
    """A name, a glob (`*`, `?`, `[abc]`) for the whole of it, or a /regular expression/ found anywhere in it."""

    text: str

    @property
    def is_regex(self) -> bool:
        return len(self.text) > 1 and self.text.startswith("/") and self.text.endswith("/")

    @property
    def regex(self) -> str:
        """What to search a name for. That of a glob means the same to Python and to Java."""
        return self.text[1:-1] if self.is_regex else rf"\A{translate(self.text)}"

    def compiled(self) -> Matcher:
        """Raises ValueError for an expression that RE2 does not know."""
        return compile_regex(self.regex) if self.is_regex else compile_glob(self.regex)


@dataclass(frozen=True)
class Names:
    """Any of these patterns. None at all: every name."""

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
        """Whether it is about every resource of its type, also those to come, but for exceptions."""
        patterns = self.names.patterns
        return not self.labels and (not patterns or any(each.text == "*" for each in patterns))

    @cached_property
    def _spared(self) -> Names:
        return Names(self.excepted)


@dataclass(frozen=True, slots=True)
class Labelled:
    """Labels for the resources that a pattern names. Of several that fit, the later entry wins, label by label."""

    selector: RuleSelector
    labels: tuple[tuple[str, str], ...]
