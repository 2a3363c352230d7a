"""A small lake written with deltalake, without Spark: some columns of some tables, and runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from kconf.lake.schemas import FILES, HISTORY, RUNS, TOPICS, VIOLATIONS, Table
from kconf.lake.storage.location import storage_options

Row = Mapping[str, Any]
CLUSTER: Final = "cluster-one-000000000A"
_TIME: Final = pa.timestamp("us", "UTC")
_TYPES: Final = {
    "string": pa.string(),
    "bigint": pa.int64(),
    "int": pa.int32(),
    "boolean": pa.bool_(),
    "timestamp": _TIME,
    "date": pa.date32(),
    "double": pa.float64(),
    "map<string,string>": pa.map_(pa.string(), pa.string()),
    "map<string,bigint>": pa.map_(pa.string(), pa.int64()),
}


class SmallLake:
    """Tables are appended to; `finish` records their versions as those of a run."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self.runs = 0

    def add(self, table: Table, rows: Sequence[Row]) -> None:
        kinds = [(each.name, _TYPES[each.type]) for each in table.columns if each.name in rows[0]]
        values = [{name: row.get(name) for name, _ in kinds} for row in rows]
        written = pa.Table.from_pylist(values, schema=pa.schema(kinds))
        write_deltalake(self._place(table), written, mode="append", storage_options=storage_options(self.uri))

    def finish(self, *tables: Table, rounds: int = 1) -> None:
        self.runs += 1
        versions = [(each.name, self._version(each)) for each in tables]
        row = {
            "run": self.runs,
            "started": datetime(2026, 11, 1, tzinfo=UTC),
            "finished": datetime(2026, 11, 1, 0, self.runs, tzinfo=UTC),
            "round": rounds,
            "inputs": [],
            "versions": versions,
        }
        self.add(RUNS, [row])

    def _version(self, table: Table) -> int:
        return DeltaTable(self._place(table), storage_options=storage_options(self.uri)).version()

    def _place(self, table: Table) -> str:
        return f"{self.uri}/{table.path}"


def value(topic: str, key: str, text: str, **more: Any) -> Row:
    """A current value of a topic."""
    return {
        "cluster": CLUSTER,
        "kind": "config",
        "resource_type": "topic",
        "resource_name": topic,
        "key": key,
        "value": text,
        "since": datetime(2026, 11, 1, 12, tzinfo=UTC),
        "principal": "User:alice",
        "entity": None,
        "open": True,
        **more,
    }


def example(uri: str) -> SmallLake:
    """Two topics with values, a violation, and rows of an unfinished run."""
    lake = SmallLake(uri)
    lake.add(HISTORY, [value("orders", "retention.ms", "60000"), value("logs", "retention.ms", "7")])
    lake.add(TOPICS, [{"cluster": CLUSTER, "topic": "orders", "owner": "search", "exists": True}])
    lake.add(VIOLATIONS, [{"cluster": CLUSTER, "rule": "r1", "message": "too short", "severity": "error"}])
    lake.add(FILES, [{"source": "archive", "file": "a.jsonl", "round": 1}])
    lake.finish(HISTORY, TOPICS, VIOLATIONS, FILES)
    lake.add(HISTORY, [value("later", "retention.ms", "1")])
    lake.add(FILES, [{"source": "archive", "file": "b.jsonl", "round": 2}])
    return lake
