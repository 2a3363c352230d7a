"""Contexts: the clusters that a user works with, by name. References are resolved in config_providers.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from kconf.errors import ConfigurationError

DEFAULT_BOOTSTRAP: Final = "localhost:9092"


class Context(NamedTuple):
    """A cluster, its address and credentials, and which changes are allowed.

    A context from command-line options has no name. `properties` are Java client properties, which override those of
    the file `properties_file`. Paths are absolute. `journal` is the directory in which changes are recorded, `lake` the
    one with the tables of the pipeline. `controllers` are addresses of KRaft controllers, and `controller_properties`
    is a file with their credential, which is used only to follow the metadata log.
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
    """The content of the contexts file."""

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
        """The current context. The default address is used only if there are no contexts."""
        if self.current is not None:
            return self.named(self.current)
        if self.contexts:
            names = ", ".join(self.contexts)
            raise ConfigurationError(
                f"no context is selected; use -C NAME or kconf context use NAME with one of {names}"
            )
        return Context()

    def matching(self, pattern: str) -> list[Context]:
        """The context of that name, or those whose names match a glob, in file order."""
        if pattern in self.contexts or not is_glob(pattern):
            return [self.named(pattern)]
        from fnmatch import fnmatchcase

        found = [each for name, each in self.contexts.items() if fnmatchcase(name, pattern)]
        if not found:
            raise ConfigurationError(f"no context in {self.path} matches {pattern!r}")
        return found


def is_glob(text: str) -> bool:
    return any(each in text for each in "*?[")
