"""The pipeline's cache directory: Delta Lake's jars and the class archive.

Java takes a user's home directory from the password file, Python from `$HOME`. In a container the two may differ, so
Spark's resolver (Ivy) gets its directory from us instead of from Java.
"""

from __future__ import annotations

import os
from pathlib import Path


def directory() -> Path:
    """`$XDG_CACHE_HOME/kconf`, or `~/.cache/kconf`. It may not exist yet."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root, "kconf").absolute()


def ivy() -> Path:
    """The directory of Spark's resolver (`spark.jars.ivy`). It puts the jars into `jars` there."""
    return directory() / "ivy"


def make() -> None:
    """Create both directories, the first one accessible to this user only, because code in it is executed."""
    directory().mkdir(mode=0o700, parents=True, exist_ok=True)
    ivy().mkdir(exist_ok=True)
