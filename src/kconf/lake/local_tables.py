"""Reads and writes small tables of a local lake without Spark, which needs jobs and seconds for a few rows."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from kconf.lake.delta_log import Commit, DeltaLog, LocalLogFiles
from kconf.lake.parquet_files import as_text, write_parquet
from kconf.lake.storage.errors import store_error
from kconf.lake.storage.location import LakeError

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import CommitProperties, DeltaTable
    from pyarrow.compute import Expression

    from kconf.lake.schemas import Table

Mode = Literal["append", "overwrite"]
_KEPT: Final = 100_000
"""Up to this number of rows that meet a condition are kept; a row takes 160 to 300 bytes in memory."""


@dataclass(frozen=True)
class Files:
    """The Parquet files of a version of a table, by their path below the table: their bytes and rows (0: unknown), and
    the schema as Spark's JSON."""

    sizes: Mapping[str, int]
    counts: Mapping[str, int]
    schema: Mapping[str, Any]

    @property
    def paths(self) -> list[str]:
        return sorted(self.sizes)

    @property
    def size(self) -> int:
        return sum(self.sizes.values())

    @property
    def count(self) -> int:
        return sum(self.counts.values())

    def of(self, paths: Iterable[str]) -> Files:
        """Only the files with these paths."""
        wanted = list(paths)
        sizes, counts = ({path: each[path] for path in wanted} for each in (self.sizes, self.counts))
        return Files(sizes, counts, self.schema)

    def below(self, folder: str) -> Files:
        """Only the files in a folder."""
        return self.of(path for path in self.sizes if path.startswith(folder))


class Piece(NamedTuple):
    """A file of a table, by its path below the table, and its rows."""

    path: str
    rows: pa.Table


