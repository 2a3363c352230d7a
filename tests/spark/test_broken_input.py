"""Input that no run can use is quarantined or skipped with the reason, and never stops a run."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from kconf.lake.schemas import HISTORY, QUARANTINE
from kconf.model.lines.fields import ATTEMPT_LINE, CHANGE_LINE
from kconf.spark import runner
from kconf.spark.delta_tables import Lake
from kconf.spark.inputs import Inputs, Sources
from tests.spark.journals import START, Journal
from tests.spark.oracle import Line, lines_of
from tests.spark.test_incremental_gold import attempt
from tests.spark.test_snapshots import CLUSTER, config, override, topic
from tests.spark.test_violations import RULES

YEAR_0, YEAR_10000, YEAR_300000 = -62_167_219_200_000, 253_402_300_800_000, 9_404_907_052_800_000
TIMES = (-1, YEAR_0, YEAR_10000, YEAR_300000, -(1 << 63), (1 << 63) - 1)
NUMBERS = (-1, 0, (1 << 31) - 1, (1 << 60) - 1, 1 << 60, (1 << 63) - 1, -(1 << 63), 1 << 80, 1.5, 1e300, "7", "x", None)
TEXTS = (
    "",
    "\0",
    "😀",
    "null",
    "{}",
    "[]",
    '{"id":1,"replicas":7,"partitions":99999999999}',
    "9" * 400,
    "NaN",
    "1e999",
)
VALUES: tuple[Any, ...] = (*NUMBERS, *TEXTS, True, [], {}, [[]], {"a": None}, {"user": 7})


def write(folder: Path, name: str, lines: list[Line]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join(f"{line}\n" for line in lines_of(lines)))


def good_line(cluster: str = CLUSTER, value: str = "1000") -> Line:
    (line,) = Journal(cluster, Random(1), time=START).set("topic", "orders", "retention.ms", value)
    return line


@pytest.mark.parametrize("few", [True, False], ids=["deltalake", "spark"])
def test_a_line_with_an_impossible_time_is_quarantined_and_all_others_are_read(
    lake: Lake, tmp_path: Path, few: bool
) -> None:
    lake = lake if few else Lake(lake.uri, lake.spark, small=0)
    good, snapshots = good_line(), tmp_path / "snapshots"
    late = [{**good, "revision": 10 + number, "time": time} for number, time in enumerate(TIMES)]
    answered = [{**good, "revision": 20, "answered": YEAR_300000}]
    refused = [{**attempt(CLUSTER, 1, "User:eve"), "time": YEAR_0}]
    write(tmp_path / "archive", "1.jsonl", [good, *late, *answered, *refused])
    for number, times in enumerate(({"taken": YEAR_300000}, {"started": YEAR_0}, {"taken": -1})):
        head = {"kind": "snapshot", "format": 1, "cluster": CLUSTER, "started": START, "taken": START, "missing": []}
        write(snapshots, f"{number}.jsonl", [{**head, **times}, topic("t", "A"), {"kind": "end", "lines": 2}])

    done = runner.run(lake, Sources([str(tmp_path / "archive")], [str(snapshots)]), Inputs(), lambda _: None)

    assert done.read.counts == {"journal": 1, "attempts": 0, "quarantined": len(TIMES) + 5, "facts": 0}
    assert sorted(row["reason"] for row in lake.read(QUARANTINE).collect()) == [
        "its answered is not between 1970 and 9998",
        *["its time is not between 1970 and 9998"] * (len(TIMES) + 4),
    ]
    assert [row["value"] for row in lake.read(HISTORY).collect()] == ["1000"]


def unusual_lines(origin: str, epoch: int) -> list[Line]:
    """Lines that have one unusual field each."""
    shape = {"kind": "topic", "key": "", "after": '{"id":"A","replicas":[[1]]}', "op": "create"}
    quota = {"resource_type": "quota", "resource_name": '{"user":"alice"}', "entity": {"user": "alice"}}
    others: tuple[Line, ...] = ({}, shape, {**quota, "key": "producer_byte_rate", "after": "1"})
    made: list[Line] = []
    for field in (each for each in CHANGE_LINE if each.name != "cluster"):
        for number, value in enumerate(VALUES):
            revision = START * 1000 + len(made)
            place = {"epoch": epoch, "revision": revision, "sequence": len(made), "origin": origin}
            line = {**good_line(f"of-{origin}"), **place, **others[number % 3], field.name: value}
            made += [line, {**line, **others[(number + 1) % 3], "revision": revision + 1, field.name: value}]
    return made


def unusual_facts() -> list[Line]:
    found: list[Line] = []
    for number, value in enumerate(VALUES):
        name = f"t{number}"
        found += [override(name, "retention.ms", value), config("broker", "1", f"k{number}", value, "x")]
        found.append({"kind": "quota", "entity": {"user": name}, "key": "producer_byte_rate", "value": value})
        found.append({"kind": "topic", "name": name, "id": value, "partitions": value, "replication": 1})
        found.append({"kind": "acl", "resource_type": value, "name": name, "pattern": value, "principal": value})
    return found


@pytest.mark.full
def test_no_value_of_any_field_stops_a_run(lake: Lake, tmp_path: Path) -> None:
    """Lines as those of a server, of a client and of a followed log, attempts, and snapshots."""
    archive = tmp_path / "archive"
    for origin, epoch in (("kconf", 1), ("client", 0), ("log", 3)):
        write(archive, f"{origin}.jsonl", unusual_lines(origin, epoch))
        head = {"kind": "snapshot", "format": 1, "cluster": f"of-{origin}", "started": START, "taken": START + 1}
        for number, fact in enumerate(unusual_facts()):
            whole = [{**head, "taken": START + number, "missing": []}, fact, {"kind": "end", "lines": 2}]
            if number < 5 or not number % 20:
                write(tmp_path / "snapshots", f"{origin}-{number}.jsonl", whole)
    attempts = [{**attempt("c", 7, "User:eve"), each.name: value} for each in ATTEMPT_LINE for value in VALUES]
    write(archive, "attempts.jsonl", [each for each in attempts if isinstance(each["cluster"], str)])
    (tmp_path / "rules.yaml").write_text(RULES)
    sources = Sources([str(archive)], [str(tmp_path / "snapshots")])

    done = runner.run(lake, sources, Inputs(policy=tmp_path / "rules.yaml"), lambda _: None)

    assert done.number == 1
    assert done.read.journal > 100
    assert done.read.quarantined > 100
