"""Actual quota usage of clients, from the --usage file; the pipeline reads the same format."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, Final, NamedTuple

from kconf.engine.quotas.alter import QUOTA_KEYS
from kconf.errors import ConfigurationError
from kconf.util.mistakes import Mistakes

_COLUMNS: Final = ("user", "client_id", "key", "rate")


class UsageRow(NamedTuple):
    """The usage of a quota by a user with a client ID; without `cluster`, on any cluster."""

    user: str
    client_id: str
    key: str
    rate: float
    cluster: str | None = None


def read_usage(path: str) -> list[UsageRow]:
    """The rows of a CSV or Parquet file; raises ConfigurationError with all invalid rows."""
    mistakes = Mistakes()
    found = []
    for number, each in _parquet_rows(path) if path.endswith(".parquet") else _csv_rows(path, mistakes):
        with mistakes.collected():
            found.append(_row(f"{path} line {number}", each))
    mistakes.raise_all()
    return found


def _csv_rows(path: str, mistakes: Mistakes) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The cells of each line by column, with its number."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            lines = file.read()
    except OSError as error:
        raise ConfigurationError(f"cannot read the usage file {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"the usage file {path} is not CSV in UTF-8") from None
    reader = csv.reader(io.StringIO(lines, newline=""), strict=True)
    header: list[str] | None = None
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            mistakes.add(f"{path} line {reader.line_num} is not CSV: {error}")
            continue
        if header is None:
            mistakes.raise_all()
            header = cells or []
            _check_columns(path, header)
        elif cells is None:
            return
        elif cells and len(cells) != len(header):
            mistakes.add(f"{path} line {reader.line_num}: {len(cells)} cells, but the first line has {len(header)}")
        elif cells:
            yield reader.line_num, dict(zip(header, cells, strict=True))


def _parquet_rows(path: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        from pyarrow.parquet import read_table
    except ImportError:
        advice = "Parquet requires the package pyarrow: pip install 'kconf[spark]', or use CSV"
        raise ConfigurationError(f"{path}: {advice}") from None
    try:
        table = read_table(path)
    except (OSError, ValueError):
        raise ConfigurationError(f"cannot read the usage file {path} as Parquet") from None
    _check_columns(path, table.column_names)
    yield from enumerate(table.to_pylist(), 1)


def _check_columns(path: str, names: Sequence[str]) -> None:
    if set(_COLUMNS) - set(names):
        raise ConfigurationError(f"{path}: expected the columns cluster (optional), user, client_id, key, rate")


def _row(place: str, cells: Mapping[str, Any]) -> UsageRow:
    problems = []
    try:
        rate = float(cells["rate"])
    except (TypeError, ValueError):
        rate = -1.0
    if not isfinite(rate) or rate < 0:
        problems.append(f"rate must be a number, 0 or more: {cells['rate']!r}")
    if cells["key"] not in QUOTA_KEYS:
        problems.append(f"{cells['key']!r} is not a quota; use one of {', '.join(QUOTA_KEYS)}")
    if problems:
        raise ConfigurationError(f"{place}: {'; '.join(problems)}")
    return UsageRow(cells["user"] or "", cells["client_id"] or "", cells["key"], rate, cells.get("cluster") or None)
