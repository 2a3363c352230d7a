"""Writes rows in memory as Parquet files of a Delta table, with the statistics that its log needs."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa

_LONGEST: Final = 500_000
"""Rows of a file; Spark reads several files at once."""


@dataclass(frozen=True)
class Written:
    """A file: its path below the table, its size, its partition and its statistics, as Delta defines them."""

    path: str
    size: int
    partition: Mapping[str, str | None]
    statistics: Mapping[str, Any]


def write_parquet(
    home: Path, rows: pa.Table, partitioned_by: Sequence[str], ranges: Sequence[str]
) -> Iterator[Written]:
    """Write files below `home`. `ranges`: the columns with a minimum and maximum."""
    import pyarrow.compute as pc

    if not partitioned_by:
        yield from _write(home, "", rows, {}, ranges)
        return
    (name,) = partitioned_by
    for value in pc.unique(rows[name]).to_pylist():
        text = as_text(value)
        is_in = pc.is_null(rows[name]) if value is None else pc.equal(rows[name], value)
        part = rows.filter(is_in).drop_columns([name])
        yield from _write(home, f"{name}={text}/", part, {name: text}, ranges)


def _write(
    home: Path, folder: str, rows: pa.Table, partition: Mapping[str, str | None], ranges: Sequence[str]
) -> Iterator[Written]:
    from pyarrow import parquet

    (home / folder).mkdir(parents=True, exist_ok=True)
    for first in range(0, rows.num_rows, _LONGEST):
        part = rows.slice(first, _LONGEST)
        path = f"{folder}part-{uuid.uuid4()}.snappy.parquet"
        parquet.write_table(part, home / path, compression="snappy", store_schema=False)
        yield Written(path, (home / path).stat().st_size, partition, statistics_of(part, ranges))


def statistics_of(rows: pa.Table, ranges: Sequence[str]) -> dict[str, Any]:
    """The number of rows, and of some columns the range and the number of nulls."""
    import pyarrow.compute as pc

    lowest, highest, nulls = {}, {}, {}
    for name in ranges:
        bounds = pc.min_max(rows[name]).as_py()
        nulls[name] = rows[name].null_count
        if bounds["min"] is not None:
            lowest[name], highest[name] = _bound(bounds["min"]), _bound(bounds["max"], is_upper=True)
    return {"numRecords": rows.num_rows, "minValues": lowest, "maxValues": highest, "nullCount": nulls}


def _bound(value: Any, *, is_upper: bool = False) -> Any:
    """A bound of a column. Times have milliseconds, so that an upper bound is rounded up."""
    if not isinstance(value, datetime):
        return value
    rounded = value + timedelta(milliseconds=1) if is_upper and value.microsecond % 1000 else value
    return rounded.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def as_text(value: Any) -> str | None:
    """The value of a partition column in Delta's log."""
    return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)
