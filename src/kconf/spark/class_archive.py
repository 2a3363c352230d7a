"""An archive of the classes that Spark's JVM loads: a start maps them from one file, instead of finding each in a jar.

It is a cache and no more. The JVM holds it against itself, its class path, the jars' times and the archive's own
checksums, and goes without it where anything differs. One way serves every Java from 17 on: only those from 19 on can
make and renew an archive by themselves.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from kconf.spark import cache

MAKING: Final = ".making-"
"""How the name of a place begins where an archive is being made."""
_DAY: Final = 24 * 60 * 60


def place(jars: Sequence[Path], versions: Sequence[str]) -> Path | None:
    """Where the archive is for these jars and these versions: its name says what must be the same.

    None: the name of the cache has signs that an option of the JVM cannot hold.
    """
    where = sorted({str(each.parent) for each in jars})
    name = f"classes-{_digest(where)}-{_digest([*versions, *map(_stamp, jars)])}.jsa"
    return cache.directory() / name if fits(cache.directory()) else None


def fits(directory: Path) -> bool:
    """Whether an option of the JVM can hold the name of a file in this directory."""
    return re.search(r"[:\"'\\\s]", str(directory)) is None


def obsolete(file: Path) -> list[Path]:
    """What a new archive makes superfluous: that of the same jars before, one that nobody used for a month, and what a
    maker left that was killed."""
    place, now = file.name.rpartition("-")[0], time.time()
    others = [each for each in file.parent.glob("classes-*.jsa") if each != file]
    left = [each for each in file.parent.glob(f"{MAKING}*") if each.stat().st_mtime < now - _DAY]
    return left + [
        each for each in others if each.name.startswith(f"{place}-") or each.stat().st_mtime < now - 30 * _DAY
    ]


def is_ours(file: Path) -> bool:
    """Whether the archive is there, and nobody else has put it there: what is in it is run."""
    try:
        return file.stat().st_uid == os.getuid()
    except OSError:
        return False


def used(file: Path) -> str:
    """Options for a JVM that takes its classes from the archive, if they are the same. A damaged one would crash it."""
    with suppress(OSError):
        os.utime(file)  # somebody uses it
    return f"-Xshare:auto -XX:SharedArchiveFile={file} -XX:+IgnoreUnrecognizedVMOptions -XX:+VerifySharedSpaces"


def recorded(file: Path) -> str:
    """Options for a JVM that writes an archive of the classes that it has loaded, when it ends."""
    return f"-Xshare:auto -XX:ArchiveClassesAtExit={file} -Xlog:cds=error -Xlog:cds+dynamic=error"


def _stamp(jar: Path) -> str:
    """What the JVM will look at."""
    found = jar.stat()
    return f"{jar.name} {found.st_size} {found.st_mtime_ns}"


def _digest(words: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:12]
