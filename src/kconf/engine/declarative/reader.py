"""Shared by the readers of all sections: locations, names, counts, choices, secret sources, scopes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeVar

from kconf.engine.declarative.model import (
    SCOPES,
    DesiredConfigs,
    DesiredCredential,
    DesiredTopic,
    Scope,
    SecretSource,
    SourceLocation,
)
from kconf.engine.policy.selectors import NamePattern, Names
from kconf.model.acl import AclBinding
from kconf.model.quota import QuotaEntity
from kconf.model.resource import Resource
from kconf.model.scram import Mechanism
from kconf.util.yaml.reader import YamlNode, YamlReader, suggestion

T = TypeVar("T")

VERSION: Final = "1"
_MAX_COUNT: Final = 1_000_000  # partitions, replicas, iterations


class Gathered:
    """Everything read so far, from all files, and where each resource was first declared."""

    def __init__(self) -> None:
        self.topics: dict[str, DesiredTopic] = {}
        self.configs: dict[Resource, dict[str, DesiredConfigs]] = {}
        self.quotas: dict[QuotaEntity, dict[str, DesiredConfigs]] = {}
        self.users: dict[str, dict[Mechanism, DesiredCredential]] = {}
        self.acls: dict[AclBinding, SourceLocation] = {}
        self.selectors: list[Scope] = []
        self.ignored: list[Scope] = []
        self.unmanaged: dict[Resource, Names] = {}
        self.places: dict[object, SourceLocation] = {}


class DeclarationReader(YamlReader):
    """Reads one file of declarations into `gathered`."""

    def __init__(self, file: str, gathered: Gathered) -> None:
        super().__init__(file)
        self.gathered = gathered

    def version(self, node: YamlNode) -> None:
        if self.text(node, "version") != VERSION:
            self.report(node, "this version of kconf supports version 1 of the format only")

    def place(self, node: YamlNode) -> SourceLocation:
        mark = node.start_mark
        return SourceLocation(self.file, mark.line + 1, mark.column + 1)

    def once(self, what: object, node: YamlNode, name: str) -> None:
        """Report what is declared twice, in one file or in two."""
        place = self.place(node)
        first = self.gathered.places.setdefault(what, place)
        if first is not place:
            self.report(node, f"{name} is already declared at {first}")

    def names(self, node: YamlNode, what: str) -> list[tuple[str, YamlNode, YamlNode]]:
        """The named parts of a mapping, as name, node of the name and node of the value."""
        if node.is_null:
            return []
        return [(self.text(key, "a name"), key, value) for key, value in self.pairs(node, what)]

    def listed(self, node: YamlNode) -> list[YamlNode]:
        return [] if node.is_null else list(node.value) if node.id == "sequence" else [node]

    def count(self, node: YamlNode | None, what: str) -> int | None:
        if node is None:
            return None
        text = str(node.value) if node.id == "scalar" else ""
        if not (text.isascii() and text.isdigit() and len(text) < 8 and 0 < int(text) <= _MAX_COUNT):
            self.report(node, f"{what} must be an integer from 1 to {_MAX_COUNT}")
            return None
        return int(text)

    def choice(self, node: YamlNode | None, what: str, choices: Mapping[str, T], default: T) -> T:
        if node is None:
            return default
        text = self.text(node, what)
        found = choices.get(text.upper())
        if found is None:
            raise self.invalid(node, f"unknown {what} {text!r}{suggestion(text.upper(), choices)}")
        return found

    def source(self, node: YamlNode, what: str) -> SecretSource:
        """`{env: NAME}` or `{file: PATH}`."""
        fields = self.fields(node, ("env", "file"), what)
        if len(fields) != 1:
            raise self.invalid(node, f"{what} needs either env or file")
        ((kind, name),) = fields.items()
        return SecretSource(kind, self.text(name, kind))

    def scopes(self, node: YamlNode, what: str, *, keys: bool = False) -> tuple[Scope, ...]:
        def one(item: YamlNode) -> Scope:
            try:
                return read_scope(self.text(item, what), what, keys=keys)
            except ValueError as error:
                raise self.invalid(item, str(error)) from None

        return self.read_each(self.listed(node), one)

    def key_patterns(self, node: YamlNode, what: str) -> tuple[NamePattern, ...]:
        """Keys by name, glob or /regular expression/."""

        def one(item: YamlNode) -> NamePattern:
            text = self.text(item, what)
            try:
                return _pattern(text, text)
            except ValueError as error:
                raise self.invalid(item, str(error)) from None

        return self.read_each(self.listed(node), one)


def read_scopes(texts: Iterable[str], what: str, *, keys: bool = False) -> tuple[Scope, ...]:
    """Scopes given in a context or on the command line; ValueError if one is invalid."""
    return tuple(read_scope(each, what, keys=keys) for each in texts)


def _meant(text: str, known: Sequence[str]) -> str:
    """A suggestion for an invalid scope: a misspelled kind, or a topic name without `topic:`."""
    from difflib import get_close_matches

    word, colon, name = text.partition(":")
    near = get_close_matches(word, known, 1, 0.8)
    write = f"use {', '.join(known)}, or one of them with :NAME"
    return f"did you mean {near[0]}{colon}{name}?" if near else write if colon else f"{write}, for example topic:{word}"


def read_scope(text: str, what: str, *, keys: bool) -> Scope:
    """`topic`, `topic:orders`, `topic:pay.*`, `topic:/^pay/`, `brokers`; with `keys` also `key:NAME`."""
    word, colon, name = text.partition(":")
    known = [*SCOPES, *(["key"] if keys else [])]
    if word not in known:
        raise ValueError(f"{word!r} is not valid in {what}; {_meant(text, known)}")
    if (colon and not name) or (word == "key" and not name):
        raise ValueError(f"no name after the colon: {text!r}")
    if word == "brokers" and name:
        raise ValueError("`brokers` is the cluster-wide default and has no name; use broker:NAME for a single broker")
    if word == "broker" and name == "default":
        return Scope("brokers")
    return Scope(word, Names((_pattern(text, name),))) if name else Scope(word)


def _pattern(text: str, name: str) -> NamePattern:
    pattern = NamePattern(name)
    if name.startswith("/") and not pattern.is_regex:
        raise ValueError(f"a regular expression must end with a slash: {text!r}")
    try:
        pattern.compiled()
    except ValueError as error:
        raise ValueError(f"the pattern {name} {error}") from None
    return pattern
