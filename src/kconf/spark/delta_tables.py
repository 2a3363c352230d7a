"""Reads and writes the tables; the only module that knows their paths.

Each write is one commit. The commit notes of the journal and the history record how far they go. A missing table reads
as empty. Of two concurrent writers the second fails before it does any work. A table written by an older version gets
the columns added since; other schema differences need a rebuild.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kconf.lake.delta_log import FOLDER as LOG
from kconf.lake.delta_log import Commit, DeltaLog, StoredLogFiles, commit_name, commits_of, shorten
from kconf.lake.local_tables import Files, LocalTables, Mode, Piece
from kconf.lake.parquet_files import as_text
from kconf.lake.schemas import Column, Table, ddl
from kconf.lake.storage.location import LakeBusy, LakeError, is_object_store, local_path, located, spark_uri
from kconf.lake.storage.lock import LakeLock

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameWriter, SparkSession
    from pyspark.sql.types import StructType

_ASKED_BY: Final = frozenset(
    ("cluster", "resource_type", "resource_name", "key", "topic", "time", "taken", "since", "until", "round", "run")
)
"""Columns with min/max statistics per file. Statistics for all columns would add a tenth to the write time."""
SMALL: Final = 4 * 1024 * 1024
"""Up to this number of bytes, a table is read and written without Spark jobs; in memory, it needs up to 100 times."""
_MEDIUM: Final = 8
"""Tables of up to this multiple of SMALL are updated file by file."""
_ROWS: Final = 2_000_000
"""The maximum rows of such a table; a row takes 160 to 300 bytes in memory."""
_FILES: Final = 32  # for more paths, Spark starts a job to list them
_RANGES: Final = "delta.dataSkippingStatsColumns"
_GONE: Final = "_gone"
_SHORTENED: Final = 256  # commits
_COMPACTED: Final = 32 * 1024 * 1024
"""Only files of fewer bytes are merged. Delta's default is 1 GB, with which every compaction rewrites whole tables."""


class SchemaDifference(NamedTuple):
    """How a table differs from its schema: missing columns, and columns with errors."""

    missing: Sequence[Column] = ()
    others: Sequence[str] = ()

    def __bool__(self) -> bool:
        return bool(self.missing or self.others)


