"""Tests are distributed by files, those with the shared Spark session together, and all listed names exist."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support import workers

ROOT = Path(__file__).parents[3]


def test_every_listed_file_or_folder_exists() -> None:
    named = [*workers._OF_THEIR_OWN, *workers._ON_KAFKA, *workers._LONG]

    assert len(named) > 10
    assert [each for each in named if not (ROOT / each).exists()] == []


def test_every_file_with_the_shared_spark_session_runs_on_its_worker() -> None:
    """All files of tests/spark do; this checks files elsewhere."""
    files = [
        each for each in (ROOT / "tests").rglob("test_*.py") if re.search(r"\bspark: SparkSession", each.read_text())
    ]
    elsewhere = [str(each.relative_to(ROOT)) for each in files if each.parent.name != "spark"]

    assert sorted(elsewhere) == sorted(workers._ON_KAFKA)


@pytest.mark.parametrize(
    ("nodeid", "together"),
    [
        ("tests/unit/model/lines/test_journal.py::test_a_line[a::b]", "tests/unit/model/lines/test_journal.py"),
        ("tests/spark/test_tables.py::test_drift", "tests/spark"),
        ("tests/spark/test_history.py::test_as_of", "tests/spark"),
        ("tests/conformance/test_lake.py::test_a_lake", "tests/spark"),
        ("tests/spark/test_whole_way.py::test_a_run", "tests/spark/test_whole_way.py"),
    ],
)
def test_a_test_runs_with_its_file_or_with_the_shared_spark_session(nodeid: str, together: str) -> None:
    assert workers.unit(nodeid) == together


def test_long_files_start_first_if_there_are_workers() -> None:
    written = ["unit/test_a", "archive/test_b", "spark/test_prepared", "docs/test_c", "spark/test_tables"]
    items = [SimpleNamespace(nodeid=f"tests/{each}.py::test") for each in written]
    alone = list(items)

    workers.pytest_collection_modifyitems(SimpleNamespace(), alone)  # type: ignore[arg-type]
    workers.pytest_collection_modifyitems(SimpleNamespace(workerinput={}), items)  # type: ignore[arg-type]

    assert [each.nodeid[6:-9] for each in alone] == written
    assert [each.nodeid[6:-9] for each in items] == [written[place] for place in (4, 2, 3, 1, 0)]
