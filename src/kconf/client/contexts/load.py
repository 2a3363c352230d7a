"""Finds and reads the contexts file: `~/.config/kconf/config.yaml`, `$XDG_CONFIG_HOME/kconf/…` or `$KCONF_CONFIG`."""

from __future__ import annotations

import os
import stat
import sys

from kconf.client.contexts.context import Contexts
from kconf.errors import ConfigurationError


def config_path() -> str:
    named = os.environ.get("KCONF_CONFIG")
    if named:
        return named
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.path.join(home, "kconf", "config.yaml")


def load_contexts(path: str | None = None) -> Contexts:
    """The contexts of the file, or none if it does not exist. Warns if other users can read it."""
    path = path or config_path()
    try:
        with open(path, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read()
    except FileNotFoundError:
        return Contexts(path)
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror}") from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        sys.stderr.write(f"kconf: {path} is readable by other users; run chmod 600 {path}\n")
    from kconf.client.contexts.file import read_contexts  # a local import: it needs a YAML parser

    return read_contexts(data, path)
