"""The location of a lake: a local directory or an object store URI. Also the errors raised if it cannot be used."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from kconf.errors import KconfError


class LakeError(KconfError):
    """The lake cannot be read or written; the message says why."""


class LakeBusy(LakeError):
    """Another run is using this lake."""


def local_path(uri: str) -> Path | None:
    """The local directory that a path or a file: URI names; None for other places."""
    parts = urlsplit(uri)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    return Path(uri).absolute() if len(parts.scheme) < 2 else None  # one letter is a Windows drive
