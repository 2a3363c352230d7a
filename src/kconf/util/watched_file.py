"""Reads files that are reloaded when they change."""

from __future__ import annotations

import os
from typing import Final

from kconf.errors import ConfigurationError

_MAX_BYTES: Final = 4 << 20

Signature = tuple[int, int, int]
MISSING: Final[Signature] = (0, 0, 0)


def signature_of(path: str) -> Signature:
    """The signature of a file, which shows whether it has changed. Raises OSError."""
    return _signature(os.stat(path))


def read_with_signature(path: str) -> tuple[Signature, bytes]:
    """The content of a file and its signature. Raises ConfigurationError.

    The signature is taken first, so that the next check detects a concurrent change.
    """
    try:
        with open(path, "rb") as file:
            seen = _signature(os.fstat(file.fileno()))
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror}") from None
    if len(data) > _MAX_BYTES:
        raise ConfigurationError(f"{path} is larger than {_MAX_BYTES >> 20} MiB")
    return seen, data


def text_of(data: bytes, path: str) -> str:
    """Decode the content of a file. Raises ConfigurationError with line and column."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        raise ConfigurationError(f"{path}:{line}:{column}: not UTF-8") from None


def _signature(status: os.stat_result) -> Signature:
    return status.st_mtime_ns, status.st_size, status.st_ino
