"""Finds, reads and writes declarative files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kconf.errors import ConfigurationError

if TYPE_CHECKING:
    from kconf.client.contexts.context import Context
    from kconf.engine.declarative.model import Declared, Scope, SecretSource

_ENDINGS = (".yaml", ".yml")
_LARGEST = 64 << 20  # bytes


def load_declared(paths: Sequence[str], context: Context) -> Declared:
    """The declarations of the files, with the keys that the context ignores."""
    from kconf.configdef.lookup import keys_for
    from kconf.engine.declarative.parser import read_declared
    from kconf.util.memory import gc_paused

    found = [each for path in paths for each in _files(path)]
    with gc_paused():
        once = {os.path.realpath(path): path for path in reversed(found)}  # under the path that was given first
        declared = read_declared(((path, _text(path)) for path in reversed(once.values())), keys_for)
    return replace(declared, ignored=(*declared.ignored, *ignored_by(context)))


def ignored_by(context: Context) -> tuple[Scope, ...]:
    from kconf.engine.declarative.reader import read_scopes

    try:
        return read_scopes(context.ignore, "ignore", keys=True)
    except ValueError as error:
        raise ConfigurationError(f"the context {context.name!r}: {error}") from None


def _files(path: str) -> list[str]:
    if not os.path.isdir(path):
        return [path]
    found = []
    for place, folders, names in os.walk(path):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        found += [os.path.join(place, name) for name in sorted(names) if _is_declaration(name)]
    if not found:
        raise ConfigurationError(f"no .yaml files in {path}")
    return found


def _is_declaration(name: str) -> bool:
    return name.endswith(_ENDINGS) and not name.startswith(".")


def _text(path: str) -> str:
    try:
        with open(path, "rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > _LARGEST:
        raise ConfigurationError(f"{path} is larger than {_LARGEST >> 20} MiB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        raise ConfigurationError(f"{path}:{line}:{column}: not UTF-8") from None


def read_secret(source: SecretSource, what: str) -> str:
    """The secret, from the variable or file that a declaration names."""
    if source.kind == "env":
        value = os.environ.get(source.name)
        if not value:
            raise ConfigurationError(f"{what} needs the variable {source.name}, which is not set")
        return value
    from kconf.operations.assignments import read_value_file

    value = read_value_file(what, os.path.expanduser(source.name))
    if not value:
        raise ConfigurationError(f"{what}: the file {source.name} is empty")
    return value


def write_files(directory: str, files: Mapping[str, str], *, force: bool) -> Iterator[str]:
    """Write each file atomically; existing files are replaced only with `force`."""
    try:
        os.makedirs(directory, exist_ok=True)
        there = [name for name in files if os.path.lexists(os.path.join(directory, name))]
        if there and not force:
            raise ConfigurationError(f"{os.path.join(directory, there[0])} already exists; pass --force to replace it")
        for name, text in files.items():
            path = os.path.join(directory, name)
            write_atomically(path, text)
            yield path
    except OSError as error:
        raise ConfigurationError(f"{error.filename or directory} cannot be written: {error.strerror}") from None


def write_atomically(path: str, text: str, *, private: bool = False) -> None:
    """Write a file atomically. Raises OSError."""
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        mode = 0o600 if private else 0o666
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        if os.path.lexists(temporary):
            os.unlink(temporary)
        raise
