"""Parquet files that kconf writes itself."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from kconf.lake.parquet_files import write_parquet


def test_every_row_is_in_the_file_of_its_partition_also_without_a_value(tmp_path: Path) -> None:
    rows = pa.table({"open": [True, None, False, True], "n": [1, 2, 3, 4]})

    written = list(write_parquet(tmp_path, rows, ["open"], ["n"]))

    found = {
        each.partition["open"]: parquet.ParquetFile(tmp_path / each.path).read()["n"].to_pylist() for each in written
    }
    assert found == {"true": [1, 4], None: [2], "false": [3]}
    assert {each.partition["open"]: each.statistics["numRecords"] for each in written} == {
        "true": 2,
        None: 1,
        "false": 1,
    }
