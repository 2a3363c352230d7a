"""Queries on `spark.readStream.format("kconf")`, for tests."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_BUSY: Final = "Python worker failed to connect back"
"""Spark gives a Python process 10 seconds to start, which is not enough on a busy machine."""


def stream(spark: SparkSession, **options: str) -> DataFrame:
    return spark.readStream.format("kconf").option("rows", "changes").options(**options).load()


def patiently(start: Callable[[], Any]) -> Any:
    """Start a query until Spark gets its Python process; from its checkpoint, as a person would."""
    deadline = time.monotonic() + 600
    while True:
        try:
            return start()
        except Exception as error:
            if _BUSY not in str(error) or time.monotonic() > deadline:
                raise


def run_once(frame: DataFrame, place: Path) -> list[int]:
    """Write what there is into a Delta table; returns the rows of each batch."""

    def once() -> list[int]:
        writer = frame.writeStream.format("delta").option("checkpointLocation", str(place / "checkpoint"))
        query = writer.trigger(availableNow=True).start(str(place / "table"))
        query.awaitTermination()
        return [each.numInputRows for each in query.recentProgress if each.numInputRows]

    rows: list[int] = patiently(once)
    return rows


def rows_of(table: Path) -> list[dict[str, Any]]:
    """The rows of a Delta table, in order of the changes; without Spark, which would be slower."""
    from deltalake import DeltaTable

    order = [("revision", "ascending"), ("line", "ascending")]
    rows: list[dict[str, Any]] = DeltaTable(str(table)).to_pyarrow_table().sort_by(order).to_pylist()
    return rows
