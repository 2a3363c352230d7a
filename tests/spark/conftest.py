"""One real Spark for all tests of the pipeline: a session takes seconds to start."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kconf.spark.lake import Lake
from kconf.spark.session import start, stop
from tests.spark.tables import fill, rendered

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    log = tmp_path_factory.mktemp("spark") / "spark.log"
    session = start("local[2]", log=log, quick=True)
    yield session
    stop(session)


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"), spark)


@pytest.fixture(scope="session")
def report(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page over a lake that has something to tell under every heading."""
    where = tmp_path_factory.mktemp("report")
    fill(Lake(str(where / "lake"), spark), datetime.now(UTC))
    return rendered(where)
