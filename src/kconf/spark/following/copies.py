"""The directory in which a follower stores copied journals until its lake has them: it belongs to one lake.

DIR/.lake   the lake, or `..` if the lake contains the directory: a lake can be moved
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kconf.errors import ConfigurationError
from kconf.lake.lookup import LakeTables
from kconf.lake.storage.location import LakeError, NoLake, local_path, located
from kconf.spark.following.feed_copy import CopiedFiles
from kconf.util.atomic_files import create, private_directory

_OWNER: Final = ".lake"
_INSIDE: Final = ".."


def claim(copies: Path, lake: str) -> None:
    """Make this the directory of a lake. Raises ConfigurationError if it belongs to another one, because each follower
    deletes the files that its own lake has read.

    If the lake has no finished run, it was created anew and lacks what was copied before, so everything is copied
    again.
    """
    local = local_path(lake)
    owner = _INSIDE if local is not None and copies.resolve().parent == local.resolve() else located(lake)
    try:
        found = _owner(copies, owner)
        if found == owner and not _has_runs(lake):
            CopiedFiles.forget_positions(copies)
    except OSError as error:
        raise LakeError(f"cannot write {copies}: {error.strerror}") from None
    if found != owner:
        other = copies.parent if found == _INSIDE else found
        raise ConfigurationError(f"{copies} has the copies for the lake {other}; pass another directory with --copies")


def _owner(copies: Path, owner: str) -> str:
    """The lake of the directory, which is `owner` unless it has one already."""
    private_directory(copies)
    file = copies / _OWNER
    try:
        create(file, owner.encode())
    except FileExistsError:
        return file.read_text(encoding="utf-8") or owner  # empty: the process was killed while it created the file
    return owner


def _has_runs(lake: str) -> bool:
    """Whether a run has finished; True also if the lake cannot be read now."""
    try:
        LakeTables(lake)
    except NoLake:
        return False
    except LakeError:
        return True
    return True
