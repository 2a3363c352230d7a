"""`kconf lake integrity`: show inconsistencies in the data that the pipeline read."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from kconf.cli.commands.lake.queries import time
from kconf.cli.commands.lake.scope import about, begin, extent, look_at, names
from kconf.cli.output.result import DIFFERENT, CommandResult, Item, ResultColumn
from kconf.errors import ConfigurationError
from kconf.lake.labels import resource_text
from kconf.lake.lookup import LookupFilter
from kconf.util.iso_time import iso_time

if TYPE_CHECKING:
    from kconf.lake.coverage import Coverage

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
    asked = about(options, tables, INTEGRITY)
    seen = look_at(tables, asked.clusters, answer)
    rows = tables.rows(INTEGRITY, _conditions(asked), order=_ORDER)
    answer.hidden = frozenset({"epoch", *({"cluster"} if len({row["cluster"] for row in rows}) == 1 else ())})
    for row in rows:
        item: dict[str, Any] = {each.name: row.get(each.name) for each in answer.columns}
        resource = resource_text(row) if row["resource_type"] else None
        answer.add(**{**item, "resource": resource, "time": iso_time(row["time"])})
    if rows:
        answer.status = DIFFERENT
    answer.notes += checked(seen, is_clean=not rows)
    if not rows and not answer.notes:
        raise ConfigurationError(
            f"unknown: nothing can be checked in {names(seen)}; checks need the journal of a kconf server, a followed"
            " metadata log, or both snapshots and recorded changes"
        )


def _conditions(asked: LookupFilter) -> list[str]:
    """Include gaps, which have no resource, because the missing lines may be about any resource."""
    only, of_clusters = asked.conditions(), LookupFilter(asked.clusters).conditions()
    if len(only) == len(of_clusters):
        return only
    return [*of_clusters, f"(({' AND '.join(only[len(of_clusters) :])}) OR resource_type IS NULL)"]


def checked(seen: Sequence[Coverage], *, is_clean: bool) -> list[str]:
    """A sentence on what was checked in which clusters; nothing if there was nothing to check."""
    gaps = [each for each in seen if each.numbered]
    unrecorded = [each for each in seen if each.shows_unrecorded]
    if not gaps and not unrecorded:
        return []
    notes = []
    for found, what in ((gaps, "gaps"), (unrecorded, "unrecorded changes")):
        rest = [each for each in seen if each not in found]
        if found and is_clean:
            notes.append(f"no {what} in {extent(found)}")
        if rest:
            notes.append(f"not checked for {what}: {names(rest)}")
    return notes


def _value(item: Item, name: str) -> str:
    from kconf.configdef.units import shown_value

    return str(item[name] or "") if not item["key"] else shown_value(item["key"], item[name])
