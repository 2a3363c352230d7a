"""The file ledger: which files were read, with their size and time, and which were skipped, and why.

A file is read if it is not in the ledger, or if its size or modification time has changed. Its age and the characters
in its name do not matter. The ledger is written after the data: files of a run that died are read again, and lines that
are already stored are not added twice.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kconf.client.kraft.archive import log_segment
from kconf.lake.schemas import FILES
from kconf.lake.storage.location import LakeError, local_path, located, spark_uri
from kconf.spark.delta_tables import Lake

_LINES: Final = ".jsonl"
_PLAIN: Final = re.compile(r"[\w.:/=-]+", re.ASCII)
"""A path that needs no escaping in a URI."""


class LogRange(NamedTuple):
    """The offsets of a cluster's metadata log that a file covers. `gap`: it has only the differences after them."""

    cluster: str
    first_offset: int
    end_offset: int
    gap: bool


@dataclass(frozen=True)
class Listed:
    """A file as it is now."""

    path: str
    size: int
    modified: int  # milliseconds since 1970
    range: LogRange | None = field(default=None, compare=False)

    @property
    def fault(self) -> str | None:
        """Why it cannot be read, judging by its name."""
        name = self.path.rpartition("/")[2]
        if not name.endswith(_LINES):
            return f"its name does not end with {_LINES}"
        return "its name starts with _, and Spark ignores such files" if name.startswith("_") else None


def unread(lake: Lake, source: str, uri: str) -> list[Listed]:
    """The files of a directory tree that are not in the ledger in their current state."""
    place = local_path(uri)
    if place is not None and not place.is_dir():
        raise LakeError(f"No such directory to read {source} from: {place}")
    home = spark_uri(located(uri))
    found = _on_disk(place) if place is not None else _elsewhere(lake, source, home)
    known = _known(lake, source, home)
    return sorted((each for each in found if known.get(each.path) != each), key=lambda each: each.path)


def is_known(lake: Lake, source: str, file: Listed) -> bool:
    """Whether a file is in the ledger as it is now."""
    return _known(lake, source, file.path).get(file.path) == file


def text_of(lake: Lake, files: Sequence[Listed]) -> DataFrame:
    """The lines (`value`) of files, with their `file` as in the ledger."""
    reader = lake.spark.read.option("__globPaths__", "false")  # escape: the path is literal, not a glob
    paths = [each.path for each in files]
    uri = F.col("_metadata.file_path")
    if not all(map(_PLAIN.fullmatch, paths)):
        uri = F.url_decode(F.replace(uri, F.lit("+"), F.lit("%2B")))  # of a form, where + is a space
    local = F.when(uri.startswith("file:///"), F.substr(uri, F.lit(8)))
    local = local.when(uri.startswith("file:/"), F.substr(uri, F.lit(6)))
    return reader.text(paths).select("value", local.otherwise(uri).alias("file"))


def record(lake: Lake, source: str, files: Iterable[Listed], skipped: Mapping[str, str], number: int) -> None:
    """Record that files were read in round `number`; those in `skipped` (path → reason) were not."""
    rows = [
        {
            "source": source,
            "file": each.path,
            "size": each.size,
            "modified": datetime.fromtimestamp(each.modified / 1000, UTC).isoformat(timespec="milliseconds"),
            "read": each.path not in skipped,
            "reason": skipped.get(each.path),
            "round": number,
            **(each.range or log_range(each.path) or _NO_RANGE)._asdict(),
        }
        for each in files
    ]
    if rows:
        lake.append_rows(FILES, rows)


_NO_RANGE: Final = LogRange(None, None, None, None)  # type: ignore[arg-type]


def log_range(path: str) -> LogRange | None:
    """The offsets in the name of a file of `kconf follow`; its directory is named after the cluster."""
    folder, _, name = path.rpartition("/")
    segment = log_segment(Path(name))
    return None if segment is None else LogRange(folder.rpartition("/")[2], segment.begin, segment.end, segment.is_gap)


def ranges(lake: Lake) -> DataFrame:
    """The offsets of followed logs that files cover: cluster, first_offset, end_offset, gap."""
    last = F.max_by(F.struct("read", *LogRange._fields), "round").alias("last")
    rows = lake.read(FILES).where("end_offset IS NOT NULL").groupBy("source", "file").agg(last)
    return rows.where("last.read").select("last.*").drop("read")


def path_of(file: str) -> str:
    """The ledger's path for a file that a run of an older version recorded with its URI."""
    return unquote(urlsplit(file).path) if file.startswith("file:") else file


def _known(lake: Lake, source: str, home: str) -> dict[str, Listed]:
    found: dict[str, tuple[int, Listed]] = {}
    for row in lake.columns(FILES, ("source", "file", "size", "modified", "round")):
        if row["source"] == source and row["file"].startswith(home):
            listed = Listed(row["file"], row["size"], round(row["modified"].timestamp() * 1000))
            number = row["round"] or 0
            if number >= found.get(row["file"], (0, listed))[0]:
                found[row["file"]] = number, listed
    return {file: listed for file, (_, listed) in found.items()}


def _on_disk(place: Path) -> Iterator[Listed]:
    """The files of a directory tree, also behind symbolic links to directories, which may form a circle."""
    seen = set()
    for folder, folders, names in os.walk(place, onerror=_cannot_list, followlinks=True):
        home = os.path.realpath(folder)
        if home in seen:
            folders.clear()
            continue
        seen.add(home)
        for name in names:
            if _is_meant(name):
                path = os.path.join(folder, name)
                try:
                    status = os.stat(path)
                except OSError:
                    continue  # deleted in the meantime
                yield Listed(path, status.st_size, status.st_mtime_ns // 1_000_000)


def _elsewhere(lake: Lake, source: str, uri: str) -> Iterator[Listed]:
    jvm: Any = lake.spark._jvm
    place = jvm.org.apache.hadoop.fs.Path(uri)
    system = place.getFileSystem(lake.spark._jsc.hadoopConfiguration())
    if not system.exists(place):
        raise LakeError(f"No such directory to read {source} from: {uri}")
    found = system.listFiles(place, True)
    while found.hasNext():
        each = found.next()
        if _is_meant(each.getPath().getName()):
            yield Listed(each.getPath().toString(), each.getLen(), each.getModificationTime())


def _cannot_list(error: OSError) -> None:
    """A directory that cannot be listed must not look empty."""
    if not isinstance(error, FileNotFoundError):  # deleted in the meantime
        raise LakeError(f"{error.filename} cannot be listed: {error.strerror}")


def _is_meant(name: str) -> bool:
    """Whether a file has lines, or looks as if it should: `x.jsonl.gz` and `x.json` are reported as skipped.

    A client's journal has a begun-….json for a request without a known outcome, which is not read.
    """
    return "json" in name.lower() and not name.startswith((".", "begun-"))
