"""The Spark format `kconf`: `spark.read.format("kconf")` and `spark.readStream.format("kconf")`.

    rows   `snapshot` (default) or `changes`. A stream always has changes, but Spark requests the columns before the
           source knows whether the query is a stream, so streams must set the option

options.py lists the options for the connection, snapshot_reader.py and change_stream.py those of each kind of rows. The
source only reads, so a retried task does no harm.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader

from kconf.errors import ConfigurationError
from kconf.lake.schemas import CHANGE_ROW, SNAPSHOT_LINE, ddl
from kconf.spark.source.change_feeds import open_feed
from kconf.spark.source.change_stream import ChangeReader, ChangeStreamReader, StreamOptions
from kconf.spark.source.options import CHANGE_OPTIONS, SourceOptions
from kconf.spark.source.snapshot_reader import SnapshotReader, partition_count

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class KconfSource(DataSource):
    """What Spark calls. Keys of options are in lower case."""

    @classmethod
    def name(cls) -> str:
        return "kconf"

    def schema(self) -> str:
        return ddl(CHANGE_ROW if self._has_changes else SNAPSHOT_LINE)

    @property
    def _has_changes(self) -> bool:
        rows = dict(self.options).get("rows", "snapshot")
        if rows not in ("snapshot", "changes"):
            raise ConfigurationError(f"rows must be snapshot or changes, not {rows!r}")
        return rows == "changes"

    def reader(self, schema: StructType) -> DataSourceReader:
        options = dict(self.options)
        if self._has_changes:
            source = SourceOptions.of(options, CHANGE_OPTIONS)
            return ChangeReader(partial(open_feed, source), StreamOptions.of(options, "earliest"))
        return SnapshotReader(
            SourceOptions.of(options), partition_count(options.get("partitions")), options.get("topics")
        )

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        if not self._has_changes:
            raise ConfigurationError('a stream has changes, not snapshots: add .option("rows", "changes")')
        options = dict(self.options)
        source = SourceOptions.of(options, CHANGE_OPTIONS)
        return ChangeStreamReader(partial(open_feed, source), StreamOptions.of(options))


def reason(error: Exception) -> str | None:
    """The message of a KconfError raised in one of Spark's Python processes; None: another error."""
    found = re.findall(r"^kconf\.\S*?(?:errors|lake|session)\.\w+: (.+)$", str(error), re.MULTILINE)
    return found[-1].strip() if found else None
