"""Tables of a local lake that are written and read without Spark."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyarrow.compute import field

from kconf.lake import local_tables
from kconf.lake.local_tables import LocalTables
from kconf.lake.schemas import Column, Table
from kconf.lake.storage.location import LakeError

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


def test_the_files_of_a_version_contain_its_rows(tables: LocalTables, tmp_path: Path) -> None:
    tables.write(TABLE, rows(a=1), "append")
    tables.write(TABLE, rows(b=2), "overwrite")

    then, now = tables.files(TABLE, 0), tables.files(TABLE)

    assert then is not None
    assert now is not None
    assert [path.partition("/")[0] for each in (then, now) for path in each.paths] == ["name=a", "name=b"]
    assert all((tmp_path / TABLE.path / path).is_file() for each in (then, now) for path in each.paths)
    assert [(each["name"], each["type"]) for each in now.schema["fields"]] == [("name", "string"), ("size", "long")]
    assert tables.schema(TABLE) == now.schema


def test_tables_with_deletion_vectors_or_encoded_names_are_not_read_by_their_files(
    tables: LocalTables, tmp_path: Path
) -> None:
    tables.write(TABLE, rows(**{"a b": 1}), "append")
    assert tables.files(TABLE) is None

    other = Table("gold", "others", "Others.", TABLE.columns)
    tables.write(other, rows(a=1), "append", properties={"delta.enableDeletionVectors": "true"})
    assert tables.files(other) is None


def test_an_error_is_reported_in_one_sentence_about_the_lake(tables: LocalTables, tmp_path: Path) -> None:
    with pytest.raises(LakeError, match=f"^The lake {tmp_path} cannot be used: .+") as refused:
        tables.columns(TABLE, ["name"])
    assert "\n" not in str(refused.value)


ROUNDS = Table("bronze", "rounds", "Rounds.", (Column("name", "string", ""), Column("round", "bigint", "")))


def round_of(number: int | None, *names: str) -> pa.Table:
    schema = pa.schema([("name", pa.string()), ("round", pa.int64())])
    return pa.Table.from_pylist([{"name": name, "round": number} for name in names], schema)


def test_files_with_rows_of_later_rounds_are_selected_by_their_statistics(tables: LocalTables) -> None:
    for number in (1, 2, 3):
        tables.write(ROUNDS, round_of(number, f"{number}a", f"{number}b"), "append")
    tables.write(ROUNDS, pa.concat_tables([round_of(2, "2c"), round_of(4, "4a")]), "append")

    whole, fresh = tables.files(ROUNDS), tables.fresh(ROUNDS, 2)

    assert whole is not None
    assert fresh is not None
    assert (len(whole.paths), len(fresh.paths)) == (4, 2)
    assert fresh.size < whole.size
    assert sorted(tables.rows(ROUNDS, ["name"], since=2)["name"].to_pylist()) == ["3a", "3b", "4a"]
    assert tables.rows(ROUNDS).num_rows == 8


def test_a_file_without_statistics_may_have_later_rows(tables: LocalTables) -> None:
    without = {"delta.dataSkippingStatsColumns": "name"}
    tables.write(ROUNDS, round_of(1, "a"), "append", properties=without)
    tables.write(ROUNDS, round_of(None, "b"), "append")

    fresh = tables.fresh(ROUNDS, 7)

    assert fresh is not None
    assert len(fresh.paths) == 2
    assert tables.rows(ROUNDS, since=7).num_rows == 0, "rows of an older version have no round"
    assert tables.rows(ROUNDS, since=0)["name"].to_pylist() == ["a"]


def test_commits_of_another_process_are_visible_even_if_the_table_was_recreated(
    tables: LocalTables, tmp_path: Path
) -> None:
    tables.write(TABLE, rows(a=1), "append")
    assert found(tables) == {"a": 1}

    LocalTables(str(tmp_path)).write(TABLE, rows(b=2), "append")
    assert found(tables) == {"a": 1, "b": 2}

    shutil.rmtree(tmp_path / TABLE.path)
    LocalTables(str(tmp_path)).write(TABLE, rows(c=3), "append")
    LocalTables(str(tmp_path)).write(TABLE, rows(d=4), "append")
    assert found(tables) == {"c": 3, "d": 4}


FLAGS = Table(
    "silver",
    "flags",
    "Flags.",
    (Column("name", "string", ""), Column("at", "timestamp", ""), Column("open", "boolean", "")),
    ("open",),
)


def flags(at: datetime | None, **names: bool) -> pa.Table:
    schema = pa.schema([("name", pa.string()), ("at", pa.timestamp("us", "UTC")), ("open", pa.bool_())])
    return pa.Table.from_pylist([{"name": name, "at": at, "open": value} for name, value in names.items()], schema)


def test_files_are_replaced_in_one_commit_and_have_statistics(tables: LocalTables, tmp_path: Path) -> None:
    noon = datetime(2026, 11, 1, 12, 0, 0, 1500, UTC)
    tables.write(FLAGS, flags(noon, a=True, b=False), "append")
    tables.write(FLAGS, flags(noon, c=True), "append")
    pieces = list(tables.pieces(FLAGS, partition={"open": True}))
    assert sorted(each.rows["name"].to_pylist() for each in pieces) == [["a"], ["c"]]
    assert [each.rows.column_names for each in pieces] == [["name", "at", "open"]] * 2
    (first,) = (each for each in pieces if each.rows["name"].to_pylist() == ["a"])

    new = [flags(noon, d=True, e=False), flags(None, f=True)]
    tables.replace(FLAGS, [first.path], new, ["name", "at"], {"round": 7})

    kept = {row["name"]: row["open"] for row in tables.columns(FLAGS, ["name", "open"])}
    assert kept == {"b": False, "c": True, "d": True, "e": False, "f": True}
    made = DeltaTable(tmp_path / FLAGS.path)
    assert made.version() == 2
    assert json.loads(made.history(1)[0]["userMetadata"]) == {"round": 7}
    added = made.get_add_actions(flatten=True)
    columns = [added.column(each).to_pylist() for each in ("min.name", "num_records", "max.at", "null_count.at")]
    found = {name: figures for name, *figures in zip(*columns, strict=True)}
    assert found["d"][1] >= noon
    assert found["f"] == [1, None, 1]


def test_a_file_is_opened_once_for_the_same_columns(tables: LocalTables, tmp_path: Path) -> None:
    tables.write(ROUNDS, round_of(1, "a"), "append")
    assert tables.columns(ROUNDS, ["name"]) == [{"name": "a"}]
    (first,) = (tmp_path / ROUNDS.path).glob("*.parquet")
    first.rename(first.with_suffix(".gone"))
    tables.write(ROUNDS, round_of(2, "b"), "append")

    assert sorted(row["name"] for row in tables.columns(ROUNDS, ["name"])) == ["a", "b"]
    with pytest.raises(LakeError, match="cannot be used"):
        tables.columns(ROUNDS, ["round"])
    tables.write(ROUNDS, round_of(3, "c"), "overwrite")
    assert tables.columns(ROUNDS, ["name"]) == [{"name": "c"}]


def test_rows_that_meet_a_condition_are_found(tables: LocalTables) -> None:
    tables.write(TABLE, rows(a=1, b=2), "append")
    tables.write(TABLE, rows(c=None, d=2), "append")

    assert sorted(tables.matching(TABLE, field("size") == 2)["name"].to_pylist()) == ["b", "d"]
    assert tables.matching(TABLE, field("name").isin(["c"])).to_pylist() == [{"name": "c", "size": None}]
    assert tables.matching(TABLE, field("size") == 7).num_rows == 0


def test_a_file_is_opened_once_for_the_same_condition(tables: LocalTables, tmp_path: Path) -> None:
    tables.write(ROUNDS, round_of(1, "a"), "append")
    assert tables.matching(ROUNDS, field("round") > 0)["name"].to_pylist() == ["a"]
    (first,) = (tmp_path / ROUNDS.path).glob("*.parquet")
    first.rename(first.with_suffix(".gone"))
    tables.write(ROUNDS, round_of(2, "b"), "append")

    assert sorted(tables.matching(ROUNDS, field("round") > 0)["name"].to_pylist()) == ["a", "b"]
    assert tables.matching(ROUNDS, field("round") > 0, field("name") == "b")["name"].to_pylist() == ["b"]
    with pytest.raises(LakeError, match="cannot be used"):
        tables.matching(ROUNDS, field("round") < 9)


def test_many_rows_that_meet_a_condition_are_not_kept(
    tables: LocalTables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_tables, "_KEPT", 0)
    tables.write(ROUNDS, round_of(1, "a"), "append")
    tables.matching(ROUNDS, field("round") > 0)
    (first,) = (tmp_path / ROUNDS.path).glob("*.parquet")
    first.unlink()

    with pytest.raises(LakeError, match="cannot be used"):
        tables.matching(ROUNDS, field("round") > 0)
