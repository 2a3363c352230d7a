"""The history computed in plain Python: the expected result of the pipeline."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

Line = dict[str, Any]
Row = dict[str, Any]


def fold(lines: Iterable[Line]) -> list[Row]:
    """The intervals of a journal's lines, in any order and with duplicates."""
    unique = {(line["cluster"], line["epoch"], line["revision"], line["line"]): line for line in lines}
    rows: list[Row] = []
    open_rows: dict[tuple[str, str, str], dict[str, Row]] = {}
    ids: dict[tuple[str, str], str | None] = {}
    clocks: dict[tuple[str, str, str, str], datetime] = {}
    last: dict[tuple[str, str, str, str], tuple[bool, str | None]] = {}
    cut: dict[tuple[str, str, str, str], Row] = {}
    for _, line in sorted(unique.items()):
        resource = (line["cluster"], line["resource_type"], line["resource_name"])
        key, mine = line["key"], open_rows.setdefault(resource, {})
        clock = clocks[*resource, key] = max(_time(line), clocks.get((*resource, key), _time(line)))
        if (*resource, key) in cut:  # if a clock was set back, the next interval starts before this one ends
            before = cut.pop((*resource, key))
            before["until"] = max(before["since"], min(before["until"], clock))
        if key in mine:
            replaced = line["after"] is not None
            _end(mine.pop(key), line, clock, "replaced" if replaced else "removed")
        if line["kind"] == "topic":
            before_it = ids.get((resource[0], resource[2]), _id(line["after"]))
            if _is_another(line) or before_it != _id(line["after"]):
                for other in [each for each in mine if each]:
                    row = cut[*resource, other] = mine.pop(other)
                    _end(row, line, max(_time(line), row["since"]), "deleted", told=False)
                for known in [each for each in last if each[:3] == resource and each[3]]:
                    del last[known]  # nothing is restored from another topic
            ids[resource[0], resource[2]] = _id(line["after"])
        if line["after"] is not None:
            row = mine[key] = _row(line, clock, ids.get((resource[0], resource[2])) if resource[1] == "topic" else None)
            row["returned"] = last.get((*resource, key)) == (True, line["after"])
            rows.append(row)
        last[*resource, key] = (line["after"] is not None, line["before"])
    _name_deletions(rows, unique.values())
    return rows


def as_of(rows: Iterable[Row], time: datetime) -> dict[tuple[str, str, str, str], str]:
    """The values set at a time."""
    return {
        (row["cluster"], row["resource_type"], row["resource_name"], row["key"]): row["value"]
        for row in rows
        if row["since"] <= time and (row["until"] is None or time < row["until"])
    }


def state(lines: Iterable[Line], time: datetime) -> dict[tuple[str, str, str, str], str]:
    """The same by replaying the journal up to a time, if its clock was never set back."""
    values: dict[tuple[str, str, str, str], str] = {}
    for line in sorted(lines, key=lambda each: (each["cluster"], each["epoch"], each["revision"], each["line"])):
        if _time(line) > time:
            continue
        resource = (line["cluster"], line["resource_type"], line["resource_name"])
        if line["kind"] == "topic" and _is_another(line):
            for known in [each for each in values if each[:3] == resource]:
                del values[known]
        if line["after"] is None:
            values.pop((*resource, line["key"]), None)
        else:
            values[*resource, line["key"]] = line["after"]
    return values


def _row(line: Line, since: datetime, topic_id: str | None) -> Row:
    names = ("cluster", "kind", "resource_type", "resource_name", "key", "epoch", "revision", "line", "origin", "op")
    return {
        **{name: line[name] for name in names},
        **{name: line[name] for name in ("principal", "before", "sensitive", "reason")},
        "value": line["after"],
        "since": since,
        "topic_id": topic_id,
        **dict.fromkeys(
            ("until", "until_epoch", "until_revision", "until_line", "until_principal", "until_origin", "ended")
        ),
        "slipped": False,
        "found": None,
        "returned": False,
        "open": True,
    }


def _end(row: Row, line: Line, clock: datetime, how: str, *, told: bool = True) -> None:
    row.update(
        until=clock,
        until_epoch=line["epoch"],
        until_revision=line["revision"],
        until_line=line["line"],
        until_principal=line["principal"],
        until_origin=line["origin"],
        ended="deleted" if row["kind"] == "topic" and how == "removed" else how,
        slipped=told and line["before"] != row["value"],
        found=line["before"] if told and line["before"] != row["value"] else None,
        open=False,
    )


def _name_deletions(rows: Iterable[Row], lines: Iterable[Line]) -> None:
    """Mark keys that were removed by the deletion of their topic."""
    deletions = {
        (line["cluster"], line["resource_name"], line["epoch"], line["revision"])
        for line in lines
        if line["kind"] == "topic" and _is_another(line)
    }
    for row in rows:
        there = (row["cluster"], row["resource_name"], row["until_epoch"], row["until_revision"])
        if row["ended"] == "removed" and row["resource_type"] == "topic" and there in deletions:
            row["ended"] = "deleted"


def _is_another(line: Line) -> bool:
    return line["after"] is None or line["before"] is None or _id(line["before"]) != _id(line["after"])


def _id(topic: str | None) -> str | None:
    return None if topic is None else json.loads(topic)["id"]


def _time(line: Mapping[str, Any]) -> datetime:
    return datetime.fromtimestamp(line["time"] / 1000, UTC).replace(tzinfo=None)


def comparable(rows: Iterable[Mapping[str, Any]]) -> list[tuple[tuple[str, Any], ...]]:
    """Sorted rows with the columns that this module computes."""
    names = list(_row(_NOTHING, datetime(1970, 1, 1), None))  # noqa: DTZ001 – columns of a table have no zone
    return sorted((tuple((name, row[name]) for name in names) for row in rows), key=repr)


def lines_of(rows: Iterable[Line]) -> Iterator[str]:
    for row in rows:
        yield json.dumps(row, separators=(",", ":"), ensure_ascii=False)


_NOTHING: Line = dict.fromkeys(
    (
        *("cluster", "kind", "resource_type", "resource_name", "key", "epoch", "revision", "line", "origin", "op"),
        *("principal", "before", "sensitive", "reason", "after"),
    )
)
