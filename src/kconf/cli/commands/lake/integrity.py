"""`kconf lake integrity`: show inconsistencies in the data that the pipeline read."""

from __future__ import annotations

import argparse
from typing import Any, Final

from kconf.cli.commands.lake.queries import about, begin, time
from kconf.cli.output.result import DIFFERENT, CommandResult, Item, ResultColumn
from kconf.lake.labels import resource_text
from kconf.util.iso_time import iso_time

_ORDER: Final = "cluster, time, kind, first_sequence, resource_type, resource_name, key"


def integrity(options: argparse.Namespace, answer: CommandResult) -> None:
    from kconf.lake.schemas import INTEGRITY

    tables = begin(options, answer)
    answer.columns = [
        *map(ResultColumn, ("cluster", "kind", "resource", "key")),
        ResultColumn("first_sequence", "FIRST"),
        ResultColumn("last_sequence", "LAST"),
        ResultColumn("expected", show=lambda item: _value(item, "expected")),
        ResultColumn("found", show=lambda item: _value(item, "found")),
        time("time"),
        ResultColumn("epoch"),
    ]
    rows = tables.rows(INTEGRITY, about(options, tables, INTEGRITY).conditions(), order=_ORDER)
    answer.hidden = frozenset({"epoch", *({"cluster"} if len({row["cluster"] for row in rows}) == 1 else ())})
    for row in rows:
        item: dict[str, Any] = {each.name: row.get(each.name) for each in answer.columns}
        resource = resource_text(row) if row["resource_type"] else None
        answer.add(**{**item, "resource": resource, "time": iso_time(row["time"])})
    if rows:
        answer.status = DIFFERENT
    else:
        answer.notes.append("no problems found: no gaps, and no changes that were not recorded")


def _value(item: Item, name: str) -> str:
    from kconf.configdef.units import shown_value

    return str(item[name] or "") if not item["key"] else shown_value(item["key"], item[name])
