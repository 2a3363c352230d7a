"""Code shared by commands that start Spark: a lake with a session, and a status line."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kconf.cli.output.safe_text import write_controls
from kconf.errors import ConfigurationError
from kconf.util.visible_text import visible

if TYPE_CHECKING:
    import argparse

    from kconf.spark.delta_tables import Lake

_LITTLE = 16 * 1024 * 1024  # bytes of input above which compilation pays off
_IN_MEMORY = 4 * 1024 * 1024  # bytes of which all tables are written from memory


def add_session(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    parser.add_argument("--master", metavar="M", default="local[*]", help="Spark master (default: local[*])")
    parser.add_argument("--log", metavar="FILE", type=Path, help="file for Spark's own log")
    parser.add_argument(
        "--conf", metavar="K=V", action="append", default=[], help="a Spark setting, spark.…; may be repeated"
    )


@contextmanager
def lake_at(uri: str, options: argparse.Namespace, reads: Iterable[str] = (), *, more: bool = False) -> Iterator[Lake]:
    """The lake with a session, which is stopped at the end. `reads` are the other locations to be read.

    `more`: there is input of unknown size too, such as a live cluster, which must not pass through memory.
    """
    settings = spark_settings(options.conf)
    say("starting Spark …")
    from kconf.spark.delta_tables import Lake
    from kconf.spark.session import start, stop

    quick, little = (is_little(options.master, (uri, *reads), most) for most in (None, _IN_MEMORY))
    session = start(options.master, log=options.log, quick=quick, settings=settings)
    try:
        yield Lake(uri, session, little=little and not more)
    finally:
        stop(session)


def spark_settings(words: Sequence[str]) -> dict[str, str]:
    """The settings of --conf; the last one of a name applies."""
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.startswith("spark."):
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


def is_little(master: str, uris: Iterable[str], most: int | None = None) -> bool:
    """Whether the input is so small that compilation does not pay off. The size of remote input is unknown."""
    from kconf.lake.location import local_path

    places = [local_path(uri) for uri in uris]
    sizes = (_size(place) for place in places if place is not None)
    return master.startswith("local") and None not in places and sum(sizes) < (_LITTLE if most is None else most)


def _size(place: Path) -> int:
    """The size of a directory in bytes; 0 if it does not exist."""
    return sum(each.stat().st_size for each in place.rglob("*") if each.is_file()) if place.is_dir() else 0
