"""What clients use of their quotas, from a file: `--usage`, the same file that the pipeline takes."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, Final, NamedTuple

from kconf.errors import ConfigurationError

_COLUMNS: Final = ("user", "client_id", "key", "rate")


class UsageRow(NamedTuple):
    """What a user with a client id uses of a quota; without `cluster`, on any cluster."""

    user: str
    client_id: str
    key: str
    rate: float
    cluster: str | None = None


def read_usage(path: str) -> list[UsageRow]:
    """The rows of a CSV or Parquet file, or ConfigurationError with the first that is wrong."""
    rows = _parquet_rows(path) if path.endswith(".parquet") else _csv_rows(path)
    return [_row(path, number, each) for number, each in rows]


def _csv_rows(path: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            _check_columns(path, reader.fieldnames or ())
            yield from ((reader.line_num, each) for each in reader)
    except OSError as error:
        raise ConfigurationError(f"the usage file {path} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error):
        raise ConfigurationError(f"the usage file {path} is not CSV in UTF-8") from None


def _parquet_rows(path: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        from pyarrow.parquet import read_table
    except ImportError:
        raise ConfigurationError(f"{path}: Parquet needs pyarrow; install kconf[spark], or give CSV") from None
    try:
        table = read_table(path)
    except (OSError, ValueError):
        raise ConfigurationError(f"the usage file {path} cannot be read as Parquet") from None
    _check_columns(path, table.column_names)
    yield from enumerate(table.to_pylist(), 1)


def _check_columns(path: str, names: Sequence[str]) -> None:
    if set(_COLUMNS) - set(names):
        raise ConfigurationError(f"{path}: the columns of usage are cluster (optional), user, client_id, key, rate")


def _row(path: str, number: int, cells: Mapping[str, Any]) -> UsageRow:
    try:
        rate = float(cells["rate"])
    except (TypeError, ValueError):
        rate = -1.0
    if not isfinite(rate) or rate < 0:
        raise ConfigurationError(f"{path} line {number}: rate is not a number from 0 on: {cells['rate']!r}")
    return UsageRow(cells["user"] or "", cells["client_id"] or "", cells["key"] or "", rate, cells.get("cluster"))
