"""A class data sharing archive for Spark's JVM: at startup, classes are mapped from one file instead of read from jars.

It is only a cache. The JVM compares it with its own version, its class path, the jars' times and the archive's
checksums, and ignores it if anything differs. The same method works for every Java since 17; only Java 19 and later can
create and renew an archive automatically.
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

from kconf.spark.startup import cache

MAKING: Final = ".making-"
"""Prefix of the temporary directory in which an archive is created."""
_DAY: Final = 24 * 60 * 60


def place(jars: Sequence[Path], versions: Sequence[str]) -> Path | None:
    """The path of the archive for these jars and versions, which are part of its name.

    None: the cache path contains characters that a JVM option cannot contain.
    """
    where = sorted({str(each.parent) for each in jars})
    name = f"classes-{_digest(where)}-{_digest([*versions, *map(_stamp, jars)])}.jsa"
    return cache.directory() / name if fits(cache.directory()) else None


def fits(directory: Path) -> bool:
    """Whether a JVM option can contain the path of a file in this directory."""
    return re.search(r"[:\"'\\\s]", str(directory)) is None


def obsolete(file: Path) -> list[Path]:
    """Files that a new archive replaces: the previous archive of the same jars, archives unused for a month, and
    leftovers of killed processes."""
    place, now = file.name.rpartition("-")[0], time.time()
    others = [each for each in file.parent.glob("classes-*.jsa") if each != file]
    left = [each for each in file.parent.glob(f"{MAKING}*") if each.stat().st_mtime < now - _DAY]
    return left + [
        each for each in others if each.name.startswith(f"{place}-") or each.stat().st_mtime < now - 30 * _DAY
    ]


def is_ours(file: Path) -> bool:
    """Whether the archive exists and belongs to this user: its contents are executed."""
    try:
        return file.stat().st_uid == os.getuid()
    except OSError:
        return False


def used(file: Path) -> str:
    """JVM options that use the archive if it matches. A damaged archive would crash the JVM, so it is verified."""
    with suppress(OSError):
        os.utime(file)  # mark it as used
    return f"-Xshare:auto -XX:SharedArchiveFile={file} -XX:+IgnoreUnrecognizedVMOptions -XX:+VerifySharedSpaces"


def recorded(file: Path) -> str:
    """JVM options that write an archive of all loaded classes at exit."""
    return f"-Xshare:auto -XX:ArchiveClassesAtExit={file} -Xlog:cds=error -Xlog:cds+dynamic=error"


def _stamp(jar: Path) -> str:
    """What the JVM compares."""
    found = jar.stat()
    return f"{jar.name} {found.st_size} {found.st_mtime_ns}"


def _digest(words: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:12]
