"""SQL queries on the tables of a lake, without Spark: DuckDB queries what deltalake reads.

DuckDB is used instead of deltalake's own DataFusion because it can be restricted: one read-only statement, no files, no
extensions, no settings, and a memory limit. All tables have the versions of the last finished run. They are views in
the schemas `bronze`, `silver` and `gold`; their names also work without a schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from kconf.errors import ConfigurationError
from kconf.lake.lookup import LakeTables
from kconf.lake.schemas import FILES, RUNS, TABLES, Table
from kconf.lake.sql_errors import query_error
from kconf.lake.storage.errors import store_error
from kconf.lake.storage.location import LakeError

if TYPE_CHECKING:
    import pyarrow as pa

MEMORY: Final = "1GB"
"""The memory that a query may use; more data is written to a temporary directory."""
_DISK: Final = "20GB"
_READ: Final = "kconf_read"
_AT_ONCE: Final = 1000
_PREPARED: Final = (
    "SET TimeZone = 'UTC'",
    *(f"CREATE SCHEMA {layer}" for layer in ("bronze", "silver", "gold")),
    "SET search_path = 'main,bronze,silver,gold'",
)
_LOCKED: Final = ("SET enable_external_access = false", "SET lock_configuration = true")
_RAW_MEMORY: Final = re.compile(r"\b(?:arrow|pandas|python)\w*_scan", re.IGNORECASE)  # also quoted, or with a comment
_CONFINED: Final = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    "max_temp_directory_size": _DISK,
}


class QueryResult(NamedTuple):
    """The rows of a query; `is_cut`: there are more."""

    columns: Sequence[str]
    rows: Sequence[tuple[Any, ...]]
    is_cut: bool

    def __str__(self) -> str:
        """The rows as text, one per line, for notebooks."""
        return "\n".join("  ".join(map(str, row)) for row in (self.columns, *self.rows))


class LakeSql:
    """A lake to query with SQL. Use it in a `with` block, or close it.

    `memory` limits the memory of a query, for example `500MB`. Raises LakeError if the lake cannot be read.
    """

    def __init__(self, lake: str | LakeTables, *, memory: str = MEMORY) -> None:
        self.tables = lake if isinstance(lake, LakeTables) else LakeTables(lake)
        self._temporary = TemporaryDirectory(prefix="kconf-sql-")
        try:
            self._memory = memory
            self._duckdb = _library()
            self._check_memory()
        except BaseException:
            self._temporary.cleanup()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._temporary.cleanup()

    def query(self, text: str, limit: int | None = None) -> QueryResult:
        """At most `limit` rows of one read-only statement. Raises ConfigurationError if it is not valid."""
        with self._run(text) as answer:
            columns = _unique(answer.columns)
            rows: list[tuple[Any, ...]] = []
            for batch in answer.to_arrow_reader(_AT_ONCE):
                values = [[value.as_py() for value in column] for column in batch.columns]
                rows += zip(*values, strict=True)
                if limit is not None and len(rows) > limit:
                    return QueryResult(columns, rows[:limit], True)
            return QueryResult(columns, rows, False)

    def arrow(self, text: str) -> pa.Table:
        """The same as an Arrow table, for pandas, Polars and others."""
        with self._run(text) as answer:
            return answer.to_arrow_reader(_AT_ONCE).read_all()

    @contextmanager
    def _run(self, text: str) -> Iterator[Any]:
        """The result of a statement, while its connection is open."""
        connection = self._duckdb.connect(":memory:", config=self._settings())
        try:
            self._check(connection, text)
            for each in _PREPARED:
                connection.execute(each)
            for table in self._wanted(text):
                self._register(connection, table)
            for each in _LOCKED:
                connection.execute(each)
            yield connection.sql(text)
        except self._duckdb.Error as error:
            raise query_error(error, {each.name: each.names for each in self._there()}, self._memory) from None
        except OSError as error:
            raise LakeError(f"cannot read the lake at {self.tables.uri}: {store_error(error)}") from None
        finally:
            connection.close()

    def _settings(self) -> dict[str, str]:
        return {**_CONFINED, "memory_limit": self._memory, "temp_directory": self._temporary.name}

    def _check_memory(self) -> None:
        try:
            self._duckdb.connect(":memory:", config=self._settings()).close()
        except self._duckdb.Error:
            raise ConfigurationError(f"invalid memory size {self._memory!r}; try {MEMORY}") from None

    def _check(self, connection: Any, text: str) -> None:
        """Raise an error unless it is one read-only statement."""
        statements = connection.extract_statements(text)
        if len(statements) != 1:
            raise ConfigurationError(f"pass one SQL statement, not {len(statements) or 'an empty one'}")
        kind = statements[0].type.name
        if kind not in ("SELECT", "EXPLAIN"):
            raise ConfigurationError(f"only queries are allowed, not {kind.replace('_', ' ')}: the lake is read-only")
        if _RAW_MEMORY.search(text):
            raise ConfigurationError("functions that read the process's memory are not allowed")

    def _there(self) -> list[Table]:
        return [table for table in TABLES.values() if table in (FILES, RUNS) or self.tables.has(table)]

    def _wanted(self, text: str) -> list[Table]:
        """The tables that a statement names, because opening a table takes time; all tables if it names none."""
        words = {each.lower() for each in re.findall(r"\w+", text)}
        return [table for table in self._there() if table.name in words] or self._there()

    def _register(self, connection: Any, table: Table) -> None:
        """Create a view of a table as of the last run; columns that it does not have yet are null."""
        found = self.tables.delta_table(table)
        if found is None:
            return
        name = f"{_READ}_{table.name}"
        connection.register(name, found.to_pyarrow_dataset())
        there = {each.name for each in found.schema().fields}
        missing = "".join(
            f', CAST(NULL AS {duckdb_type(each.type)}) AS "{each.name}"'
            for each in table.columns
            if each.name not in there
        )
        where = f" WHERE run <= {int(self.tables.run['run'])}" if table == RUNS else ""
        place = f"{table.layer or 'main'}.{table.name}"
        connection.execute(f"CREATE VIEW {place} AS SELECT *{missing} FROM {name}{where}")


def duckdb_type(name: str) -> str:
    """DuckDB's name for a Spark type."""
    kind, _, inner = name.removesuffix(">").partition("<")
    match kind:
        case "array":
            return f"{duckdb_type(inner)}[]"
        case "map":
            return f"MAP({', '.join(map(duckdb_type, _parts(inner)))})"
        case "struct":
            fields = (each.partition(":") for each in _parts(inner))
            typed = (f'"{field}" {duckdb_type(of)}' for field, _, of in fields)
            return f"STRUCT({', '.join(typed)})"
        case _:
            return {"string": "VARCHAR", "timestamp": "TIMESTAMPTZ", "int": "INTEGER"}.get(kind, kind.upper())


def _parts(text: str) -> list[str]:
    """The parts between commas, except those inside < and >."""
    found, depth = [""], 0
    for letter in text:
        depth += (letter == "<") - (letter == ">")
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return found


def _unique(names: Sequence[str]) -> list[str]:
    """Column names without duplicates: a second `key` becomes `key_2`."""
    found: list[str] = []
    for name in names:
        number, chosen = 1, name
        while chosen in found:
            number += 1
            chosen = f"{name}_{number}"
        found.append(chosen)
    return found


def _library() -> Any:
    try:
        import duckdb
    except ImportError:
        raise LakeError("SQL on a lake requires the package duckdb: pip install 'kconf[spark]'") from None
    return duckdb
