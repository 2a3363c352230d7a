"""`kconf lake sql`: run a query on the tables. `kconf lake tables`: list tables and columns."""

from __future__ import annotations

import argparse
import json
import math
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, Final

from kconf.cli import collect_at_exit
from kconf.cli.commands.lake.scope import begin
from kconf.cli.output.plain_values import plain
from kconf.cli.output.result import CommandResult, Item, ResultColumn
from kconf.cli.terminal.input import read_stdin
from kconf.errors import ConfigurationError
from kconf.util.iso_time import iso_time

_NO_ZONE: Final = "microseconds"


def sql(options: argparse.Namespace, answer: CommandResult) -> None:
    from kconf.lake.sql import LakeSql

    if options.limit < 1:
        raise ConfigurationError("--limit must be at least 1")
    text = read_stdin() if options.query == "-" else options.query
    collect_at_exit()
    with LakeSql(begin(options, answer), memory=options.memory) as lake:
        found = lake.query(text, options.limit)
    answer.is_plain = True
    answer.facts.update(columns=list(found.columns), truncated=found.is_cut)
    answer.columns = [_column(name) for name in found.columns]
    for row in found.rows:
        answer.items.append({name: _json(value) for name, value in zip(found.columns, row, strict=True)})
    if found.is_cut:
        answer.notes.append(f"only the first {options.limit:,} rows are printed; raise --limit to get more")
    elif not found.rows:
        answer.notes.append("no rows")


def tables(options: argparse.Namespace, answer: CommandResult) -> None:
    """The tables of the last run, or the columns of one."""
    from kconf.lake.relations import KEYS
    from kconf.lake.schemas import TABLES

    found = begin(options, answer)
    answer.is_plain = True
    if options.table is None:
        answer.columns = list(map(ResultColumn, ("table", "layer", "about", "key")))
        for table in TABLES.values():
            if found.delta_table(table) is not None:
                about = {"about": table.about, "key": list(KEYS[table.name])}
                answer.items.append({"table": table.name, "layer": table.layer, **about})
        return
    name = options.table.rpartition(".")[2].lower()
    if name not in TABLES:
        near = get_close_matches(name, TABLES, 1)
        hint = f"; did you mean {near[0]}?" if near else f"; tables are {', '.join(sorted(TABLES))}"
        raise ConfigurationError(f"unknown table {options.table}{hint}")
    answer.columns = list(map(ResultColumn, ("column", "type", "in_key", "about")))
    for column in TABLES[name].columns:
        in_key = column.name in KEYS[name]
        answer.items.append({"column": column.name, "type": column.type, "in_key": in_key, "about": column.about})


def _column(name: str) -> ResultColumn:
    """A column under its own name; nested values as JSON."""

    def show(item: Item) -> str:
        value = item[name]
        return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else plain(value)

    return ResultColumn(name, name, show)


def _json(value: Any) -> Any:
    """A value for JSON; types that JSON lacks become strings."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case datetime():
            return iso_time(value) if value.tzinfo is not None else value.isoformat(timespec=_NO_ZONE)
        case date() | time():
            return value.isoformat()
        case timedelta():
            return str(value)
        case bytes():
            return value.hex()
        case (months, days, nanoseconds) if type(value).__name__ == "MonthDayNano":
            return f"P{months}M{days}DT{nanoseconds / 1e9:g}S"
        case dict():
            return {str(name): _json(each) for name, each in value.items()}
        case [*pairs] if pairs and all(isinstance(each, tuple) and len(each) == 2 for each in pairs):
            return {str(name): _json(each) for name, each in pairs}  # a map
        case list() | tuple():
            return [_json(each) for each in value]
        case _:
            return str(value)
