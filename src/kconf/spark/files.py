"""The ledger of files: which were read, as they were then, and which were not, and why.

A file is read when it is not in the ledger, or when its size or its time is another than there. How old it is does not
matter, and neither do the characters of its name. The ledger is written after what it is about: files of a run that
died are read again, and what is known of them is not added twice.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kconf.client.kraft.archive import log_segment
from kconf.lake.location import LakeError, local_path
from kconf.lake.schemas import FILES
from kconf.spark.delta_tables import Lake, local

_LINES: Final = ".jsonl"


class LogRange(NamedTuple):
    """The offsets of a cluster's metadata log that a file covers; `gap`: it has only what differs after them."""

    cluster: str
    first_offset: int
    end_offset: int
    gap: bool


@dataclass(frozen=True)
class Listed:
    """A file, as it is now."""

    path: str
    size: int
    modified: int  # milliseconds since 1970
    range: LogRange | None = field(default=None, compare=False)

    @property
    def fault(self) -> str | None:
        """Why it cannot be read, by its name."""
        name = self.path.rpartition("/")[2]
        if not name.endswith(_LINES):
            return f"its name does not end with {_LINES}"
        return "its name begins with _, and Spark passes over such files" if name.startswith("_") else None


def unread(lake: Lake, source: str, uri: str) -> list[Listed]:
    """The files of a directory, and of those below it, that are not in the ledger as they are now."""
    place = local_path(uri)
    if place is not None and not place.is_dir():
        raise LakeError(f"There is no directory {place} to read {source} from.")
    home = str(place) if place is not None else uri.rstrip("/")
    found = _on_disk(place) if place is not None else _elsewhere(lake, home)
    known = _known(lake, source, home)
    return sorted((each for each in found if known.get(each.path) != each), key=lambda each: each.path)


def is_known(lake: Lake, source: str, file: Listed) -> bool:
    """Whether a file is in the ledger as it is now."""
    return _known(lake, source, file.path).get(file.path) == file


def text_of(lake: Lake, files: Sequence[Listed]) -> DataFrame:
    """The lines (`value`) of files, and where each comes from (`file`)."""
    reader = lake.spark.read.option("__globPaths__", "false")  # Spark's own word for: a name is a name, not a pattern
    return reader.text([each.path for each in files]).select("value", F.col("_metadata.file_path").alias("file"))


def record(lake: Lake, source: str, files: Iterable[Listed], skipped: Mapping[str, str], number: int) -> None:
    """Write that files were read in round `number`; those of `skipped` (path → reason) were not."""
    rows = [
        {
            "source": source,
            "file": each.path,
            "size": each.size,
            "modified": each.modified,
            "read": each.path not in skipped,
            "reason": skipped.get(each.path),
            "round": number,
            **(each.range or log_range(each.path) or _NO_RANGE)._asdict(),
        }
        for each in files
    ]
    if rows:
        schema = FILES.ddl.replace("`modified` timestamp", "`modified` bigint")
        given = local(lake.spark, rows, schema)
        lake.append(FILES, given.withColumn("modified", F.timestamp_millis("modified")))


_NO_RANGE: Final = LogRange(None, None, None, None)  # type: ignore[arg-type]


def log_range(path: str) -> LogRange | None:
    """Of a file of `kconf follow`: its directory is named after the cluster, its name has the offsets."""
    folder, _, name = path.rpartition("/")
    segment = log_segment(Path(name))
    return None if segment is None else LogRange(folder.rpartition("/")[2], segment.begin, segment.end, segment.is_gap)


def ranges(lake: Lake) -> DataFrame:
    """The offsets of followed logs that files cover: cluster, first_offset, end_offset, gap."""
    last = F.max_by(F.struct("read", *LogRange._fields), "round").alias("last")
    rows = lake.read(FILES).where("end_offset IS NOT NULL").groupBy("source", "file").agg(last)
    return rows.where("last.read").select("last.*").drop("read")


def path_of(file: str) -> str:
    """The path by which the ledger knows a file that Spark names by its URI."""
    return unquote(urlsplit(file).path) if file.startswith("file:") else file


def _known(lake: Lake, source: str, home: str) -> dict[str, Listed]:
    if not lake.exists(FILES):
        return {}
    rows = lake.read(FILES).where((F.col("source") == source) & F.col("file").startswith(home))
    last = F.max_by(F.struct("size", F.unix_millis("modified").alias("modified")), "round").alias("last")
    found = rows.groupBy("file").agg(last).select("file", "last.*").collect()
    return {row["file"]: Listed(row["file"], row["size"], row["modified"]) for row in found}


def _on_disk(place: Path) -> Iterator[Listed]:
    for folder, _, names in os.walk(place):
        for name in names:
            if _is_meant(name):
                path = os.path.join(folder, name)
                try:
                    told = os.stat(path)
                except OSError:
                    continue  # it went while we looked
                yield Listed(path, told.st_size, told.st_mtime_ns // 1_000_000)


def _elsewhere(lake: Lake, uri: str) -> Iterator[Listed]:
    jvm: Any = lake.spark._jvm
    place = jvm.org.apache.hadoop.fs.Path(uri)
    found = place.getFileSystem(lake.spark._jsc.hadoopConfiguration()).listFiles(place, True)
    while found.hasNext():
        each = found.next()
        if _is_meant(each.getPath().getName()):
            yield Listed(each.getPath().toString(), each.getLen(), each.getModificationTime())


def _is_meant(name: str) -> bool:
    """Whether a file has lines, or may be thought to have some: `x.jsonl.gz` is told to be skipped."""
    return _LINES in name and not name.startswith(".")
