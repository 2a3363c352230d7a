"""Tables of a local lake that are written and read without Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from kconf.lake.local_tables import LocalTables
from kconf.lake.location import LakeError
from kconf.lake.schemas import Column, Table

TABLE = Table("gold", "sizes", "Sizes.", (Column("name", "string", ""), Column("size", "bigint", "")), ("name",))
SCHEMA = pa.schema([("name", pa.string()), ("size", pa.int64())])


def rows(**sizes: int | None) -> pa.Table:
    return pa.Table.from_pylist([{"name": name, "size": size} for name, size in sizes.items()], SCHEMA)


@pytest.fixture
def tables(tmp_path: Path) -> LocalTables:
    return LocalTables(str(tmp_path))


def found(tables: LocalTables) -> dict[str, Any]:
    return {row["name"]: row["size"] for row in tables.columns(TABLE, ["name", "size"])}


def test_rows_are_added_and_replaced_each_in_one_commit(tables: LocalTables, tmp_path: Path) -> None:
    tables.write(TABLE, rows(a=1), "append", properties={"delta.dataSkippingStatsColumns": "size"}, note={"round": 1})
    tables.write(TABLE, rows(b=None), "append", note={"round": 2})
    assert found(tables) == {"a": 1, "b": None}
    tables.write(TABLE, rows(c=3), "overwrite")
    assert found(tables) == {"c": 3}

    log = sorted((tmp_path / TABLE.path / "_delta_log").glob("*.json"))
    infos = [json.loads(line)["commitInfo"] for file in log for line in file.open() if line.startswith('{"commitInfo"')]
    assert [json.loads(info["userMetadata"]) if "userMetadata" in info else None for info in infos] == [
        {"round": 1},
        {"round": 2},
        None,
    ]
    made = DeltaTable(tmp_path / TABLE.path)
    assert made.metadata().configuration == {"delta.dataSkippingStatsColumns": "size"}
    assert made.metadata().partition_columns == ["name"]


def test_a_commit_without_rows_keeps_its_note(tables: LocalTables, tmp_path: Path) -> None:
    tables.write(TABLE, rows(a=1), "append")
    tables.write(TABLE, rows(), "append", note={"round": 2})

    assert found(tables) == {"a": 1}
    last = tmp_path / TABLE.path / "_delta_log" / f"{1:020}.json"
    assert '\\"round\\": 2' in last.read_text()


def test_the_files_of_a_version_are_those_of_its_rows(tables: LocalTables, tmp_path: Path) -> None:
    tables.write(TABLE, rows(a=1), "append")
    tables.write(TABLE, rows(b=2), "overwrite")

    then, now = tables.files(TABLE, 0), tables.files(TABLE)

    assert then is not None
    assert now is not None
    assert [path.partition("/")[0] for each in (then, now) for path in each.paths] == ["name=a", "name=b"]
    assert all((tmp_path / TABLE.path / path).is_file() for each in (then, now) for path in each.paths)
    assert [(each["name"], each["type"]) for each in now.schema["fields"]] == [("name", "string"), ("size", "long")]
    assert tables.schema(TABLE) == now.schema


def test_files_are_not_enough_if_a_table_has_deletion_vectors_or_encoded_names(
    tables: LocalTables, tmp_path: Path
) -> None:
    tables.write(TABLE, rows(**{"a b": 1}), "append")
    assert tables.files(TABLE) is None

    other = Table("gold", "others", "Others.", TABLE.columns)
    tables.write(other, rows(a=1), "append", properties={"delta.enableDeletionVectors": "true"})
    assert tables.files(other) is None


def test_an_error_is_one_sentence_about_the_lake(tables: LocalTables, tmp_path: Path) -> None:
    with pytest.raises(LakeError, match=f"^The lake {tmp_path} cannot be used: .+") as refused:
        tables.columns(TABLE, ["name"])
    assert "\n" not in str(refused.value)
