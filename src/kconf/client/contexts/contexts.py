"""Contexts: the clusters that someone works with, by name, and what is to be minded there.

They live in `~/.config/kconf/config.yaml` (`XDG_CONFIG_HOME` and `KCONF_CONFIG` are honoured). No value is resolved
here: what `${env:X}`, `${file:path:key}` and `password_command` stand for is looked up when a line is opened
(references.py).
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from typing import Final, NamedTuple

from kconf.errors import ConfigurationError

DEFAULT_BOOTSTRAP: Final = "localhost:9092"


class Context(NamedTuple):
    """A cluster, how to reach it, and how careful to be. A context without a name was made of options.

    `properties` are Java's client properties, `properties_file` a file of them that they are laid over. Paths are
    absolute. `journal` and `lake` are where changes are recorded and where tables are, for those who need them.
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

    def __repr__(self) -> str:
        """Without what logs in."""
        return f"Context({self.name!r}, {self.bootstrap!r})"


class Contexts(NamedTuple):
    """What the file holds."""

    path: str
    current: str | None = None
    contexts: Mapping[str, Context] = {}

    def named(self, name: str) -> Context:
        found = self.contexts.get(name)
        if found is None:
            from difflib import get_close_matches

            near = get_close_matches(name, list(self.contexts), 1)
            hint = (
                f"; did you mean {near[0]}?" if near else f" in {self.path}; kconf context list tells which there are"
            )
            raise ConfigurationError(f"there is no context {name!r}{hint}")
        return found

    def matching(self, pattern: str) -> list[Context]:
        """One by its name, or those whose names a glob matches, in their order."""
        if pattern in self.contexts or not is_glob(pattern):
            return [self.named(pattern)]
        from fnmatch import fnmatchcase

        found = [each for name, each in self.contexts.items() if fnmatchcase(name, pattern)]
        if not found:
            raise ConfigurationError(f"no context in {self.path} has a name like {pattern!r}")
        return found


def is_glob(text: str) -> bool:
    return any(each in text for each in "*?[")


def config_path() -> str:
    named = os.environ.get("KCONF_CONFIG")
    if named:
        return named
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(home, "kconf", "config.yaml")


def load_contexts(path: str | None = None) -> Contexts:
    """The contexts of the file; where there is no file there are none. Others' eyes on it are warned of."""
    path = path or config_path()
    try:
        with open(path, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read()
    except FileNotFoundError:
        return Contexts(path)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        sys.stderr.write(f"kconf: {path} can be read by others; chmod 600 {path}\n")
    from kconf.client.contexts.file import read_contexts

    return read_contexts(data, path)
