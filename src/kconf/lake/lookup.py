"""Queries the lake's tables without Spark and its JVM: past values, authors, differences.

All tables are read at the versions of the last finished run, because those belong together. A defined column that the
run's version of kconf did not have yet is null; columns added by a newer version are included. A lookup of one resource
takes a few tenths of a second as a new process. `kconf lake` uses this, and so do `kconf history`, `blame` and `diff`
for contexts with a lake.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kconf.lake.delta_log import LocalLogFiles, StoredLogFiles, note_at
from kconf.lake.schemas import DRIFT, FILES, HISTORY, RUNS, STATE, VIOLATIONS, Table
from kconf.lake.storage.errors import store_error
from kconf.lake.storage.location import LakeError, NoLake, is_object_store, local_path, located, storage_options
from kconf.model.resource import Resource

if TYPE_CHECKING:
    from deltalake import DeltaTable

Row = dict[str, Any]
Fact = tuple[str, str, str, str]
"""Cluster, resource type, resource name, key: the identity of a value."""
Pair = tuple[Row | None, Row | None]
"""Two rows of a fact, at two times or in two clusters; None: not set."""


class LakeComparison(NamedTuple):
    """The differences between two clusters, how many values were compared, and how many secrets both clusters have,
    whose values cannot be compared.
    """

    pairs: Sequence[Pair]
    values: int
    hidden: int


NO_FILES: Final = sha256().hexdigest()[:16]
"""The fingerprint in `runs` of inputs without files."""
_SINCE: Final = "since, epoch, revision, line"
_RECENT: Final = 20  # commits; a compaction has no note


@dataclass(frozen=True, slots=True)
class LookupFilter:
    """The scope of a query; if empty, everything. `key` is one key; an empty key means the topic itself."""

    clusters: Sequence[str] = ()
    resources: Sequence[Resource] = ()
    key: str | None = None

    def conditions(self) -> list[str]:
        found = []
        if self.clusters:
            found.append(f"cluster IN ({_list(self.clusters)})")
        if self.resources:
            by_type: dict[str, list[str]] = {}
            for each in self.resources:
                by_type.setdefault(each.type.word, []).append(each.name)
            some = (
                f"(resource_type = {quoted(kind)} AND resource_name IN ({_list(names)}))"
                for kind, names in by_type.items()
            )
            found.append(f"({' OR '.join(some)})")
        if self.key is not None:
            found.append(f"key = {quoted(self.key)}")
        return found


EVERYTHING: Final = LookupFilter()


class LakeTables:
    """A lake, for reading. Raises LakeError if there is none, or no finished run."""

    def __init__(self, uri: str) -> None:
        self.uri = located(uri)
        self._runs = self._open(RUNS, None)
        last = _rows(self._runs, "SELECT run, finished, round, versions, inputs FROM t ORDER BY run DESC LIMIT 1")
        if not last:
            raise LakeError(f"no pipeline run has finished on the lake {self.uri}; run `kconf pipeline run` first")
        self.run: Row = last[0]
        self._versions: Mapping[str, int] = dict(self.run["versions"])
        self._opened: dict[str, tuple[DeltaTable, str]] = {}

    def rows(
        self,
        table: Table,
        conditions: Iterable[str] = (),
        *,
        order: str = "",
        columns: str = "*",
        group: str = "",
        limit: int | None = None,
    ) -> list[Row]:
        """The rows of a table that meet all conditions; none if the last run did not write the table."""
        if not self.has(table):
            return []
        if table.name not in self._opened:
            opened = self._open(table, self._versions[table.name])
            self._opened[table.name] = opened, _defined(opened, table)
        found, source = self._opened[table.name]
        where = " AND ".join(conditions)
        text = f"SELECT {columns} FROM {source}" + (f" WHERE {where}" if where else "")
        text += (f" GROUP BY {group}" if group else "") + (f" ORDER BY {order}" if order else "")
        text += f" LIMIT {limit}" if limit is not None else ""
        return _rows(found, text)

    def delta_table(self, table: Table) -> DeltaTable | None:
        """A table as of the last run; None if there is none. Runs of older versions did not record that of `files`."""
        if table == RUNS:
            return self._runs
        if not self.has(table) and table != FILES:
            return None
        try:
            return self._open(table, self._versions.get(table.name))
        except NoLake:
            if table == FILES:
                return None
            raise

    def has(self, table: Table) -> bool:
        """Whether the last run had such a table."""
        return table.name in self._versions

    @property
    def is_declared(self) -> bool:
        """Whether the last run had declared files."""
        return self.has(DRIFT) and self._was_given("declared")

    @property
    def has_policy(self) -> bool:
        """Whether the last run had a policy."""
        return self.has(VIOLATIONS) and self._was_given("policy")

    def _was_given(self, name: str) -> bool:
        """Whether the last run had input files of a kind. Their tables stay, without rows, when they are omitted."""
        return dict(self.run["inputs"] or ()).get(name) != NO_FILES

    def note(self, table: Table) -> dict[str, Any]:
        """The note of the last commit that has one, as of the last run; empty if none of the recent commits has one.

        The commits are read by their names: `history` of deltalake returns later commits than those of the version.
        """
        if not self.has(table):
            return {}
        place = f"{self.uri}/{table.path}"
        if local_path(place) is None and not is_object_store(place):
            return {}
        files = StoredLogFiles(place) if is_object_store(place) else LocalLogFiles(place)
        return dict(json.loads(note_at(files, self._versions[table.name], most=_RECENT) or "{}"))

    def clusters(self) -> list[str]:
        """The IDs of all clusters of which the lake has data."""
        found = self.rows(STATE, columns="DISTINCT cluster", order="cluster")
        found = found or self.rows(HISTORY, columns="DISTINCT cluster", order="cluster")
        return [row["cluster"] for row in found]

    def names(self, resource_type: str, clusters: Sequence[str] = (), more: Sequence[Table] = ()) -> list[str]:
        """The names of all resources of a type that ever existed, or that one of `more` tables has."""
        conditions = [f"resource_type = {quoted(resource_type)}", *LookupFilter(clusters).conditions()]
        return self._distinct("resource_name", conditions, more)

    def keys(self) -> list[str]:
        """All keys that were ever set."""
        return self._distinct("key", ["key <> ''"])

    def knows(self, about: LookupFilter, more: Sequence[Table] = ()) -> bool:
        """Whether the history, or one of `more` tables, has a row in scope."""
        return any(self.rows(each, about.conditions(), columns="1 AS one", limit=1) for each in (HISTORY, *more))

    def _distinct(self, column: str, conditions: Sequence[str], more: Sequence[Table] = ()) -> list[str]:
        found = {
            row[column]
            for table in (HISTORY, *more)
            for row in self.rows(table, conditions, columns=f"DISTINCT {column}")
        }
        return sorted(found)

    def history(
        self, about: LookupFilter = EVERYTHING, since: datetime | None = None, until: datetime | None = None
    ) -> list[Row]:
        """The intervals that overlap a time range, in order of their start."""
        conditions = [*about.conditions(), *held_between(since, until)]
        return self.rows(HISTORY, conditions, order=f"cluster, {_SINCE}, resource_name, key")

    def state(self, about: LookupFilter = EVERYTHING, at: datetime | None = None) -> list[Row]:
        """The values at a time, each with the change that set it; None: now."""
        if at is None:
            held = ["open"]
        else:
            moment = _moment(at)
            held = [f"since <= {moment}", f'("until" IS NULL OR "until" > {moment})']
        found = self.rows(HISTORY, [*about.conditions(), *held], order="cluster, resource_type, resource_name, key")
        return _last_words(found)

    def diff(self, about: LookupFilter, before: datetime | None, after: datetime | None = None) -> list[Pair]:
        """The differences between two times; None: now."""
        first = {fact(row): row for row in self.state(about, before)}
        second = {fact(row): row for row in self.state(about, after)}
        return differences(first, second)

    def compare(
        self, one: str, other: str, ignored: Iterable[str] = (), about: LookupFilter = EVERYTHING
    ) -> LakeComparison:
        """Compare two clusters. `ignored` are globs of keys."""
        from fnmatch import fnmatchcase

        patterns = list(ignored)

        def side(cluster: str) -> dict[Fact, Row]:
            rows = self.state(LookupFilter([cluster], about.resources, about.key))
            return {
                ("", *fact(row)[1:]): row
                for row in rows
                if not any(fnmatchcase(row["key"] or row["resource_type"], each) for each in patterns)
            }

        first, second = side(one), side(other)
        hidden = sum(row["sensitive"] and first[each]["sensitive"] for each, row in second.items() if each in first)
        return LakeComparison(differences(first, second, portable), len({*first, *second}), hidden)

    def _open(self, table: Table, version: int | None) -> DeltaTable:
        try:
            from deltalake import DeltaTable
            from deltalake.exceptions import DeltaError, TableNotFoundError
        except ImportError:
            raise LakeError("reading a lake requires the package deltalake: pip install 'kconf[spark]'") from None
        try:
            place = f"{self.uri}/{table.path}"
            return DeltaTable(place, version=version, storage_options=storage_options(place))
        except (TableNotFoundError, FileNotFoundError):
            raise NoLake(f"no lake at {self.uri}; create one with `kconf pipeline run`") from None
        except (DeltaError, OSError, ValueError) as error:
            raise LakeError(f"cannot read the lake at {self.uri}: {store_error(error)}") from None


def fact(row: Row) -> Fact:
    return row["cluster"], row["resource_type"], row["resource_name"], row["key"]


def differences(
    first: Mapping[Fact, Row], second: Mapping[Fact, Row], text: Callable[[Row | None], str | None] | None = None
) -> list[Pair]:
    """Pairs of rows with different values, in order; None: not set."""
    text_of = text or shown
    pairs = [(first.get(each), second.get(each)) for each in sorted({*first, *second})]
    return [(one, other) for one, other in pairs if text_of(one) != text_of(other)]


def shown(row: Row | None) -> str | None:
    """A value for display; for a topic its partitions. None: not set."""
    if row is None:
        return None
    if row["kind"] == "topic":
        return _shape(row["value"] or "{}")
    return row["value"] if row["value"] is not None else ""


def portable(row: Row | None) -> str | None:
    """A value for comparison between clusters: each one hashes secrets with its own key."""
    return "" if row is not None and row["sensitive"] else shown(row)


def _shape(text: str) -> str:
    """Partitions and replication of a topic, from the journal's or the snapshot's format.

    A client does not know them if it left them to the broker.
    """
    parsed = json.loads(text)
    if "replicas" in parsed:
        replicas = parsed["replicas"]
        return f"partitions={len(replicas)} replicas={len(replicas[0]) if replicas else 0}"
    counts = (count if (count := parsed.get(name) or 0) > 0 else "unknown" for name in ("partitions", "replication"))
    return "partitions={} replicas={}".format(*counts)


def _last_words(rows: Sequence[Row]) -> list[Row]:
    """The last row of each fact in order: two changes may have the same time."""
    found: dict[Fact, Row] = {}
    for row in rows:
        known = found.get(fact(row))
        if known is None or _order(row) > _order(known):
            found[fact(row)] = row
    return list(found.values())


def _order(row: Row) -> tuple[int, int, int]:
    return row["epoch"] or 0, row["revision"] or 0, row["line"] or 0


def held_between(since: datetime | None, until: datetime | None) -> list[str]:
    """Conditions for intervals that overlap a time range; None: unbounded."""
    begun = [f"since <= {_moment(until)}"] if until is not None else []
    return [*begun, f'("until" IS NULL OR "until" > {_moment(since)})'] if since is not None else begun


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _list(texts: Iterable[str]) -> str:
    return ", ".join(map(quoted, texts))


def _moment(at: datetime) -> str:
    return f"arrow_cast({quoted(at.isoformat())}, 'Timestamp(Microsecond, Some(\"UTC\"))')"


def _defined(found: DeltaTable, table: Table) -> str:
    """The table to select from, with null for each defined column that it does not have yet."""
    there = {each.name for each in found.schema().fields}
    missing = "".join(f', NULL AS "{name}"' for name in table.names if name not in there)
    return f"(SELECT *{missing} FROM t)" if missing else "t"


def _rows(table: DeltaTable, text: str) -> list[Row]:
    from deltalake import QueryBuilder
    from deltalake.exceptions import DeltaError

    try:
        found: Any = QueryBuilder().register("t", table).execute(text).read_all()
    except (DeltaError, OSError) as error:
        raise LakeError(f"{table.table_uri} cannot be read: {store_error(error)}") from None
    names = found.column_names
    columns = [[value.as_py() for value in found.column(name)] for name in names]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
