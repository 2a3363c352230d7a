"""The file ledger: which files were read, with their size and time, and which were skipped, and why.

A file is read if it is not in the ledger, or if its size or modification time has changed. Its age and the characters
in its name do not matter. The ledger is written after the data: files of a run that died are read again, and lines that
are already stored are not added twice. The commit notes have the round.
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
from kconf.lake.delta_log import Commit
from kconf.lake.schemas import FILES, QUARANTINE
from kconf.lake.storage.location import LakeError, local_path, located, spark_uri
from kconf.spark.delta_tables import Lake

_LINES: Final = ".jsonl"
_LEDGER, _REJECTED = "ledger", "rejected"
_PLAIN: Final = re.compile(r"[\w.:/=-]+", re.ASCII)
"""A path that needs no escaping in a URI."""


class LogRange(NamedTuple):
    """The offsets of a cluster's metadata log that a file covers. `gap`: it has only the differences after them."""

    cluster: str
    first_offset: int
    end_offset: int
    gap: bool


_STATE: Final = ("source", "file", "read", "size", "modified", "round", *LogRange._fields)


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
    found = _on_disk(place) if place is not None else _elsewhere(lake, source, spark_uri(located(uri)))
    ledger = _ledger(lake)
    return sorted((each for each in found if not ledger.has(source, each)), key=lambda each: each.path)


def is_known(lake: Lake, source: str, file: Listed) -> bool:
    """Whether a file is in the ledger as it is now."""
    return _ledger(lake).has(source, file)


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
        lake.append_rows(FILES, rows, note={"round": number})


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


class _Ledger:
    """The last row of each file. It is kept for the session, and only new rows are read from a local lake."""

    def __init__(self) -> None:
        self.rows = 0
        self.covering: list[Mapping[str, Any]] = []
        self._commit: Commit | None = None
        self._read: set[str] = set()
        self._last: dict[tuple[str, str], tuple[int, tuple[int, int] | None]] = {}

    def has(self, source: str, file: Listed) -> bool:
        return self._last.get((source, file.path), (0, None))[1] == (file.size, file.modified)

    def __len__(self) -> int:
        return len(self._last)

    def paths(self) -> list[str]:
        return [path for _, path in self._last]

    def update(self, lake: Lake) -> None:
        commit = lake.last_commit(FILES)
        if commit == self._commit:
            return
        pieces = set(lake.files(FILES))
        if not pieces or not self._read <= pieces:  # Spark reads the table, or its files were replaced
            self._last, self._read, self.rows, self.covering = {}, set(), 0, []
        if pieces:
            for piece in lake.pieces_of(FILES, pieces - self._read, _STATE):
                self._add(piece.rows.to_pylist())
        else:
            self._add(lake.columns(FILES, _STATE))
        self._commit, self._read = commit, pieces

    def _add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add rows in any order. If the last ones of a file have the same round and differ, none of them is valid: the
        file is read again."""
        self.rows += len(rows)
        self.covering += [row for row in rows if row["end_offset"] is not None]
        for row in rows:
            place, number = (row["source"], row["file"]), row["round"] or 0
            state = row["size"], round(row["modified"].timestamp() * 1000)
            known = self._last.get(place)
            if known is None or number > known[0]:
                self._last[place] = number, state
            elif number == known[0] and state != known[1]:
                self._last[place] = number, None


def _ledger(lake: Lake) -> _Ledger:
    found: _Ledger = lake.memory.setdefault(_LEDGER, _Ledger())
    found.update(lake)
    return found


def covering(lake: Lake) -> Sequence[Mapping[str, Any]]:
    """The rows of files of followed logs, which cover offsets."""
    return _ledger(lake).covering


def forget(lake: Lake, copies: Path | None = None) -> int:
    """Remove the rows of files that were read again later, and of the deleted files below `copies`; returns their
    number."""
    ledger = _ledger(lake)
    home = None if copies is None else f"{local_path(str(copies))}/"
    gone = [each for each in ledger.paths() if home and each.startswith(home) and not os.path.exists(each)]
    if not gone and ledger.rows == len(ledger):
        return 0
    rows = lake.read(FILES)
    file, number = ("source", "file"), F.coalesce("round", F.lit(0))
    last = rows.groupBy(*file).agg(F.max(number).alias("last"))
    kept = rows.join(last, list(file)).where(number == F.col("last")).drop("last").dropDuplicates()
    if home and gone:
        there = [str(each) for each in Path(home).rglob("*") if each.is_file()]
        kept = kept.where(~F.col("file").startswith(home) | F.col("file").isin(*there))
    before = ledger.rows
    lake.overwrite(FILES, kept, lake.note(FILES), few=True)
    return before - _ledger(lake).rows


def rejected(lake: Lake) -> frozenset[str]:
    """The paths of all files with lines in quarantine."""
    commit = lake.last_commit(QUARANTINE)
    known = lake.memory.get(_REJECTED)
    if known is None or known[0] != commit:
        found = frozenset(path_of(row["file"]) for row in lake.columns(QUARANTINE, ("file",)))
        known = lake.memory[_REJECTED] = commit, found
    paths: frozenset[str] = known[1]
    return paths


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
