"""A lake for each test, the pipeline's commands in this process, and one report of a whole lake.

The Spark session is that of tests/support/sessions.py.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING

import pytest

from kconf.cli.main import main
from kconf.spark import session
from kconf.spark.delta_tables import Lake
from tests.cli.conftest import Ran, run_in_process
from tests.spark.tables import fill, rendered

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Allow more time: Spark is slow on a busy machine."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.timeout(900), append=False)


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"), spark, little=True)


@pytest.fixture
def pipeline(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """`kconf pipeline …` in this process, on the shared session, which is not stopped."""
    monkeypatch.setattr(session, "stop", lambda _: None)
    return lambda *words: run_in_process(main, ["pipeline", *map(str, words)])


@pytest.fixture(scope="session")
def filled(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with rows in every table that look-ups and the report read. Tests that change it use a copy."""
    where = tmp_path_factory.mktemp("filled")
    fill(Lake(str(where), spark), datetime.now(UTC))
    return where


@pytest.fixture(scope="session")
def report(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a lake with rows for every section."""
    where = tmp_path_factory.mktemp("report")
    copytree(filled, where / "lake")
    return rendered(where)
