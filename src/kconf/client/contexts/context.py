"""Contexts: the clusters that a user works with, by name. No value is resolved here (config_providers.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from kconf.errors import ConfigurationError

DEFAULT_BOOTSTRAP: Final = "localhost:9092"


class Context(NamedTuple):
    """A cluster, how to reach it, and which changes are allowed. A context made of command-line options has no name.

    `properties` are Java client properties, which override those of the file `properties_file`. Paths are absolute.
    `journal` is the directory that changes are recorded in, `lake` the one with the tables of the pipeline.
    `controllers` are addresses of KRaft controllers, `controller_properties` a file with the credential for them, which
    is used to follow the metadata log and for nothing else.
    """

    name: str = ""
    bootstrap: str = DEFAULT_BOOTSTRAP
    properties_file: str | None = None
    properties: Mapping[str, str] = {}
    user: str | None = None
    password: str | None = None
    password_command: str | None = None
    read_only: bool = False
    protected: bool = False
    policy: str | None = None
    ignore: tuple[str, ...] = ()
    journal: str | None = None
    lake: str | None = None
    labels: Mapping[str, str] = {}
    controllers: str | None = None
    controller_properties: str | None = None

    def __repr__(self) -> str:
        """Shows no credentials."""
        return f"Context({self.name!r}, {self.bootstrap!r})"


class Contexts(NamedTuple):
    """The contents of the file of contexts."""

    path: str
    current: str | None = None
    contexts: Mapping[str, Context] = {}

    def named(self, name: str) -> Context:
        found = self.contexts.get(name)
        if found is None:
            from difflib import get_close_matches

            near = get_close_matches(name, list(self.contexts), 1)
            hint = f"; did you mean {near[0]}?" if near else f" in {self.path}; list them with `kconf context list`"
            raise ConfigurationError(f"no context {name!r}{hint}")
        return found

    def chosen(self) -> Context:
        """The current context. Only a user without contexts gets the default address: it may be another cluster."""
        if self.current is not None:
            return self.named(self.current)
        if self.contexts:
            names = ", ".join(self.contexts)
            raise ConfigurationError(f"no context is chosen; -C NAME or kconf context use NAME chooses one of {names}")
        return Context()

    def matching(self, pattern: str) -> list[Context]:
        """The context of that name, or those whose names match a glob, in their order."""
        if pattern in self.contexts or not is_glob(pattern):
            return [self.named(pattern)]
        from fnmatch import fnmatchcase

        found = [each for name, each in self.contexts.items() if fnmatchcase(name, pattern)]
        if not found:
            raise ConfigurationError(f"no context in {self.path} matches {pattern!r}")
        return found


def is_glob(text: str) -> bool:
    return any(each in text for each in "*?[")
