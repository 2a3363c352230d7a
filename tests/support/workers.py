"""Distributes tests among workers (`-n 3 --dist loadfile`). tests/conftest.py loads this plugin.

The tests of a file run on one worker, because they share fixtures. The files that use the shared Spark session run on
two workers: each has a session, which is a JVM. Long files start first, so that all workers finish at about the same
time.
"""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

_SPARK = "tests/spark"
_OF_THEIR_OWN = {f"{_SPARK}/test_{name}.py" for name in ("object_store", "prepared", "standalone", "whole_way")}
"""Files of tests/spark that do not use the shared session: they start their own JVMs."""
_SECOND = {f"{_SPARK}/test_{name}.py" for name in ("broken_input", "in_memory", "migration")}
"""Files of tests/spark that take about half of the time of all; the others have the first session."""
_ON_KAFKA = tuple(f"tests/conformance/test_{name}.py" for name in ("lake", "spark_source", "spark_stream"))
"""Files of tests/conformance that use the Spark session."""
_LONG = (
    *("tests/spark/", "tests/docs/", "tests/packaging/", "tests/adversity/", "tests/zookeeper/", "tests/archive/"),
    *(
        f"tests/conformance/test_{name}.py"
        for name in ("client_on_kafka", "zookeeper_obeys", "differential", "follow_command", "our_kafka_configs")
    ),
)
"""Folders and files, the longest first."""


class Shared(LoadFileScheduling):  # type: ignore[misc]  # pytest-xdist has no types
    """Distributes whole files; the files of a shared Spark session count as one."""

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Shared | None:
    return Shared(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort the tests for workers; without workers the order is unchanged."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: _turn(_file(item.nodeid)))


def unit(nodeid: str) -> str:
    """The distribution unit of a test: its file, or all files of a shared Spark session."""
    file = _file(nodeid)
    if _shares_spark(file):
        return f"{_SPARK} (second session)" if file in _SECOND else _SPARK
    return file


def _file(nodeid: str) -> str:
    return nodeid.split("::", 1)[0]


def _shares_spark(file: str) -> bool:
    return file in _ON_KAFKA or (file.startswith(f"{_SPARK}/") and file not in _OF_THEIR_OWN)


def _turn(file: str) -> int:
    """The position of a file: first the shared sessions, then the long folders and files, then all others."""
    place = next((place for place, long in enumerate(_LONG) if file.startswith(long)), len(_LONG))
    return -1 if _shares_spark(file) else place
