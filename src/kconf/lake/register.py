"""Statements that register the tables of a lake in Spark SQL, also for users of its Thrift server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kconf.errors import ConfigurationError
from kconf.lake.lookup import LakeTables
from kconf.lake.schemas import RUNS, TABLES, Table
from kconf.lake.storage.location import spark_uri


class Statement(NamedTuple):
    """A statement of Spark SQL; `table` is empty for the database."""

    table: str
    sql: str


def statements(tables: LakeTables, database: str, *, views: bool) -> Iterator[Statement]:
    """The database, then one statement per table of the last run.

    A table shows its last commit. Views show the versions of the last run, which belong together; `runs` has no such
    version.
    """
    if not re.fullmatch(r"\w+", database):
        raise ConfigurationError(f"a database name consists of letters, digits and _, not {database!r}")
    yield Statement("", f"CREATE DATABASE IF NOT EXISTS `{database}`")
    versions = dict(tables.run["versions"])
    for table in TABLES.values():
        if tables.delta_table(table) is None:
            continue
        name = f"`{database}`.`{table.name}`"
        place = f"{spark_uri(tables.uri)}/{table.path}"
        if not views:
            location = _text(place)
            yield Statement(table.name, f"CREATE TABLE IF NOT EXISTS {name} USING DELTA LOCATION {location}")
            continue
        version = versions.get(table.name)
        yield Statement(table.name, _view(name, table, tables, place, version))


def _view(name: str, table: Table, tables: LakeTables, place: str, version: int | None) -> str:
    found = tables.delta_table(table)
    assert found is not None
    there = {each.name for each in found.schema().fields}
    defined = [each for each in table.columns if each.name in there]
    comments = ", ".join(f"`{each.name}` COMMENT {_text(each.about)}" for each in defined)
    columns = ", ".join(f"`{each.name}`" for each in defined)
    source = f"delta.`{place.replace('`', '``')}`" + ("" if version is None else f" VERSION AS OF {version}")
    where = f" WHERE run <= {tables.run['run']}" if table == RUNS else ""
    about = f" COMMENT {_text(table.about)}"
    return f"CREATE OR REPLACE VIEW {name} ({comments}){about} AS SELECT {columns} FROM {source}{where}"


def _text(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
