"""The input files of a run are checked before Spark starts, and all invalid lines are reported together. A file that is
changed during a run is read again by the next one."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from kconf.errors import ConfigurationError
from kconf.lake.schemas import DRIFT, EFFECTIVE_QUOTA, TOPICS, VIOLATIONS
from kconf.spark import runner
from kconf.spark.delta_tables import Lake
from kconf.spark.inputs import Inputs, Sources
from tests.spark.journals import START, Journal
from tests.spark.oracle import lines_of


def test_every_bad_line_of_owners_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "owners.csv"
    path.write_text("topic,owner\norders\n/(/,search\nt1,search\n,shop\n")

    with pytest.raises(ConfigurationError) as refused:
        Inputs(owners=path).check()
    assert [line.split(":")[1] for line in str(refused.value).splitlines()] == ["2", "3", "5"]


def test_every_bad_line_of_usage_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "usage.csv"
    path.write_text(
        "user,client_id,key,rate\nann,app,producer_byte_rate,1.5\nbob,app,x\nbob,,producer_byte_rate,fast\n"
    )

    with pytest.raises(ConfigurationError) as refused:
        Inputs(usage=path).check()
    assert str(refused.value).splitlines() == [
        f"{path}:3: 3 cells, but the first line has 4",
        f"{path}:4: the rate is not a number",
    ]


def test_usage_without_its_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "usage.csv"
    path.write_text("user,rate\nann,1\n")

    with pytest.raises(ConfigurationError, match="expected the columns"):
        Inputs(usage=path).check()


RULE = "rules: [{{id: {}, selector: topic, key: retention.ms, condition: {{max: 1ms}}}}]\n"
DECLARED = "version: 1\ntopics: {{orders: {{configs: {{retention.ms: {}}}}}}}\n"
USAGE = "user,client_id,key,rate\nalice,,producer_byte_rate,{}\n"
CHANGED = "{} changed during the run; the next run reads it again"


def test_a_file_that_is_changed_during_a_run_is_read_again_by_the_next_one(lake: Lake, tmp_path: Path) -> None:
    names = ("declared.yaml", "rules.yaml", "owners.csv", "usage.csv")
    files = [tmp_path / each for each in names]

    def edit(number: int) -> None:
        texts = (DECLARED.format(number), RULE.format(f"r{number}"), f"*,team{number}\n", USAGE.format(number))
        for path, text in zip(files, texts, strict=True):
            path.write_text(text)

    def given() -> Inputs:
        return Inputs([files[0]], files[1], files[2], files[3])

    def say_and_edit(step: str) -> None:
        if step == "writing history …":
            edit(2)

    def found() -> list[object]:
        columns = ((DRIFT, "declared"), (VIOLATIONS, "rule"), (TOPICS, "owner"), (EFFECTIVE_QUOTA, "used"))
        rows = (set(lake.read(table).where(f"{name} IS NOT NULL").select(name).collect()) for table, name in columns)
        return [value for found in rows for (value,) in found]

    archive, journal = tmp_path / "archive", Journal("c", Random(1), time=START)
    quota = {"resource_type": "quota", "resource_name": '{"user":"alice"}', "entity": {"user": "alice"}}
    limit = {**quota, "key": "producer_byte_rate", "after": "8"}
    lines = [*journal.create("orders"), *journal.set("topic", "orders", "retention.ms", "9")]
    lines.append({**journal.set("topic", "orders", "x", "8")[0], **limit})
    archive.mkdir()
    (archive / "1.jsonl").write_text("".join(f"{line}\n" for line in lines_of(lines)))
    edit(1)
    sources = Sources([str(archive)])

    first = runner.run(lake, sources, given(), say_and_edit)
    assert found()[:3] == ["1", "r1", "team1"]
    second = runner.run(lake, sources, given(), lambda _: None)
    assert found() == ["2", "r2", "team2", 2.0]
    third = runner.run(lake, sources, given(), lambda _: None)

    inputs = ("a file of --declared", "the file of --policy", "the file of --owners", "the file of --usage")
    assert first.read.notes == [CHANGED.format(each) for each in inputs]
    assert (second.number, second.read.notes, third.number) == (2, [], None)


def test_a_usage_file_that_is_put_back_after_a_run_used_another_one_is_read_again(lake: Lake, tmp_path: Path) -> None:
    """Spark reads that file during the run, so its rows may not be those of the first state."""
    usage = tmp_path / "usage.csv"
    usage.write_text(USAGE.format(1))
    (tmp_path / "archive").mkdir()
    (line,) = Journal("c", Random(1), time=START).set("topic", "orders", "x", "8")
    quota = {"resource_type": "quota", "resource_name": '{"user":"alice"}', "entity": {"user": "alice"}}
    line |= {**quota, "key": "producer_byte_rate", "after": "8"}
    (tmp_path / "archive" / "1.jsonl").write_text("".join(f"{each}\n" for each in lines_of([line])))
    sources = Sources([str(tmp_path / "archive")])

    def used() -> list[float]:
        return [row["used"] for row in lake.read(EFFECTIVE_QUOTA).where("used IS NOT NULL").collect()]

    def say_and_edit(_: str) -> None:
        usage.write_text(USAGE.format(2))

    runner.run(lake, sources, Inputs(usage=usage), say_and_edit)
    assert used() == [2.0]
    usage.write_text(USAGE.format(1))
    runner.run(lake, sources, Inputs(usage=usage), lambda _: None)

    assert used() == [1.0]
