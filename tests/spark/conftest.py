"""A lake for each test, and one page that tells of a whole lake. The Spark session is tests/support/sessions.py's."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kconf.spark.delta_tables import Lake
from tests.spark.tables import fill, rendered

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spark on a busy machine takes its time: that is no sign that a test hangs."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.timeout(900), append=False)


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"), spark)


@pytest.fixture(scope="session")
def report(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page over a lake that has something to tell under every heading."""
    where = tmp_path_factory.mktemp("report")
    fill(Lake(str(where / "lake"), spark), datetime.now(UTC))
    return rendered(where)
