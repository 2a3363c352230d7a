"""Backtests of rules, compared with the policy itself: a fold that checks every state of random journals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from kconf.configdef.catalog import kafka_43
from kconf.engine.policy.parser import read_rules
from kconf.engine.policy.rules import Rules
from kconf.lake.schemas import RUNS, SNAPSHOT, TABLES, VIOLATIONS
from kconf.spark.backtest import BacktestResult, TimeRange, backtest
from kconf.spark.delta_tables import Lake, local
from kconf.spark.inputs import Inputs, Sources
from kconf.spark.runner import run
from kconf.spark.transforms.history import intervals, journal_events
from kconf.spark.transforms.policy.backtest import breaches, evaluated, refusals
from kconf.spark.transforms.policy.states import Past
from kconf.spark.transforms.values import KEYS, keys
from tests.spark.journals import Journal, journals
from tests.spark.judge import led
from tests.spark.test_history import journal_of, write
from tests.spark.test_snapshots import CLUSTER, MINUTE, START, at, config, override, snapshot, topic
from tests.support.targets import one_of

Row = dict[str, Any]
TIMES = ("since", "until", "time")
SIZES = ("100", "1000", " 2000", "-1", "+3000")
LISTS = ("compact", "delete", " compact , delete", "delete,compact,delete", "")
VALUES: dict[str, dict[str, Sequence[str]]] = {
    "topic": {
        "retention.ms": (*SIZES, "soon"),
        "local.retention.ms": ("-2", "500", "5000", "-1"),
        "cleanup.policy": LISTS,
        "segment.bytes": ("1048576", " 2097152 ", "+3145728"),
        "min.insync.replicas": ("1", "2", "3"),
        "compression.type": ("gzip", " zstd", "producer"),
        "min.cleanable.dirty.ratio": ("0.5", "1e-1", " 0.75 ", "NaN"),
        "unclean.leader.election.enable": ("true", "FALSE", "yes"),
    },
    "broker": {
        "log.retention.ms": SIZES,
        "log.local.retention.ms": ("-2", "500"),
        "log.cleanup.policy": LISTS,
        "log.segment.bytes": ("1048576", "3145728"),
        "min.insync.replicas": ("1", "2", "3"),
        "compression.type": ("gzip", "zstd"),
        "log.cleaner.threads": ("1", "2", "8"),
        "unclean.leader.election.enable": ("true", "false"),
        "group.consumer.session.timeout.ms": ("45000", "50000"),
    },
    "group": {"consumer.session.timeout.ms": ("45000", "60000"), "consumer.heartbeat.interval.ms": ("5000", "9000")},
    "client-metrics": {"interval.ms": ("100", "60000"), "match": ("client_id=a", "")},
}
RULES = """
labels:
  topic:*: {tier: bronze, team: shop}
  topic:t1: {tier: gold}
rules:
  - {id: small, selector: topic, key: retention.ms, condition: {min: 500, max: 2500}}
  - {id: local, selector: topic, key: local.retention.ms, condition: {at_most: retention.ms}}
  - {id: local-max, selector: "topic:/[02]/", key: local.retention.ms, condition: {max: 3000}, severity: warn}
  - {id: compacted, selector: "topic:t0", key: cleanup.policy, condition: {contains: compact}}
  - {id: kept, selector: {type: topic, except: "t1"}, key: cleanup.policy, condition: {excludes: [delete]}}
  - {id: both, selector: topic, key: cleanup.policy, condition: {one_of: ["compact,delete", "delete"]}, severity: warn}
  - {id: durable, selector: {type: topic, labels: {tier: gold}}, key: min.insync.replicas,
     condition: {min: 2, below: replication_factor}}
  - {id: fat, selector: {type: topic, labels: {tier: bronze, team: shop}}, key: segment.bytes,
     condition: {not_one_of: [1048576, 2097152]}, always: true}
  - {id: few, selector: topic, key: partitions, condition: {max: 2}}
  - {id: spread, selector: topic, key: replication_factor, condition: {above: partitions}}
  - {id: named, selector: "topic:t*", key: name, condition: {matches: "t[01]"}, severity: warn}
  - {id: said, selector: ["topic:t2", "topic:/1$/"], key: min.insync.replicas, condition: {required: true}}
  - {id: unsaid, selector: topic, key: compression.type, condition: {forbidden: true, one_of: [zstd, gzip]}}
  - {id: plain, selector: topic, key: compression.type, condition: {equals: producer, matches: "[a-z]+"}}
  - {id: clean, selector: topic, key: unclean.leader.election.enable, condition: {equals: false}}
  - {id: ratio, selector: topic, key: min.cleanable.dirty.ratio, condition: {min: 0.3, not_one_of: [0.75]}}
  - {id: threads, selector: broker, key: log.cleaner.threads, condition: {max: 4, not_one_of: [1]}}
  - {id: one-broker, selector: "broker:*", key: log.retention.ms, condition: {above: log.local.retention.ms}}
  - {id: default, selector: brokers, key: log.cleaner.threads, condition: {required: true}}
  - {id: session, selector: group, key: consumer.session.timeout.ms, condition: {max: 50000}}
  - {id: heart, selector: "group:a", key: consumer.heartbeat.interval.ms, condition: {required: true}}
  - {id: metrics, selector: client-metrics, key: interval.ms, condition: {min: 1000}}
  - {id: someone, selector: client-metrics, key: match, condition: {required: true}, severity: warn}
