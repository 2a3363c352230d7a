"""Clusters with only snapshots also have a history, with time ranges; only differences between snapshots are stored."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from kconf.lake.schemas import SNAPSHOT, TABLES, UNEVEN
from kconf.spark import runner, silver
from kconf.spark.delta_tables import Lake, local
from kconf.spark.gold import Gold
from kconf.spark.inputs import Inputs, Sources
from kconf.spark.runner import run
from kconf.spark.transforms.history import snapshot_events
from kconf.spark.transforms.topics.shapes import NO_ID
from tests.spark.journals import Journal
from tests.spark.oracle import lines_of
from tests.support.targets import one_of

Row = dict[str, Any]
CLUSTER = "looked-at-only"
MINUTE = 60_000
START = 1_700_000_000_000


def at(minute: int) -> datetime:
    return datetime.utcfromtimestamp((START + minute * MINUTE) / 1000)  # noqa: DTZ004 – a table's times have no zone


def topic(name: str, identity: str | None, partitions: int = 1, replication: int = 1) -> Row:
    return {
        "kind": "topic",
        "name": name,
        "id": identity,
        "partitions": partitions,
        "replication": replication,
        "internal": False,
    }


def config(kind: str, name: str, key: str, value: str | None, source: str, *, sensitive: bool = False) -> Row:
    named = {"resource_type": kind, "resource_name": name, "key": key, "value": value, "source": source}
    return {"kind": "config", **named, "sensitive": sensitive, "read_only": False}


def override(name: str, key: str, value: str) -> Row:
    return config("topic", name, key, value, "DYNAMIC_TOPIC_CONFIG")


def quota(value: float) -> Row:
    return {
        "kind": "quota",
        "entity": {"user": "alice", "client-id": None},
        "key": "producer_byte_rate",
        "value": value,
    }


def snapshot(directory: Path, minute: int, rows: Iterable[Row], missing: Iterable[str] = (), *, cut: int = 0) -> None:
    """A snapshot file; the last `cut` lines are missing."""
    refused = [{"what": each, "error": "CLUSTER_AUTHORIZATION_FAILED", "message": "no"} for each in missing]
    head = {"kind": "snapshot", "format": 1, "cluster": CLUSTER, "started": START + minute * MINUTE - 10}
    lines = [{**head, "taken": START + minute * MINUTE, "missing": refused}, *rows]
    lines.append({"kind": "end", "lines": len(lines)})
    directory.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{json.dumps(line)}\n" for line in lines[: len(lines) - cut])
    (directory / f"{minute:04}.jsonl").write_text(text)


def rows(lake: Lake, table: str, where: str = "true") -> list[Row]:
    return [row.asDict(recursive=True) for row in lake.read(TABLES[table]).where(where).collect()]


def test_snapshots_are_converted_to_history(lake: Lake, tmp_path: Path) -> None:
    looks = tmp_path / "looks"
    threads = [config("broker", "1", "num.io.threads", "8", "STATIC_BROKER_CONFIG")]
    password = config("broker", "1", "ssl.key.password", None, "DYNAMIC_BROKER_CONFIG", sensitive=True)
    first = [
        topic("orders", "A"),
        topic("gone", "B"),
        override("orders", "retention.ms", "1"),
        *threads,
        quota(10.0),
        password,
    ]
    snapshot(looks, 0, [*first, override("gone", "retention.ms", "9")])
    more = [override("orders", "retention.ms", "2"), *threads, quota(10.0), password]
    snapshot(looks, 10, [topic("orders", "A", 3), *more])
    snapshot(looks, 12, [topic("orders", "A", 3, replication=2), *more])
    snapshot(looks, 15, [topic("orders", "A", 3)], cut=1)
    runner.read(lake, Sources(snapshots=[str(looks)]), print)
    silver.update(lake)
    snapshot(
        looks,
        20,
        [topic("orders", "C"), override("orders", "retention.ms", "2"), *threads, quota(12.5)],
        ["brokers", "broker:1"],
    )
    runner.read(lake, Sources(snapshots=[str(looks)]), print)
    silver.update(lake)

    kept = sorted(
        rows(lake, "history", "key = 'retention.ms' AND resource_name = 'orders'"), key=lambda row: row["since"]
    )
    assert [(row["value"], row["topic_id"], row["ended"], row["origin"]) for row in kept] == [
        *(("1", "A", "replaced", "snapshot"), ("2", "A", "deleted", "snapshot"), ("2", "C", None, "snapshot"))
    ]
    assert [(row["not_before"], row["seen_at"], row["until"]) for row in kept] == [
        *((None, at(0), at(10)), (at(0), at(10), at(20)), (at(12), at(20), None))
    ]
    (gone,) = rows(lake, "history", "key = 'retention.ms' AND resource_name = 'gone'")
    assert (gone["open"], gone["until"], gone["ended"]) == (False, at(10), "deleted")
    (secret,) = rows(lake, "history", "key = 'ssl.key.password'")
    assert (secret["open"], secret["value"], secret["sensitive"]) == (True, None, True), "what was not seen is not gone"
    quotas = rows(lake, "history", "resource_type = 'quota'")
    assert {(row["resource_name"], row["value"], row["open"]) for row in quotas} == {
        *(('{"client-id":null,"user":"alice"}', "10", False), ('{"client-id":null,"user":"alice"}', "12.5", True))
    }
    gold = Gold(lake, Inputs())
    topics = gold.topics().where("topic = 'orders'").orderBy("topic_id").collect()
    assert [(row["partitions"], row["replication"]) for row in topics] == [(3, 2), (1, 1)]
    shapes = sorted(rows(lake, "history", "key = '' AND topic_id = 'A'"), key=lambda row: row["since"])
    assert [(row["since"], json.loads(row["value"])["replication"], row["ended"]) for row in shapes] == [
        *((at(0), 1, "replaced"), (at(10), 1, "replaced"), (at(12), 2, "deleted"))
    ]
    (threads_now,) = gold.effective().where("resource_name = '1' AND key = 'num.io.threads'").collect()
    assert (threads_now["value"], threads_now["source"]) == ("8", "STATIC_BROKER_CONFIG")
    (bad,) = rows(lake, "quarantine")
    assert bad["reason"] == "the snapshot is incomplete: its end is missing"

    before = sorted(map(repr, rows(lake, "history")))
    silver.rebuild(lake)
    assert sorted(map(repr, rows(lake, "history"))) == before


@pytest.mark.parametrize("unknown", one_of(None, [NO_ID]), ids=["no id", "zero id"])
def test_a_topic_whose_id_becomes_known_by_an_upgrade_stays_the_same(
    lake: Lake, tmp_path: Path, unknown: str | None
) -> None:
    """The brokers of a cluster of Kafka 2.7 are upgraded; then the topic is recreated with another ID."""
    looks = tmp_path / "looks"

    def look(minute: int, *shown: Row) -> None:
        snapshot(looks, minute, shown)
        runner.read(lake, Sources(snapshots=[str(looks)]), print)
        silver.update(lake)

    def ended() -> list[tuple[Any, ...]]:
        found = sorted(rows(lake, "history"), key=lambda row: (row["key"], row["since"], row["line"]))
        return [(row["key"], row["value"] or "", row["topic_id"], row["ended"]) for row in found if row["key"]]

    segment = override("orders", "segment.ms", "5")
    look(0, topic("orders", unknown), override("orders", "retention.ms", "1"), segment)
    look(10, topic("orders", unknown, 3), override("orders", "retention.ms", "2"), segment)
    look(20, topic("orders", "A", 3), override("orders", "retention.ms", "2"))

    first, last = ("retention.ms", "1", "A", "replaced"), ("segment.ms", "5", "A", "removed")
    assert ended() == [first, ("retention.ms", "2", "A", None), last]
    (orders,) = Gold(lake, Inputs()).topics().collect()
    assert (orders["topic_id"], orders["partitions"], orders["exists"]) == ("A", 3, True)
    assert orders["first_seen"] == at(0)

    look(25, topic("orders", unknown, 3), override("orders", "retention.ms", "2"))  # from a broker of the old version
    look(30, topic("orders", "A", 3), override("orders", "retention.ms", "2"))
    look(40, topic("orders", "C", 3), override("orders", "retention.ms", "2"))
    assert ended() == [first, ("retention.ms", "2", "A", "deleted"), ("retention.ms", "2", "C", None), last]
    topics = Gold(lake, Inputs()).topics().orderBy("topic_id").collect()
    assert [(row["topic_id"], row["exists"]) for row in topics] == [("A", False), ("C", True)]

    before = sorted(map(repr, rows(lake, "history")))
    silver.rebuild(lake)
    assert sorted(map(repr, rows(lake, "history"))) == before


def test_the_end_of_an_unknown_topic_id_is_not_an_event_if_the_snapshot_has_the_same_key(spark: SparkSession) -> None:
    def fact(name: str, key: str, identity: str | None, *, gone: bool) -> dict[str, Any]:
        kind = "config" if key else "topic"
        named = {"cluster": "c", "kind": kind, "resource_type": "topic", "resource_name": name, "key": key}
        return {**named, "topic_id": identity, "gone": gone, "sensitive": False, "taken": "2026-11-01T00:00:00Z"}

    facts = [
        *(fact("known", "", None, gone=True), fact("known", "", "A", gone=False)),
        *(fact("known", "retention.ms", None, gone=True), fact("known", "retention.ms", "A", gone=False)),
        fact("known", "segment.ms", None, gone=True),
        *(fact("hidden", "", "B", gone=True), fact("hidden", "", None, gone=False)),
        *(fact("recreated", "", "C", gone=True), fact("recreated", "", "D", gone=False)),
        fact("deleted", "", None, gone=True),
    ]

    found = snapshot_events(local(spark, facts, SNAPSHOT.ddl)).where("line < 2").collect()

    assert sorted((row["resource_name"], row["key"]) for row in found) == [
        *(("deleted", ""), ("known", "segment.ms"), ("recreated", ""))
    ]


def test_snapshots_become_history_even_if_another_cluster_has_client_journals(lake: Lake, tmp_path: Path) -> None:
    """A topic is recreated between two snapshots. A rebuild treats each cluster as an update does."""
    looks, archive = tmp_path / "looks", tmp_path / "archive"
    archive.mkdir()
    (line,) = Journal("recorded", Random(1), time=START).set("topic", "orders", "retention.ms", "5")
    line |= {"epoch": 0, "revision": START * 1000, "sequence": 0, "origin": "client"}
    (archive / "1.jsonl").write_text(f"{json.dumps(line)}\n")
    snapshot(looks, 0, [topic("orders", "A")])
    (looks / "other.jsonl").write_text((looks / "0000.jsonl").read_text().replace(CLUSTER, "recorded"))
    sources = Sources([str(archive)], [str(looks)])
    runner.read(lake, sources, print)
    silver.update(lake)
    snapshot(looks, 10, [topic("orders", "C")])
    runner.read(lake, sources, print)
    silver.update(lake)
    (first,) = rows(lake, "history", f"cluster = '{CLUSTER}' AND NOT open")
    assert (first["topic_id"], first["ended"]) == ("A", "deleted")

    before = sorted(map(repr, rows(lake, "history")))
    silver.rebuild(lake)

    assert sorted(map(repr, rows(lake, "history"))) == before


@pytest.mark.full
def test_unchanged_facts_are_stored_once(lake: Lake, tmp_path: Path) -> None:
    looks = tmp_path / "looks"
    same = [topic("orders", "A"), override("orders", "retention.ms", "1")]
    for minute in (0, 15, 30, 45):
        snapshot(looks, minute, same)

    run(lake, Sources(snapshots=[str(looks)]), Inputs(), print)

    kinds = [row["kind"] for row in rows(lake, "snapshot")]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {"snapshot": 4, "topic": 1, "config": 1}
    assert rows(lake, "topics")[0]["last_seen"] == at(45)


def test_brokers_that_differ_are_reported_except_where_they_must_differ(lake: Lake, tmp_path: Path) -> None:
    brokers = [
        each
        for number, threads in (("1", "8"), ("2", "8"), ("3", "4"))
        for each in (
            config("broker", number, "num.io.threads", threads, "STATIC_BROKER_CONFIG"),
            config("broker", number, "node.id", number, "STATIC_BROKER_CONFIG"),
        )
    ]
    snapshot(tmp_path / "looks", 0, brokers)
    runner.read(lake, Sources(snapshots=[str(tmp_path / "looks")]), print)
    silver.update(lake)

    uneven = [row.asDict(recursive=True) for row in Gold(lake, Inputs()).rows(UNEVEN).collect()]

    assert [(row["key"], row["brokers"]) for row in uneven] == [
        ("num.io.threads", [{"value": "8", "brokers": ["1", "2"]}, {"value": "4", "brokers": ["3"]}])
    ]


@pytest.mark.full
def test_a_snapshot_of_a_cluster_with_a_server_journal_does_not_make_changes_late(lake: Lake, tmp_path: Path) -> None:
    """It adds no events, and the new lines are in order: only open rows are replaced, and nothing is merged."""
    journal = Journal(CLUSTER, Random(1), time=START)
    archive, looks = tmp_path / "archive", tmp_path / "looks"
    archive.mkdir()
    looks.mkdir()
    sources = Sources([str(archive)], [str(looks)])
    for minute, value in ((1, "1"), (3, "3")):
        journal.time = START + minute * MINUTE
        lines = journal.set("topic", "orders", "retention.ms", value)
        (archive / f"{minute}.jsonl").write_text("".join(f"{line}\n" for line in lines_of(lines)))
        snapshot(looks, minute + 1, [topic("orders", "A"), override("orders", "retention.ms", value)])
        result = runner.read(lake, sources, lambda _: None)
        silver.update(lake)
    runner.finish(lake, {}, result, datetime.now(UTC), None)

    (last,) = DeltaTable(lake.path(TABLES["history"])).history(1)
    assert last["operation"] == "WRITE"
    assert [(row["value"], row["origin"]) for row in rows(lake, "history", "open")] == [("3", "kconf")]
    assert rows(lake, "state")[0]["time"] == at(3), "no clock of the snapshot's"
    assert rows(lake, "state")[0]["looked"]


@pytest.mark.parametrize("records", one_of(True, [False]), ids=["client and snapshots", "snapshots"])
def test_a_corrected_snapshot_removes_facts_that_it_no_longer_has(lake: Lake, tmp_path: Path, records: bool) -> None:
    """In the middle, at the end and as the only one; also if nothing is left of it."""
    looks, archive = tmp_path / "looks", tmp_path / "archive"
    archive.mkdir()
    if records:
        (line,) = Journal(CLUSTER, Random(1), time=START).set("topic", "recorded", "retention.ms", "5")
        line |= {"epoch": 0, "revision": START * 1000, "sequence": 0, "origin": "client"}
        (archive / "1.jsonl").write_text(f"{json.dumps(line)}\n")
    wrong, kept = [topic("wrong", "W"), override("wrong", "retention.ms", "1")], [topic("kept", "K")]
    sources = Sources([str(archive)], [str(looks)])
    for minute in (10, 20, 30):
        snapshot(looks, minute, [*kept, *(wrong if minute == 20 else [])])
    run(lake, sources, Inputs(), print)
    assert rows(lake, "topics", "topic = 'wrong'")

    def left() -> list[list[Row]]:
        return [rows(lake, name, "topic = 'wrong'") for name in ("topics",)] + [
            rows(lake, name, "resource_name = 'wrong'") for name in ("snapshot", "history", "effective_config")
        ]

    snapshot(looks, 20, kept)
    run(lake, sources, Inputs(), print)
    assert left() == [[], [], [], []]

    snapshot(looks, 30, [*kept, *wrong])
    run(lake, sources, Inputs(), print)
    assert rows(lake, "topics", "topic = 'wrong' AND exists")
    snapshot(looks, 30, [])
    run(lake, sources, Inputs(), print)
    assert left() == [[], [], [], []]
    assert [row["exists"] for row in rows(lake, "topics", "topic = 'kept'")] == [False]

    before = sorted(map(repr, rows(lake, "history")))
    silver.rebuild(lake)
    assert sorted(map(repr, rows(lake, "history"))) == before