class Lake:
    """The tables under one URI, for one session.

    Small tables of a local lake are read as plain Parquet files, and written by deltalake if they stay small. The
    caller passes `few` if a change has few rows, or `little` if the lake and its input are small as a whole. Spark
    itself would start a job to find the files of each table that a query reads, and more jobs to write a table. `small`
    is the size limit in bytes; with 0, as on an object store, Spark reads and writes all tables.
    """

    def __init__(self, uri: str, spark: SparkSession, *, little: bool = False, small: int = SMALL) -> None:
        self.local = local_path(uri)
        self.uri = located(uri)
        self._lock: LakeLock | None = None
        self.spark = spark
        self._small = 0 if self.local is None else small
        self._is_little = little and self._small > 0
        self._tables = LocalTables(self.uri)
        self._logs: dict[str, DeltaLog] = {}
        self._shortened: dict[str, int] = {}
        self.memory: dict[str, Any] = {}
        """Results that a later run of the session may reuse."""

    @property
    def in_memory(self) -> bool:
        """Whether small tables are read and written without Spark jobs."""
        return self._small > 0

    # -- where things are --------------------------------------------------------------------------------------------

    def path(self, table: Table) -> str:
        return f"{spark_uri(self.uri)}/{table.path}"

    def sql_name(self, table: Table) -> str:
        return f"delta.`{self.path(table)}`"

    def exists(self, table: Table) -> bool:
        return self.version(table) is not None

    def _log(self, table: Table) -> DeltaLog:
        if self.local is not None:
            return self._tables.log(table)
        if table.path not in self._logs:
            place = f"{self.uri}/{table.path}"
            files = StoredLogFiles(place) if is_object_store(place) else _HadoopLogFiles(self.spark, place)
            self._logs[table.path] = DeltaLog(files)
        return self._logs[table.path]

    # -- reading -----------------------------------------------------------------------------------------------------

    def read(self, table: Table, version: int | None = None) -> DataFrame:
        """The table, now or at a version; empty if it does not exist yet."""
        if not self.exists(table):
            return local(self.spark, [], table.ddl)
        found = self._tables.files(table, version) if self._small else None
        if found is not None and found.size <= self._small and len(found.paths) <= _FILES:
            return self._read_files(table, found)
        reader = self.spark.read.format("delta")
        if version is not None:
            reader = reader.option("versionAsOf", version)
        return reader.load(self.path(table))

    def read_since(self, table: Table, number: int) -> DataFrame:
        """The rows of a bronze table that were read after a round. Files without such rows are not opened."""
        found = self._fresh(table, number)
        rows = self.read(table) if found is None or len(found.paths) > _FILES else self._read_files(table, found)
        return rows.where(f"round > {number}")

    def fresh(self, table: Table, names: Sequence[str], number: int) -> pa.Table | None:
        """Like `read_since`, some columns without Spark; None: only Spark can read the rows, or there are too many."""
        if not self.exists(table):
            return self.none_of(table).select(names)
        return None if self._fresh(table, number) is None else self._tables.rows(table, names, since=number)

    @staticmethod
    def none_of(table: Table) -> pa.Table:
        """An empty table with these columns."""
        return _arrow_schema(table).empty_table()

    def _fresh(self, table: Table, number: int) -> Files | None:
        found = self._tables.fresh(table, number) if self._small and self.exists(table) else None
        return found if found is not None and found.size <= self._small else None

    def rows(self, table: Table, names: Sequence[str] | None = None) -> pa.Table | None:
        """All rows of a small table, without Spark; None: it is not small, or does not exist."""
        return self._tables.rows(table, names or table.names) if self.is_small(table) else None

    def _read_files(self, table: Table, files: Files) -> DataFrame:
        """The rows of Parquet files: Spark needs no jobs to find them, as it does for a Delta table."""
        from pyspark.sql.types import StructType

        if not files.paths:
            return local(self.spark, [], table.ddl)
        place = self.path(table)
        options = {"basePath": place, "__globPaths__": "false"}  # the path is literal, not a glob
        reader = self.spark.read.schema(StructType.fromJson(dict(files.schema))).options(**options)
        return reader.parquet(*(f"{place}/{each}" for each in files.paths))

    def version(self, table: Table) -> int | None:
        """The version of the last commit; None if the table does not exist."""
        last = self.last_commit(table)
        return last.version if last is not None else None

    def last_commit(self, table: Table) -> Commit | None:
        """Like `version`, with what identifies the commit if the table is created anew."""
        return self._log(table).last()

    def note(self, table: Table, *, of_rows: bool = False) -> dict[str, Any]:
        """The note of the last commit that has one: see `append`, `overwrite` and `merge`.

        `of_rows`: the note with which the current rows were written; empty if they were written without one.
        """
        return self._log(table).note(of_rows=of_rows)

    # -- columns -----------------------------------------------------------------------------------------------------

    def difference(self, table: Table) -> SchemaDifference:
        """How the table differs from its schema; no difference if it does not exist yet."""
        if not self.exists(table):
            return SchemaDifference()
        found = {each.name: each.dataType.simpleString() for each in self._schema(table).fields}
        defined = {each.name: each.type for each in table.columns}
        return SchemaDifference(
            [each for each in table.columns if each.name not in found],
            [
                f"{name} is not defined" if name not in defined else f"{name} has the type {kind}, not {defined[name]}"
                for name, kind in found.items()
                if defined.get(name) != kind
            ],
        )

    def _schema(self, table: Table) -> StructType:
        from pyspark.sql.types import StructType

        if not self._small:
            return self.spark.read.format("delta").load(self.path(table)).schema
        return StructType.fromJson(dict(self._tables.schema(table)))

    def migrate(self, tables: Iterable[Table]) -> dict[str, list[str]]:
        """Add missing columns to tables, with null in all rows; returns the new columns by table path.

        An undefined column or a different type is an error, because writing would lose the contents of the column. Then
        no table is changed.
        """
        found = [(table, self.difference(table)) for table in tables]
        for table, difference in found:
            if difference.others:
                raise LakeError(
                    f"The table {table.path} of {self.uri} does not match this version of kconf: its column"
                    f" {' and its column '.join(difference.others)}. Use the version that wrote it, or run `kconf"
                    " pipeline rebuild`: it drops columns that this version does not define."
                )
        return {table.path: self._add_columns(table, each.missing) for table, each in found if each.missing}

    def _add_columns(self, table: Table, columns: Sequence[Column]) -> list[str]:
        self._check_lock()
        with self._noted(self.note(table, of_rows=True)):
            self.spark.sql(f"ALTER TABLE {self.sql_name(table)} ADD COLUMNS ({ddl(tuple(columns))})")
        return [each.name for each in columns]

    def rewrite(self, table: Table) -> None:
        """Rewrite a table to match its schema, in one commit."""
        if self.difference(table):
            self.overwrite(table, self.read(table))

    # -- writing -----------------------------------------------------------------------------------------------------

    def append(
        self, table: Table, rows: DataFrame, *, note: Mapping[str, Any] | None = None, few: bool = False
    ) -> None:
        """Add rows."""
        if self._is_little or (few and self._small):
            self._write_arrow(table, _collected(rows, table), "append", note)
        else:
            self._writer(table, rows, "append", note).save(self.path(table))

    def append_arrow(self, table: Table, rows: pa.Table, *, note: Mapping[str, Any] | None = None) -> None:
        """Add a few rows of an Arrow table, without Spark; missing columns are null. Only for a local lake."""
        schema, there = _arrow_schema(table), set(rows.column_names)
        columns = [rows[each.name] if each.name in there else pa.nulls(rows.num_rows, each.type) for each in schema]
        self._write_arrow(table, pa.table(columns, names=schema.names).cast(schema), "append", note)

    def append_rows(
        self, table: Table, rows: Sequence[Mapping[str, Any]], *, note: Mapping[str, Any] | None = None
    ) -> None:
        """Add a few rows, with times in ISO format. Not with Spark on a local lake, because it takes a second."""
        if not self._small:
            self.append(table, local(self.spark, rows, table.ddl), note=note)
        else:
            self._write_rows(table, rows, "append", note)

    def overwrite_rows(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        """Replace all rows with a few, in one commit; like `append_rows`."""
        if not self._small:
            self.overwrite(table, local(self.spark, rows, table.ddl))
        else:
            self._write_rows(table, rows, "overwrite", None)

    def _write_rows(
        self,
        table: Table,
        rows: Sequence[Mapping[str, Any]],
        mode: Mode,
        note: Mapping[str, Any] | None,
    ) -> None:
        whole = [{name: _value(row.get(name), kind) for name, kind, _ in table.columns} for row in rows]
        self._write_arrow(table, pa.Table.from_pylist(whole, _arrow_schema(table)), mode, note)

    def _write_arrow(self, table: Table, rows: pa.Table, mode: Mode, note: Mapping[str, Any] | None) -> None:
        self._check_lock()
        properties = None if self.exists(table) else self._properties(table)
        self._tables.write(table, rows, mode, properties=properties, note=note)

    def columns(self, table: Table, names: Sequence[str]) -> list[dict[str, Any]]:
        """Some columns of all rows of a small table; none if it does not exist yet. Does not use Spark on a local lake.

        Times have the zone UTC.
        """
        if not self.exists(table):
            return []
        if not self._small:
            rows = self.read(table).select(*names).collect()
            return [{name: _zoned(value) for name, value in row.asDict().items()} for row in rows]
        return self._tables.columns(table, names)

    def overwrite(
        self, table: Table, rows: DataFrame, note: Mapping[str, Any] | None = None, *, few: bool = False
    ) -> None:
        """Replace all rows, in one commit. `few`: only few of them differ from before."""
        if self._stays_small(table, few):
            self._write_arrow(table, _collected(rows, table), "overwrite", note)
            return
        self._writer(table, rows, "overwrite", note).option("overwriteSchema", "true").save(self.path(table))

    def update(
        self,
        table: Table,
        last: pa.Table,
        rows: DataFrame | pa.Table,
        merged: Callable[[pa.Table, pa.Table], pa.Table],
        note: Mapping[str, Any],
    ) -> None:
        """Replace all rows of a table, in one commit, with what `merged` returns for its `last` rows and the new
        `rows`."""
        new = _collected(rows, table)
        self._write_arrow(table, merged(last.cast(new.schema), new), "overwrite", note)

    def pieces(self, table: Table, names: Sequence[str] | None = None, **partition: bool) -> Iterator[Piece] | None:
        """The rows of each file of a medium-sized table or of one partition; None: only Spark can read it."""
        if not self._small or not self.exists(table):
            return None
        found = self._tables.files(table)
        folder = "".join(f"{name}={as_text(value)}/" for name, value in partition.items())
        part = found.below(folder) if found is not None else None
        if part is None or part.size > _MEDIUM * self._small or part.count > _ROWS:
            return None
        return self._tables.pieces(table, names=names, partition=partition)

    def matching(self, table: Table, where: pc.Expression, some: pc.Expression | None = None) -> pa.Table | None:
        """The rows of a table that meet `where`, and of those `some`; the session keeps what meets `where`.

        They must be few. None: only Spark can read the table.
        """
        there = self._small and self.exists(table) and self._tables.files(table) is not None
        return self._tables.matching(table, where, some) if there else None

    def pieces_of(self, table: Table, paths: Collection[str], names: Sequence[str] | None = None) -> Iterator[Piece]:
        """The rows of some files."""
        return self._tables.pieces(table, names=names, paths=paths)

    def files(self, table: Table, **partition: bool) -> list[str]:
        """The paths of the files of a table, or of one partition; none if only Spark can read it."""
        found = self._tables.files(table) if self._small and self.exists(table) else None
        folder = "".join(f"{name}={as_text(value)}/" for name, value in partition.items())
        return found.below(folder).paths if found is not None else []

    def replace_files(
        self,
        table: Table,
        pieces: Iterable[Piece],
        kept: Callable[[pa.Table], pa.Table],
        rows: DataFrame | pa.Table,
        note: Mapping[str, Any],
    ) -> None:
        """Replace the files with rows that are not `kept`, and add `rows`, in one commit."""
        self._check_lock()
        new = _collected(rows, table)
        gone, whole = [], [new]
        for piece in pieces:
            rest = kept(piece.rows)
            if rest.num_rows < piece.rows.num_rows:
                gone.append(piece.path)
                whole.append(rest.cast(new.schema))
        ranges = self._ranges(table).split(",")
        self._tables.replace(table, gone, [pa.concat_tables(whole)], ranges, note)

    def in_spark(self, table: Table, rows: pa.Table) -> DataFrame:
        """An Arrow table as a DataFrame."""
        return self.spark.createDataFrame(rows) if rows.num_rows else local(self.spark, [], table.ddl)

    def _stays_small(self, table: Table, few: bool) -> bool:
        return self._is_little or (few and self.is_small(table))

    def is_small(self, table: Table) -> bool:
        """Whether the table exists and is read and written without Spark jobs."""
        found = self._tables.files(table) if self._small and self.exists(table) else None
        return found is not None and found.size <= self._small

    def is_medium(self, table: Table) -> bool:
        """Whether the table is updated in memory: small, or file by file."""
        return self.is_small(table) or self.pieces(table) is not None

    def replace(
        self, table: Table, where: str, rows: DataFrame, note: Mapping[str, Any] | None = None, *, few: bool = False
    ) -> None:
        """Replace the rows that meet the condition with `rows`, which need not meet it, in one commit."""
        if self._stays_small(table, few):
            kept = self.read(table).where(f"NOT coalesce(({where}), false)")
            self.overwrite(table, fit(kept, table).unionByName(fit(rows, table)), note, few=few)
            return
        writer = self._writer(table, rows, "overwrite", note).option("replaceWhere", where)
        with self._with_settings({"spark.databricks.delta.replaceWhere.constraintCheck.enabled": "false"}):
            writer.save(self.path(table))

    def _check_lock(self) -> None:
        if self._lock is not None:
            self._lock.check()

    def _writer(self, table: Table, rows: DataFrame, mode: str, note: Mapping[str, Any] | None) -> DataFrameWriter:
        self._check_lock()
        writer = fit(rows, table).write.format("delta").mode(mode).partitionBy(*table.partitioned_by)
        writer = writer.options(**self._properties(table))
        return writer if note is None else writer.option("userMetadata", json.dumps(note))

    def _properties(self, table: Table) -> dict[str, str]:
        """The properties of a new table. Delta would delete commits of the last finished run during the next one."""
        kept = {"delta.enableExpiredLogCleanup": "false"} if self.local is not None else {}
        return {_RANGES: self._ranges(table), **kept}

    @staticmethod
    def _ranges(table: Table) -> str:
        return ",".join(name for name in table.names if name in _ASKED_BY and name not in table.partitioned_by)

    def merge(
        self,
        table: Table,
        rows: DataFrame,
        gone: DataFrame,
        *,
        on: str,
        note: Mapping[str, Any],
        few: bool = False,
    ) -> None:
        """Update the rows of the table (`t`) that match `s`, add the others, and remove those that match `gone`, in one
        commit."""
        from pyspark.sql import functions as F

        if self._stays_small(table, few):
            given = fit(rows, table).unionByName(fit(gone, table))
            kept = self.read(table).alias("t").join(given.alias("s"), F.expr(on), "left_anti")
            self.overwrite(table, fit(kept, table).unionByName(fit(rows, table)), note, few=few)
            return
        self._check_lock()
        given = fit(rows, table).withColumn(_GONE, F.lit(False))
        given = given.unionByName(fit(gone, table).withColumn(_GONE, F.lit(True)))
        given.createOrReplaceTempView("kconf_merge")
        with self._noted(note):
            self.spark.sql(
                f"MERGE INTO {self.sql_name(table)} t USING kconf_merge s ON {on}"
                f" WHEN MATCHED AND s.{_GONE} THEN DELETE WHEN MATCHED THEN UPDATE SET *"
                f" WHEN NOT MATCHED AND NOT s.{_GONE} THEN INSERT *"
            )

    @contextmanager
    def _noted(self, note: Mapping[str, Any]) -> Iterator[None]:
        text = {"spark.databricks.delta.commitInfo.userMetadata": json.dumps(note)} if note else {}
        with self._with_settings(text):
            yield

    @contextmanager
    def _with_settings(self, settings: Mapping[str, str]) -> Iterator[None]:
        for name, value in settings.items():
            self.spark.conf.set(name, value)
        try:
            yield
        finally:
            for name in settings:
                self.spark.conf.unset(name)

    def compact(self, table: Table) -> tuple[int, int]:
        """Merge small files; returns the number of files removed and added. The note is repeated."""
        if not self.exists(table):
            return 0, 0
        self._check_lock()
        size = {"spark.databricks.delta.optimize.minFileSize": str(_COMPACTED)}
        with self._noted(self.note(table, of_rows=True)), self._with_settings(size):
            (done,) = self.spark.sql(f"OPTIMIZE {self.sql_name(table)}").collect()
        return done["metrics"]["numFilesRemoved"], done["metrics"]["numFilesAdded"]

    def vacuum(self, table: Table, hours: int) -> None:
        """Delete files that no version of the last hours needs. The note is repeated."""
        if self.exists(table):
            self._check_lock()
            with self._noted(self.note(table, of_rows=True)):
                self.spark.sql(f"VACUUM {self.sql_name(table)} RETAIN {hours} HOURS")

    def shorten_log(self, table: Table) -> None:
        """Now and then, delete the commits of a local table that nobody needs. Only between runs: readers read the
        versions of the last finished run, which must be the current ones."""
        version = self.version(table)
        if self.local is None or version is None:
            return
        done = self._shortened.get(table.path)
        if done is None or not 0 <= version - done < _SHORTENED:
            shorten(self.local / table.path)
            self._shortened[table.path] = version

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock out other runs: by a file lock, on an object store by a lock that is renewed. On HDFS, Delta Lake
        refuses the commit of the second run instead."""
        if self.local is None:
            with LakeLock(self.uri).held() if is_object_store(self.uri) else nullcontext() as self._lock:
                yield
            return
        try:
            self.local.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.local / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise LakeError(f"Cannot write the lake {self.uri}: {error.strerror}.") from None
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise LakeBusy(f"Another pipeline run is using {self.uri}; try again later.") from None
            yield
        finally:
            os.close(handle)


class _HadoopLogFiles:
    """The commit files of a table on HDFS."""

    def __init__(self, spark: SparkSession, table: str) -> None:
        self._jvm: Any = spark._jvm
        self._folder = f"{table}/{LOG}"
        self._system = self._path(self._folder).getFileSystem(spark._jsc.hadoopConfiguration())

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(name)

    def last(self, since: Commit | None) -> Commit | None:
        folder = self._path(self._folder)
        found = {}
        for each in self._system.listStatus(folder) if self._system.exists(folder) else ():
            for version in commits_of([each.getPath().getName()]):
                found[version] = Commit(version, (each.getLen(), each.getModificationTime()))
        return found[max(found)] if found and (since is None or found.get(since.version) == since) else None

    def text(self, version: int) -> str | None:
        place = self._path(f"{self._folder}/{commit_name(version)}")
        if not self._system.exists(place):
            return None
        stream = self._system.open(place)
        try:
            return str(stream.readAllBytes().decode())
        finally:
            stream.close()


def _collected(rows: DataFrame | pa.Table, table: Table) -> pa.Table:
    """The rows of a table, in memory."""
    found = rows if isinstance(rows, pa.Table) else fit(rows, table).toArrow()
    return found.cast(_arrow_schema(table))


def _arrow_schema(table: Table) -> pa.Schema:
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    schema = StructType.fromDDL(table.ddl)
    assert isinstance(schema, StructType)
    return to_arrow_schema(schema, timezone="UTC")


def _value(value: Any, kind: str) -> Any:
    if isinstance(value, Mapping):
        return list(value.items())
    return datetime.fromisoformat(value) if kind == "timestamp" and value is not None else value


def _zoned(value: Any) -> Any:
    """A time that Spark returned, which is in the local time zone but has no zone."""
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def fit(rows: DataFrame, table: Table) -> DataFrame:
    """Select the columns of a table in order, with their types; missing ones are null. As SQL text: one JVM call."""
    there = set(rows.columns)
    return rows.selectExpr(
        *(f"CAST({f'`{name}`' if name in there else 'NULL'} AS {kind}) AS `{name}`" for name, kind, _ in table.columns)
    )


def local(spark: SparkSession, rows: Iterable[Mapping[str, Any]], ddl: str) -> DataFrame:
    """A few rows as a DataFrame, created inside the JVM: Spark's own method would start Python processes."""
    from pyspark.sql import functions as F

    text = json.dumps(list(rows))
    return spark.range(0, 1, 1, 1).select(F.inline(F.from_json(F.lit(text), f"array<struct<{ddl}>>")))
