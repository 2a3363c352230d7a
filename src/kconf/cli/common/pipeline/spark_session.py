"""Code shared by commands that start Spark: a lake with a session, and a status line."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from kconf.cli.output.safe_text import write_controls
from kconf.errors import ConfigurationError
from kconf.util.visible_text import visible

if TYPE_CHECKING:
    import argparse

    from kconf.spark.delta_tables import Lake

_LITTLE = 16 * 1024 * 1024  # bytes of input above which compilation pays off
_IN_MEMORY = 4 * 1024 * 1024  # bytes of lake and input below which all tables are written from memory


def add_session(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    parser.add_argument("--master", metavar="M", default="local[*]", help="Spark master (default: local[*])")
    parser.add_argument("--log", metavar="FILE", type=Path, help="file for Spark's own log")
    parser.add_argument(
        "--conf", metavar="K=V", action="append", default=[], help="a Spark setting, spark.…; may be repeated"
    )


@contextmanager
def lake_at(uri: str, options: argparse.Namespace, reads: Iterable[str] = (), *, more: bool = False) -> Iterator[Lake]:
    """The lake with a session, which is stopped at the end. `reads` are the other locations to be read.

    `more`: there is also input of unknown size, such as a live cluster, so tables are not written from memory.
    """
    settings = spark_settings(options.conf)
    places = checked_places(uri, *reads)
    say("starting Spark …")
    from kconf.lake.storage.location import is_s3
    from kconf.spark.delta_tables import Lake
    from kconf.spark.session import start, stop

    size = input_size(options.master, places)
    session = start(
        options.master, log=options.log, quick=size < _LITTLE, settings=settings, s3=any(map(is_s3, places))
    )
    try:
        yield Lake(uri, session, little=size < _IN_MEMORY and not more)
    finally:
        stop(session)


def checked_places(*uris: str) -> list[str]:
    """The normalized locations. A URI that cannot be used is refused before Spark starts."""
    from kconf.lake.storage.location import located

    return [located(each) for each in uris]


def spark_settings(words: Sequence[str]) -> dict[str, str]:
    """The settings of --conf; if a name is repeated, the last one applies. Messages do not repeat values."""
    from kconf.spark.startup.credentials import has_credential

    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise ConfigurationError("--conf takes K=V, such as spark.executor.memory=2g; the argument contains no =")
        if has_credential(name, value):
            raise ConfigurationError(
                f"--conf {name} would show a credential to everyone who can list processes; set the environment "
                "variables of the store, or put it into core-site.xml in $HADOOP_CONF_DIR"
            )
        if not name.startswith("spark."):
            raise ConfigurationError(f"--conf takes K=V with a key that starts with spark., not {name!r}")
        if name == "spark.master":
            raise ConfigurationError("set the Spark master with --master, not --conf spark.master")
        found[name] = value
    return found


def say(words: str) -> None:
    """Show the current step, on one line of a terminal or as a new line of a log."""
    if sys.stderr.isatty():
        write_controls(f"\r\033[K{visible(words)}", sys.stderr)
    elif words:
        print(words, file=sys.stderr, flush=True)


def input_size(master: str, uris: Iterable[str]) -> float:
    """The bytes of lake and input, counted up to a limit; infinite if unknown (on HDFS), or with a Spark cluster."""
    return sum(map(_size, uris)) if master.startswith("local") else inf


def _size(uri: str) -> float:
    """The bytes of a directory or of objects; 0 if there are none."""
    from kconf.lake.storage.location import is_object_store, local_path

    place = local_path(uri)
    if place is not None:
        return sum(each.stat().st_size for each in place.rglob("*") if each.is_file()) if place.is_dir() else 0
    if not is_object_store(uri):
        return inf
    from kconf.lake.storage.object_store import size_below

    return size_below(uri, _LITTLE)
