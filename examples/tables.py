"""The last part of `make run`: builds tables from the archive, and queries authors and drift.

The servers write their journal to .run/archive; `kconf pipeline` builds the lake in .run/lake from it.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from examples.servers import ARCHIVE, RUN

if TYPE_CHECKING:
    from examples.demo_commands import DemoPrinter

LAKE = RUN / "lake"
MAKE = (
    f"kconf archive flush {ARCHIVE}",
    f"kconf pipeline run --archive {ARCHIVE} --lake {LAKE} --declared examples/declared.yaml",
)
ASK = (
    "kconf lake history topic:orders --key retention.ms",
    "kconf lake blame topic:orders",
    "kconf lake drift",
    f"kconf lake report {RUN / 'report.html'}",
)


def show_tables(printer: DemoPrinter) -> None:
    """Run the pipeline and query its tables; if it cannot run, print what it needs."""
    printer.title("Build tables with the pipeline: history, drift, report")
    missing = _missing()
    if missing is not None:
        print(missing)
        return
    if all(printer.run(line) == 0 for line in MAKE):  # otherwise it has printed the reason
        for line in ASK:
            printer.run(line)


def _missing() -> str | None:
    """A sentence with what must be installed, or None if nothing is missing."""
    if find_spec("pyspark") is None or find_spec("deltalake") is None:
        return "The pipeline needs a JDK 17 or newer and `pip install 'kconf[spark]'`. Install both and run it again."
    from kconf.spark.session import SparkUnavailable, check_java

    try:
        check_java()
    except SparkUnavailable as error:
        return str(error)
    return None
