"""How tests are shared out among workers (`-n 2 --dist loadfile`), which tests/conftest.py loads.

The tests of a file stay together, since they share what they start, and the files that use the one Spark session of a
process stay together too: a second session is a second JVM. What takes long begins first, so that in the end no worker
waits for the other.
"""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

_SPARK = "tests/spark"
_OF_THEIR_OWN = {f"{_SPARK}/test_{name}.py" for name in ("prepared", "standalone", "whole_way")}
"""Files of tests/spark that start the pipeline as people do, with a JVM for each run."""
_ON_KAFKA = tuple(f"tests/conformance/test_{name}.py" for name in ("lake", "spark_source"))
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
    """Whole files, and those of the shared Spark session as if they were one."""

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Shared | None:
    return Shared(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where there are no workers, everything stays in the order in which it is written."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: _turn(_file(item.nodeid)))


def unit(nodeid: str) -> str:
    """What a test is shared out with."""
    file = _file(nodeid)
    return _SPARK if _shares_spark(file) else file


def _file(nodeid: str) -> str:
    return nodeid.split("::", 1)[0]


def _shares_spark(file: str) -> bool:
    return file in _ON_KAFKA or (file.startswith(f"{_SPARK}/") and file not in _OF_THEIR_OWN)


def _turn(file: str) -> int:
    """When a file is to begin: first the shared session, then the long folders and files, then all others."""
    place = next((place for place, long in enumerate(_LONG) if file.startswith(long)), len(_LONG))
    return -1 if _shares_spark(file) else place