"""
FEW = {"small", "local", "compacted", "durable", "threads", "session"}
"""Rules with different conditions, on topics, brokers and groups. Most of the time is planning, for each rule."""


@pytest.fixture(scope="module")
def rules() -> Rules:
    return read_rules(RULES, kafka_43(), "rules.yaml")


def definitions(spark: SparkSession) -> DataFrame:
    return local(spark, keys(kafka_43()), KEYS)


def collected(table: DataFrame) -> list[Row]:
    return [row.asDict(recursive=True) for row in table.collect()]


def comparable(rows: Iterable[Row], names: Sequence[str], *, skewed: set[str]) -> list[str]:
    """Rows in one order. Where a clock went back, times are not compared: the order is the journal's."""
    kept = ({name: row[name] for name in names if name not in TIMES or row["cluster"] not in skewed} for row in rows)
    return sorted(repr(each) for each in kept)


@pytest.mark.parametrize(("count", "ids"), one_of((6, FEW), [(40, None)]), ids=["few rules", "all rules"])
def test_a_backtest_of_random_journals_finds_what_the_policy_itself_finds(
    spark: SparkSession, tmp_path: Path, rules: Rules, count: int, ids: set[str] | None
) -> None:
    if ids is not None:
        rules = replace(rules, rules=tuple(rule for rule in rules.rules if rule.id in ids))
    made = journals(count, 50, values=VALUES)
    skewed = {each.cluster for each in made if each.skewed}
    clusters = [led(each.cluster, each.lines, rules) for each in made]
    history = intervals(journal_events(journal_of(spark, tmp_path, [line for each in made for line in each.lines])))

    found = evaluated(Past.whole(history, local(spark, [], SNAPSHOT.ddl)), definitions(spark), rules).persist()

    expected = [row for each in clusters for row in each.breaches]
    assert {row["rule"] for row in expected} == {rule.id for rule in rules.rules}
    assert comparable(collected(breaches(found)), list(expected[0]), skewed=skewed) == comparable(
        expected, list(expected[0]), skewed=skewed
    )
    refused = [row for each in clusters for row in each.refusals]
    names = [name for name in refused[0] if name != "topic_id"]
    assert comparable(collected(refusals(found)), names, skewed=skewed) == comparable(refused, names, skewed=skewed)


LOOKED = """
rules:
  - {id: keep, selector: topic, key: retention.ms, condition: {min: 1h}}
  - {id: say-so, selector: topic, key: retention.ms, condition: {required: true}, severity: warn}
  - {id: threads, selector: "broker:*", key: num.io.threads, condition: {min: 4}}
"""


def looked(lake: Lake, directory: Path, rules: str, **sources: Sequence[str]) -> list[Row]:
    policy = directory / "rules.yaml"
    policy.write_text(rules)
    run(lake, Sources(**sources), Inputs(policy=policy), print)  # type: ignore[arg-type]  # archives and snapshots
    return sorted(collected(lake.read(VIOLATIONS)), key=lambda row: (row["rule"], row["resource_name"], row["since"]))


