"""Spark runs the output of `kconf lake register`, and returns the same rows as `kconf lake sql`."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING

import pytest

from kconf.errors import ConfigurationError
from kconf.lake.lookup import LakeTables
from kconf.lake.register import statements
from kconf.lake.schemas import HISTORY
from kconf.lake.sql import LakeSql
from kconf.spark.delta_tables import Lake
from tests.spark.tables import INTERVALS, put

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY = "SELECT cluster, resource_type, key, count(*) AS n FROM {}history GROUP BY cluster, resource_type, key"


def test_registered_tables_and_views_show_the_rows_of_the_lake(
    spark: SparkSession, filled: Path, tmp_path: Path
) -> None:
    lake = Lake(str(copytree(filled, tmp_path / "lake")), spark)
    tables = LakeTables(lake.uri)
    expected = sorted(LakeSql(tables).query(QUERY.format("")).rows)
    put(lake, HISTORY, INTERVALS[:1])  # rows of a later, unfinished run
    try:
        for database, views in (("of_tables", False), ("of_views", True)):
            for each in statements(tables, database, views=views):
                spark.sql(each.sql)
        found = sorted(tuple(row) for row in spark.sql(QUERY.format("of_views.")).collect())
        latest = spark.sql("SELECT count(*) FROM of_tables.history").collect()[0][0]
        comments = {row["col_name"]: row["comment"] for row in spark.sql("DESCRIBE of_views.topics").collect()}
        joined = spark.sql(
            "SELECT count(*) FROM of_views.topics t JOIN of_views.history h"
            " ON t.cluster = h.cluster AND t.topic = h.resource_name WHERE h.open AND t.`exists`"
        )

        assert found == expected
        assert latest == 1
        assert comments["owner"] == "from the owners file; null if none matches"
        assert joined.collect()[0][0] == 2
    finally:
        for database in ("of_tables", "of_views"):
            spark.sql(f"DROP DATABASE IF EXISTS {database} CASCADE")


def test_a_database_name_with_special_characters_is_refused(filled: Path) -> None:
    with pytest.raises(ConfigurationError, match="consists of letters, digits and _"):
        list(statements(LakeTables(str(filled)), "x`; DROP", views=False))