class LocalTables:
    """The tables in one directory. Except for `write`, the table must exist. Errors are raised as LakeError.

    The state of a table is kept until its next commit, because a run requests it many times.
    """

    def __init__(self, place: str) -> None:
        self._place = place
        self._logs: dict[str, DeltaLog] = {}
        self._last: dict[str, tuple[Commit, DeltaTable]] = {}
        self._columns: dict[tuple[str, ...], dict[str, pa.Table]] = {}
        self._matching: dict[tuple[str, str], dict[str, pa.Table]] = {}

    def log(self, table: Table) -> DeltaLog:
        return self._logs.setdefault(table.path, DeltaLog(LocalLogFiles(f"{self._place}/{table.path}")))

    def files(self, table: Table, version: int | None = None) -> Files | None:
        """The files of a table; None if they alone do not show its rows, as with deletion vectors."""
        with self._checked():
            found = self._open(table, version)
            if found.protocol().reader_features:
                return None
            added = found.get_add_actions(flatten=True)
            paths, sizes, counts = (_column(added, each) for each in ("path", "size_bytes", "num_records"))
            if any("%" in each for each in paths):
                return None
            rows = {path: count or 0 for path, count in zip(paths, counts, strict=True)}
            return Files(dict(zip(paths, sizes, strict=True)), rows, _schema(found))

    def fresh(self, table: Table, since: int) -> Files | None:
        """The files that may have rows of a later `round`, according to their statistics."""
        whole = self.files(table)
        if whole is None:
            return None
        with self._checked():
            found = self._open(table)
            added = found.get_add_actions(flatten=True)
            last = dict(zip(_column(added, "path"), _column(added, "max.round"), strict=True))
            return whole.of(path for path in whole.sizes if (last[path] or since + 1) > since)

    def rows(self, table: Table, names: Sequence[str] | None = None, *, since: int | None = None) -> pa.Table:
        """All columns or some, of all rows or of those of a later `round`."""
        from pyarrow import dataset

        with self._checked():
            wanted = None if since is None else dataset.field("round") > since
            return self._open(table).to_pyarrow_dataset().to_table(names and list(names), filter=wanted)

    def pieces(
        self,
        table: Table,
        *,
        names: Sequence[str] | None = None,
        partition: Mapping[str, bool] | None = None,
        paths: Collection[str] | None = None,
    ) -> Iterator[Piece]:
        """The rows of each file, one after the other; if given, only some columns, one partition or some files."""
        folder = "".join(f"{name}={as_text(value)}/" for name, value in (partition or {}).items())
        with self._checked():
            whole = self._open(table).to_pyarrow_dataset()
            for fragment in whole.get_fragments():
                if fragment.path.startswith(folder) and (paths is None or fragment.path in paths):
                    columns = list(names or table.names)
                    yield Piece(fragment.path, fragment.to_table(schema=whole.schema, columns=columns))

    def matching(self, table: Table, where: Expression, some: Expression | None = None) -> pa.Table:
        """The rows that meet `where`, and of those `some`. From files without such rows, only one column is read.

        The rows that meet `where` are kept for the next call if they are few, because files never change.
        """
        import pyarrow as pa

        with self._checked():
            whole = self._open(table).to_pyarrow_dataset()
            none = whole.schema.empty_table().select(table.names)
            known, kept = self._matching.get((table.path, str(where)), {}), {}
            found, count = [none], 0
            for each in whole.get_fragments():
                rows = known.get(each.path)
                if rows is None:
                    has_any = each.to_table(schema=whole.schema, columns=table.names[:1], filter=where).num_rows
                    rows = each.to_table(schema=whole.schema, columns=table.names, filter=where) if has_any else none
                count += rows.num_rows
                if count <= _KEPT:
                    kept[each.path] = rows
                found.append(rows if some is None else rows.filter(some))
            self._matching[table.path, str(where)] = kept
            return pa.concat_tables(found)

    def replace(
        self,
        table: Table,
        gone: Sequence[str],
        rows: Sequence[pa.Table],
        ranges: Sequence[str],
        note: Mapping[str, Any],
    ) -> None:
        """Replace files of a table with new ones, in one commit. `ranges`: the columns with statistics."""
        from deltalake.transaction import AddAction, RemoveAction

        now = round(time.time() * 1000)
        with self._checked():
            last = self._open(table)
            home = Path(self._place, table.path)
            added = [each for part in rows for each in write_parquet(home, part, table.partitioned_by, ranges)]
            actions: list[AddAction | RemoveAction] = [
                AddAction(each.path, each.size, each.partition, now, True, json.dumps(each.statistics))
                for each in added
            ]
            sizes = {path: (size, partition) for path, size, partition in _added(last, table.partitioned_by)}
            actions += [RemoveAction(path, True, now, *sizes[path]) for path in gone]
            last.create_write_transaction(
                actions, "append", last.schema(), list(table.partitioned_by), commit_properties=_noted(note)
            )

    def schema(self, table: Table) -> Mapping[str, Any]:
        """The schema of a table, as Spark's JSON."""
        with self._checked():
            return _schema(self._open(table))

    def columns(self, table: Table, names: Sequence[str]) -> list[dict[str, Any]]:
        """Some columns of all rows. Reads each file once, because a follower adds one per round and needs all."""
        import pyarrow as pa

        with self._checked():
            whole = self._open(table).to_pyarrow_dataset()
            fragments = {each.path: each for each in whole.get_fragments()}
            known = self._columns.get((table.path, *names), {})
            rows = {
                path: known[path] if path in known else each.to_table(schema=whole.schema, columns=list(names))
                for path, each in fragments.items()
            }
            self._columns[table.path, *names] = rows
            found: list[dict[str, Any]] = pa.concat_tables(rows.values()).to_pylist() if rows else []
            return found

    def write(
        self,
        table: Table,
        rows: pa.Table,
        mode: Mode,
        *,
        properties: Mapping[str, str] | None = None,
        note: Mapping[str, Any] | None = None,
    ) -> None:
        """Add rows or replace all, in one commit. `properties` are those of a table that does not exist yet."""
        from deltalake import write_deltalake

        with self._checked():
            write_deltalake(
                f"{self._place}/{table.path}",
                rows,
                mode=mode,
                partition_by=list(table.partitioned_by) or None,
                schema_mode="overwrite" if mode == "overwrite" else None,
                configuration=properties,
                commit_properties=_noted(note) if note is not None else None,
            )

    def _open(self, table: Table, version: int | None = None) -> DeltaTable:
        from deltalake import DeltaTable

        place = f"{self._place}/{table.path}"
        if version is not None:
            return DeltaTable(place, version=version)
        commit = self.log(table).last()
        last = self._last.get(table.path)
        if last is not None and commit is not None and last[0] == commit:
            return last[1]
        opened = DeltaTable(place)
        if commit is not None:
            self._last[table.path] = commit, opened
        return opened

    @contextmanager
    def _checked(self) -> Iterator[None]:
        """Raise errors of deltalake as a LakeError with one sentence."""
        from deltalake.exceptions import DeltaError

        try:
            yield
        except (DeltaError, OSError) as error:
            if "No space left on device" in str(error):
                raise LakeError(disk_full(self._place)) from None
            raise LakeError(f"The lake {self._place} cannot be used: {store_error(error)}") from None


def _noted(note: Mapping[str, Any]) -> CommitProperties:
    from deltalake import CommitProperties

    return CommitProperties(custom_metadata={"userMetadata": json.dumps(note)})


def _column(actions: Any, name: str) -> list[Any]:
    """A column of the actions of a log; a statistic that no file has is null."""
    there = name in actions.schema.names
    return actions.column(name).to_pylist() if there else [None] * actions.num_rows


def _added(table: DeltaTable, partitioned_by: Sequence[str]) -> Iterator[tuple[str, int, dict[str, str | None]]]:
    """The path, size and partition of each file."""
    found = table.get_add_actions(flatten=True)
    names = ("path", "size_bytes", *(f"partition.{each}" for each in partitioned_by))
    for path, size, *values in zip(*(found.column(each).to_pylist() for each in names), strict=True):
        yield path, size, {name: as_text(value) for name, value in zip(partitioned_by, values, strict=True)}


def disk_full(uri: str) -> str:
    return f"The disk is full. The failed step did not change {uri}. Free some space."


def _schema(table: DeltaTable) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(table.schema().to_json())
    return found