@pytest.mark.full
def test_snapshots_alone_show_what_violated_a_rule_and_between_which_snapshots(lake: Lake, tmp_path: Path) -> None:
    """server.properties of broker 1 has less than an hour in the second snapshot, and more in the third."""

    def look(minute: int, milliseconds: str, *more: Row) -> None:
        static = "STATIC_BROKER_CONFIG"
        threads = config("broker", "1", "num.io.threads", "2", static)
        there = [topic("orders", "A"), config("broker", "1", "log.retention.ms", milliseconds, static), threads]
        snapshot(tmp_path / "looks", minute, [*there, *more])

    look(0, "7200000")
    look(10, "60000", topic("late", "B"), override("late", "retention.ms", "7200001"))
    look(20, "7200002", topic("late", "B"), override("late", "retention.ms", "5"))
    look(30, "7200002")

    told = looked(lake, tmp_path, LOOKED, snapshots=[str(tmp_path / "looks")])

    names = ("rule", "resource_name", "value", "since", "until", "cause", "changes", "ended", "assumed", "principal")
    assert [tuple(row[name] for name in names) for row in told] == [
        ("keep", "late", "5", at(20), at(30), "itself", 1, "gone", False, None),
        ("keep", "orders", "60000", at(10), at(20), "inherited", 0, "mended", False, None),
        ("say-so", "orders", "7200000", at(0), at(10), "itself", 0, "changed", False, None),
        ("say-so", "orders", "60000", at(10), at(20), "inherited", 0, "changed", False, None),
        ("say-so", "orders", "7200002", at(20), None, "inherited", 0, None, False, None),
        ("threads", "1", "2", at(0), None, "itself", 0, None, False, None),
    ]
    assert {row["origin"] for row in told} == {"snapshot"}
    _tried_on_the_past(lake)


def _tried_on_the_past(lake: Lake) -> None:
    """Backtest other rules on the same lake, also by cluster and time; no table is written."""
    before = {name: lake.version(table) for name, table in TABLES.items()}
    rules = read_rules(LOOKED.replace("1h", "2s").replace("warn", "error"), kafka_43())
    (versions,) = (row["versions"] for row in collected(lake.read(RUNS)))

    def tried(limit: int = 9, **asked: Any) -> BacktestResult:
        return backtest(lake, versions, rules, TimeRange(**asked), limit, print)

    everything = tried()
    assert {row["rule"]: (row["findings"], row["resources"], row["open"]) for row in everything.rules} == {
        "keep": (1, 1, 0),
        "say-so": (3, 1, 1),
        "threads": (1, 1, 1),
    }
    assert (everything.found, everything.refused, len(everything.findings)) == (5, 1, 5)
    late = tried(since=at(25).replace(tzinfo=UTC), until=at(28).replace(tzinfo=UTC), limit=2)
    assert ([row["findings"] for row in late.rules], late.refused, len(late.findings)) == ([1, 1, 1], 0, 2)
    assert tried(clusters=["another"]).found == 0
    assert {name: lake.version(table) for name, table in TABLES.items()} == before


@pytest.mark.full
def test_a_file_value_before_the_first_snapshot_is_assumed_and_marked(lake: Lake, tmp_path: Path) -> None:
    """The journal has a topic before the first snapshot, which shows a short retention in server.properties."""
    journal = Journal(CLUSTER, Random(1), time=START)
    made = [*journal.create("orders"), *journal.create("kept", **{"retention.ms": "7200000"})]
    journal.time = START + 20 * MINUTE
    write(tmp_path / "archive" / "c", "1", [*made, *journal.create("late")])
    file = config("broker", "1", "log.retention.ms", "60000", "STATIC_BROKER_CONFIG")
    snapshot(tmp_path / "looks", 10, [topic("orders", "A"), topic("kept", "B"), file])
    snapshot(tmp_path / "looks", 30, [topic("orders", "A"), topic("kept", "B"), topic("late", "C")])

    sources = {"archives": [str(tmp_path / "archive")], "snapshots": [str(tmp_path / "looks")]}
    told = looked(lake, tmp_path, "\n".join(LOOKED.splitlines()[:3]), **sources)

    names = ("resource_name", "value", "since", "until", "changes", "assumed", "ended", "until_origin")
    assert [tuple(row[name] for name in names) for row in told] == [
        ("late", "60000", at(20), at(30), 1, False, "mended", "snapshot"),
        ("orders", "60000", at(0), at(30), 1, True, "mended", "snapshot"),
    ]
