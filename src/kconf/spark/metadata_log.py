"""Reads the metadata directory of a KRaft controller as archive lines: the history of a cluster that was not followed.

The lines are the same as those of `kconf follow`, with the same cluster, epoch and offset, so lines of both are
recognized as duplicates. They are written to one temporary file, which Spark reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kconf.client.kraft.archive import encoded_lines
from kconf.client.kraft.follower import LogGap
from kconf.client.kraft.metadata_directory import MetadataDirectory
from kconf.client.kraft.revisions import gap_revision
from kconf.spark.files import Listed, LogRange

if TYPE_CHECKING:
    from kconf.spark.delta_tables import Lake

METADATA_LOG: Final = "metadata-log"


class MetadataLog:
    """A metadata directory. Raises ConfigurationError if it is not one, or does not name its cluster."""

    def __init__(self, directory: str) -> None:
        self._log = MetadataDirectory(directory)
        self.path = str(self._log.folder)
        self.cluster = self._log.require_cluster()
        self.listed = self._listed()
        self._begin = 0

    @property
    def end(self) -> int:
        return self._log.end

    def _listed(self) -> Listed:
        """The directory as a ledger entry: the total size of its files, and the time of the last change.

        Taken before the files are read, so that the next run detects what is appended in the meantime.
        """
        facts = [path.stat() for path in self._log.files]
        size, modified = sum(each.st_size for each in facts), max(each.st_mtime_ns for each in facts)
        return Listed(self.path, size, modified // 1_000_000)

    @contextmanager
    def lines(self) -> Iterator[Path]:
        """The temporary file with the lines."""
        with TemporaryDirectory(prefix="kconf-metadata-log-") as place:
            path = Path(place) / "lines.jsonl"
            with path.open("wb") as file:
                for event in self._log.events():
                    if isinstance(event, LogGap):
                        self._begin = event.end
                    revisions = [gap_revision(event)] if isinstance(event, LogGap) else event.revisions
                    for revision in revisions:
                        file.writelines(encoded_lines(self.cluster, event.epoch, revision))
            yield path

    def covered(self) -> list[Listed]:
        """What the lines cover, for the ledger: the directory, and the part before its oldest snapshot as a gap."""
        read = self.listed
        found = [Listed(read.path, read.size, read.modified, LogRange(self.cluster, self._begin, self.end, False))]
        if self._begin:
            gap = LogRange(self.cluster, 0, self._begin, True)
            found.append(Listed(f"{self.path}/{self._begin:020d}.checkpoint", 0, read.modified, gap))
        return found


def text_file(lake: Lake, path: Path, name: str) -> DataFrame:
    """The lines (`value`) of a temporary file, as if they came from a file `log` in the directory `name`."""
    return lake.spark.read.text(path.as_uri()).select("value", F.lit(f"{name}/log").alias("file"))
