"""Clusters that kconf's clients and other tools change: for any records, snapshots and order of delivery, every live
override is open in the lake once, and every unrecorded change is reported.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from datetime import UTC
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kconf.lake.schemas import FILES, HISTORY, JOURNAL, QUARANTINE, SNAPSHOT
from kconf.lake.storage.location import LakeError
from kconf.spark import bronze, silver
from kconf.spark.delta_tables import Lake, local
from kconf.spark.gold import Gold
from kconf.spark.inputs import Inputs
from tests.spark.two_tools import Account, Cluster, Shape, clusters
from tests.support.targets import one_of

Row = dict[str, Any]
SEED = 17
STEPS = 24


def rows(table: Any) -> list[Row]:
    return [row.asDict(recursive=True) for row in table.collect()]


Batch = dict[Path, list[Row]]
"""The files that come at once, with their lines."""


def deliveries(made: list[Cluster], journal: Path, looks: Path, count: int, random: Random) -> list[Batch]:
    """Files as they arrive: out of order, under two names, and damaged at first."""
    batches: list[Batch] = [{} for _ in range(count)]
    for cluster in made:
        for number, look in enumerate(cluster.looks):
            lines, path = cluster.look_lines(look), looks / f"{cluster.name}-{number}.jsonl"
            due = _due(number, len(cluster.looks), count, random)
            batches[due][path] = lines
            if random.random() < 0.1:
                batches[random.randrange(due, count)][path.with_suffix(".copy.jsonl")] = lines
            elif due + 1 < count and random.random() < 0.1:
                batches[due][path], batches[-1][path] = lines[:-1], lines
        calls: dict[int, list[Row]] = {}
        for line in cluster.lines:
            calls.setdefault(line["revision"], []).append(line)
        for number, call in enumerate(calls.values()):
            due = _due(number, len(calls), count, random)
            batches[due].setdefault(journal / f"batch-{due}.jsonl", []).extend(call)
    return batches


def _due(number: int, of: int, count: int, random: Random) -> int:
    due = number * count // of
    return random.choice((due, due, due, random.randrange(count)))


def write(batch: Batch) -> None:
    """Write files like `rsync -a`, with their original times."""
    for path, lines in batch.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        os.utime(path, (1_000_000_000, 1_000_000_000))


def place_of(row: Row) -> tuple[str, str, str]:
    return row["resource_type"], row["resource_name"], row["key"]


def told(cluster: Cluster) -> str:
    """All events, for debugging a failure."""
    lines = [(line["revision"], json.dumps(line)) for line in cluster.lines]
    looks = [(look.taken * 1000, repr(look)) for look in cluster.looks]
    return "\n".join(
        [f"seed {SEED}, cluster {cluster.name}:", *(f"{time} {text}" for time, text in sorted(lines + looks))]
    )


@pytest.mark.parametrize(("count", "batches"), one_of((8, 1), [(8, 2), (40, 3)]))
def test_random_histories_leave_every_override_open_once_and_name_every_foreign_change(
    lake: Lake, tmp_path: Path, count: int, batches: int
) -> None:
    made = clusters(count, STEPS, SEED)
    journal, looks = tmp_path / "arch[1]", tmp_path / "looks + 100%"
    result = bronze.Read()
    for batch in deliveries(made, journal, looks, batches, Random(SEED)):
        write(batch)
        number = silver.next_round(lake)
        bronze.read_snapshots(lake, str(looks), number, result)
        bronze.read_archive(lake, str(journal), number, result)
        silver.update(lake)
    history = rows(lake.read(HISTORY))
    gold = Gold(lake, Inputs())
    doubts, topics = rows(gold.integrity()), rows(gold.topics())

    for cluster in made:
        mine = [row for row in history if row["cluster"] == cluster.name and row["open"]]
        found = Counter((place_of(row), row["value"].replace(", ", ",")) for row in mine if row["key"])
        there = {place: value for place, value in cluster.live.items() if isinstance(value, str)}
        assert found == Counter(there.items()), told(cluster)

        shapes = {place[1]: shape for place, shape in cluster.live.items() if isinstance(shape, Shape)}
        now = [row for row in topics if row["cluster"] == cluster.name and row["exists"]]
        assert Counter(
            (row["topic"], row["topic_id"], row["partitions"], row["replication"]) for row in now
        ) == Counter((name, *shape) for name, shape in shapes.items()), told(cluster)
        assert {(row["resource_name"], row["topic_id"]) for row in mine if row["resource_type"] == "topic"} == {
            (name, shape.id) for name, shape in shapes.items()
        }, told(cluster)

        named = Counter(
            (row["kind"], place_of(row), round(row["time"].replace(tzinfo=UTC).timestamp() * 1000))
            for row in doubts
            if row["cluster"] == cluster.name
        )
        account = Account().read(cluster)
        assert named == Counter((kind, place, time) for kind, place, time in account.findings), told(cluster)

    assert any(row["kind"] == "slipped" for row in doubts)
    assert any(row["kind"] == "differs" for row in doubts)
    assert {reason.partition(" /")[0] for reason in result.skipped.values()} == {"it is the same snapshot as"}
    ledger = lake.read(FILES).select("file")
    for table in (JOURNAL, SNAPSHOT, QUARANTINE):
        assert lake.read(table).join(ledger, "file", "left_anti").isEmpty(), "every row names a file of the ledger"
    assert lake.read(SNAPSHOT).where("kind = 'snapshot'").count() == sum(len(each.looks) for each in made)

    if batches > 1:
        silver.rebuild(lake)
        assert sorted(map(repr, rows(lake.read(HISTORY)))) == sorted(map(repr, history))


def test_a_history_in_which_a_key_has_two_values_is_not_written(lake: Lake) -> None:
    row = {"cluster": "c", "resource_type": "topic", "resource_name": "orders", "key": "retention.ms"}
    schema = "cluster string, resource_type string, resource_name string, key string"

    silver.check_open(local(lake.spark, [row, {**row, "key": "segment.ms"}], schema))
    with pytest.raises(LakeError, match=r"topic:orders of cluster c would have 2 values of retention\.ms at once"):
        silver.check_open(local(lake.spark, [row, row], schema))
