"""The fixture `spark`: one real Spark session for all tests of a process. tests/conftest.py loads this plugin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from kconf.spark import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    started = session.start("local[2]", log=tmp_path_factory.mktemp("spark") / "spark.log", quick=True)
    yield started
    session.stop(started)
