"""The contents of a lake, without Spark."""

from __future__ import annotations

from collections.abc import Iterator

from kconf.lake.lookup import LakeTables
from kconf.lake.schemas import TABLES
from kconf.lake.storage.location import LakeError, NoLake


def status(uri: str) -> Iterator[str]:
    """Lines: the last run, then each table with its version, rows, files and bytes."""
    tables = LakeTables(uri)
    run = tables.run
    yield f"run {run['run']}, finished {run['finished']:%Y-%m-%d %H:%M:%S}Z"
    yield f"{'table':<24}{'version':>8}{'rows':>12}{'files':>7}{'bytes':>13}"
    versions = dict(run["versions"])
    for table in TABLES.values():
        version = versions.get(table.name)
        if version is None:
            continue
        try:
            found = tables.delta_table(table)
        except NoLake:
            found = None
        if found is None:
            raise LakeError(f"the table {table.path} of the last run is missing in the lake {tables.uri}")
        files = found.get_add_actions(flatten=True)
        rows, size = (sum(files.column(name).to_pylist()) for name in ("num_records", "size_bytes"))
        yield f"{table.path:<24}{version:>8}{rows:>12}{files.num_rows:>7}{size:>13}"
