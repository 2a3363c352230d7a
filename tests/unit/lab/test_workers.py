"""How tests are shared out: files whole, those of the shared Spark session together, and no name that nothing has."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support import workers

ROOT = Path(__file__).parents[3]


def test_every_name_is_that_of_a_file_or_folder() -> None:
    assert [each for each in workers._OF_THEIR_OWN if not (ROOT / each).is_file()] == []
    assert [each for each in workers._LONG if not (ROOT / "tests" / each).is_dir()] == []


@pytest.mark.parametrize(
    ("nodeid", "together"),
    [
        ("tests/unit/model/lines/test_journal.py::test_a_line[a::b]", "tests/unit/model/lines/test_journal.py"),
        ("tests/spark/test_tables.py::test_drift", "tests/spark"),
        ("tests/spark/test_history.py::test_as_of", "tests/spark"),
        ("tests/spark/test_killed.py::test_a_run", "tests/spark/test_killed.py"),
    ],
)
def test_what_stays_together(nodeid: str, together: str) -> None:
    assert workers.unit(nodeid) == together


def test_the_long_begin_first_and_only_among_workers() -> None:
    written = ["unit/test_a", "archive/test_b", "spark/test_killed", "docs/test_c", "spark/test_tables"]
    items = [SimpleNamespace(nodeid=f"tests/{each}.py::test") for each in written]
    alone = list(items)

    workers.pytest_collection_modifyitems(SimpleNamespace(), alone)  # type: ignore[arg-type]
    workers.pytest_collection_modifyitems(SimpleNamespace(workerinput={}), items)  # type: ignore[arg-type]

    assert [each.nodeid[6:-9] for each in alone] == written
    assert [each.nodeid[6:-9] for each in items] == [written[place] for place in (4, 2, 3, 1, 0)]
