"""SQL on a lake: the tables of one run, unchanged values, and access to nothing but the lake."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kconf.errors import ConfigurationError, KconfError
from kconf.lake.relations import JOINS, KEYS
from kconf.lake.schemas import HISTORY, TABLES
from kconf.lake.sql import LakeSql, duckdb_type
from kconf.lake.storage.location import LakeError
from tests.support.small_lake import SmallLake, example, value


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    return example(str(tmp_path_factory.mktemp("sql") / "lake")).uri


@pytest.fixture
def lake(uri: str) -> LakeSql:
    return LakeSql(uri)


def test_queries_read_the_tables_of_the_last_finished_run(lake: LakeSql) -> None:
    assert lake.query("SELECT resource_name FROM history ORDER BY 1").rows == [("logs",), ("orders",)]
    assert lake.query("SELECT file FROM files").rows == [("a.jsonl",)]
    assert lake.query("SELECT count(*) FROM runs").rows == [(1,)]


def test_a_run_that_finishes_between_two_queries_changes_nothing(tmp_path: Path) -> None:
    written = example(str(tmp_path / "lake"))
    lake = LakeSql(written.uri)
    written.add(HISTORY, [value("more", "retention.ms", "1")])
    written.finish(HISTORY, rounds=2)

    assert lake.query("SELECT count(*) FROM history").rows == [(2,)]
    assert lake.query("SELECT max(run) FROM runs").rows == [(1,)]
    assert LakeSql(written.uri).query("SELECT count(*) FROM history").rows == [(4,)]


def test_tables_can_be_joined_and_named_with_their_layer(lake: LakeSql) -> None:
    found = lake.query(
        'SELECT h.value, t.owner FROM silver.history h JOIN gold.topics t ON t.topic = h.resource_name WHERE t."exists"'
    )

    assert found.columns == ["value", "owner"]
    assert found.rows == [("60000", "search")]


def test_a_column_that_an_older_version_did_not_write_is_null(lake: LakeSql) -> None:
    assert lake.query("SELECT DISTINCT until_principal FROM history").rows == [(None,)]


def test_times_are_utc(lake: LakeSql) -> None:
    assert lake.query("SELECT count(*) FROM history WHERE since = '2026-11-01 12:00'").rows == [(2,)]
    assert lake.query("SELECT hour(since), current_setting('TimeZone') FROM history LIMIT 1").rows == [(12, "UTC")]


def test_a_command_prints_the_rows_and_nothing_else(uri: str) -> None:
    """In a process of its own: DuckDB prints objects that are left when Python exits."""
    command = [sys.executable, "-m", "kconf", "lake", "sql", "SELECT count(*) AS rows FROM history", "--lake", uri]

    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, "rows\n2\n", "")


def test_a_catalog_query_lists_every_table_of_the_run(lake: LakeSql) -> None:
    found = lake.query("SELECT name FROM (SHOW ALL TABLES) WHERE name NOT LIKE 'kconf_read%' ORDER BY name")

    assert [name for (name,) in found.rows] == ["files", "history", "runs", "topics", "violations"]


def test_rows_beyond_the_limit_are_omitted_with_a_note(lake: LakeSql) -> None:
    assert lake.query("SELECT * FROM range(5)", 5) == (["range"], [(n,) for n in range(5)], False)
    assert lake.query("SELECT * FROM range(5000)", 5) == (["range"], [(n,) for n in range(5)], True)


def test_two_columns_of_one_name_are_both_returned(lake: LakeSql) -> None:
    assert lake.query("SELECT 1 AS a, 2 AS a, 3 AS a")[:2] == (["a", "a_2", "a_3"], [(1, 2, 3)])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("SELECT * FROM histry", "unknown table histry; did you mean history?"),
        ("SELECT * FROM gold.topcs", "did you mean topics?"),
        ("SELECT * FROM xyz", "unknown table xyz; the lake has files, history, runs, topics, violations"),
        ("SELECT clustr FROM history", "unknown column clustr; did you mean cluster?"),
        ("SELECT h.princpal FROM history h", "unknown column princpal; did you mean principal?"),
        ("SELEC 1", 'SQL syntax error at or near "SELEC"'),
        ("SELECT count( FROM history", "SQL syntax error"),
        ("SELECT nosuch(1)", "nosuch"),
        ("SELECT CAST('x' AS INTEGER)", "the query failed: Could not convert string 'x' to INT32"),
        ("", "pass one SQL statement"),
        ("SELECT 1; SELECT 2", "pass one SQL statement, not 2"),
        ("DROP VIEW history", "only queries are allowed, not DROP: the lake is read-only"),
        ("DELETE FROM history", "only queries are allowed, not DELETE"),
        ("SET memory_limit = '100GB'", "only queries are allowed"),
        ("INSTALL httpfs", "only queries are allowed"),
        ("COPY history TO '/tmp/kconf-copied.csv'", "only queries are allowed, not COPY"),
        ("ATTACH '/tmp/kconf-attached.db'", "only queries are allowed, not ATTACH"),
    ],
)
def test_an_invalid_query_is_reported_in_one_sentence(lake: LakeSql, text: str, sentence: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        lake.query(text)

    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM read_csv('{file}')",
        "SELECT * FROM read_text('{file}')",
        "SELECT * FROM '{file}'",
        "SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM read_parquet('{folder}/lake/silver/history/*.parquet')",
        "SELECT * FROM sqlite_scan('{file}', 'x')",
        "SELECT * FROM query('SELECT * FROM read_text(''{file}'')')",
    ],
)
def test_a_query_cannot_read_files(lake: LakeSql, tmp_path: Path, text: str) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("planted-secret\n1\n")

    with pytest.raises(ConfigurationError) as raised:
        lake.query(text.format(file=secret, folder=tmp_path))
    assert "planted" not in str(raised.value)


def test_a_query_cannot_read_the_memory_of_the_process(lake: LakeSql) -> None:
    planted = [1]

    with pytest.raises(ConfigurationError, match="unknown table planted"):
        lake.query("SELECT * FROM planted")
    for call in ("arrow_scan(1, 2, 3)", '"arrow_scan"(1, 2, 3)', "arrow_scan/* */(1, 2, 3)", "PANDAS_SCAN (1)"):
        with pytest.raises(ConfigurationError, match="the process's memory"):
            lake.query(f"SELECT * FROM {call}")
    assert planted


def test_a_query_that_needs_too_much_memory_fails_with_advice(uri: str) -> None:
    with LakeSql(uri, memory="20MB") as lake, pytest.raises(LakeError) as raised:
        lake.query("SELECT list(a.range || '-' || b.range) FROM range(4000) a, range(4000) b")

    assert "the query needs more than 20MB of memory" in str(raised.value)


def test_an_invalid_memory_size_is_refused(uri: str) -> None:
    with pytest.raises(ConfigurationError, match="invalid memory size 'much'"):
        LakeSql(uri, memory="much")


def test_a_missing_lake_and_a_missing_run_have_different_messages(tmp_path: Path) -> None:
    with pytest.raises(KconfError, match="no lake at"):
        LakeSql(str(tmp_path / "nowhere"))
    SmallLake(str(tmp_path / "new")).add(HISTORY, [value("orders", "retention.ms", "1")])
    with pytest.raises(KconfError, match="no lake at"):
        LakeSql(str(tmp_path / "new"))


def test_keys_and_joins_of_every_table_name_existing_columns() -> None:
    assert set(KEYS) == set(JOINS) == set(TABLES)
    for name, columns in KEYS.items():
        assert set(columns) <= set(TABLES[name].names)
    for name, joins in JOINS.items():
        for join in joins:
            for each in join.columns.split(", "):
                mine, _, other = each.partition(" = ")
                assert mine in TABLES[name].names
                assert (other or mine) in join.table.names


@pytest.mark.parametrize(
    ("spark", "duckdb"),
    [
        ("string", "VARCHAR"),
        ("bigint", "BIGINT"),
        ("timestamp", "TIMESTAMPTZ"),
        ("array<string>", "VARCHAR[]"),
        ("map<string,bigint>", "MAP(VARCHAR, BIGINT)"),
        ("array<struct<value:string,brokers:array<string>>>", 'STRUCT("value" VARCHAR, "brokers" VARCHAR[])[]'),
    ],
)
def test_a_spark_type_is_translated_to_duckdb(spark: str, duckdb: str) -> None:
    assert duckdb_type(spark) == duckdb
