"""Tests a policy that is not in effect yet against past changes: which it would have refused, and who made them.

Writes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import and_
from typing import Any, Final

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kconf.configdef.catalog import kafka_43
from kconf.engine.policy.rules import Rules
from kconf.lake.schemas import HISTORY, SNAPSHOT, Table
from kconf.spark.delta_tables import Lake, local
from kconf.spark.runner import Say, plain_errors
from kconf.spark.transforms.history import RESOURCE
from kconf.spark.transforms.policy.backtest import breaches, evaluated, refusals
from kconf.spark.transforms.policy.states import Past
from kconf.spark.transforms.values import KEYS, keys

Row = dict[str, Any]
_ORDER: Final = ("cluster", "since", "epoch", "revision", "resource_type", "resource_name", "rule")
_MOST: Final = 3  # the principals who made most of the changes


@dataclass(frozen=True)
class TimeRange:
    """The requested clusters and time range; if empty, all."""

    clusters: Sequence[str] = ()
    since: datetime | None = None
    until: datetime | None = None

    def broken(self) -> Column:
        """Whether an interval overlaps the time range."""
        ends = [] if self.since is None else [F.col("until").isNull() | (F.col("until") > F.lit(self.since))]
        begins = [] if self.until is None else [F.col("since") <= F.lit(self.until)]
        return reduce(and_, [*ends, *begins], F.lit(True))

    def made(self) -> Column:
        """Whether a change was made in the time range."""
        after = [] if self.since is None else [F.col("time") >= F.lit(self.since)]
        before = [] if self.until is None else [F.col("time") <= F.lit(self.until)]
        return reduce(and_, [*after, *before], F.lit(True))


@dataclass(frozen=True)
class BacktestResult:
    """The result of a policy file: a row per rule, the first findings, and counts."""

    rules: Sequence[Row]
    findings: Sequence[Row]
    found: int
    refused: int


def backtest(
    lake: Lake, versions: Mapping[str, int], rules: Rules, span: TimeRange, limit: int, say: Say
) -> BacktestResult:
    """Evaluate rules on the past, using the tables of the last finished run."""
    with plain_errors(lake):

        def read(table: Table) -> DataFrame:
            rows = lake.read(table, versions.get(table.name))
            return rows.where(F.col("cluster").isin(*span.clusters)) if span.clusters else rows

        say("evaluating the rules …")
        definitions = local(lake.spark, keys(kafka_43()), KEYS)
        states = evaluated(Past.whole(read(HISTORY), read(SNAPSHOT)), definitions, rules).persist(
            StorageLevel.DISK_ONLY
        )
        try:
            broken = breaches(states).where(span.broken()).persist(StorageLevel.DISK_ONLY)
            changes = refusals(states).where(span.made())
            found = {row["rule"]: row.asDict() for row in _by_rule(broken).collect()}
            say("counting changes by author …")
            asked = {row["rule"]: row.asDict(recursive=True) for row in _by_whom(changes).collect()}
            of_errors = changes.where("severity = 'error'").select(*RESOURCE, "epoch", "revision").distinct()
            first = [row.asDict() for row in broken.orderBy(*_ORDER).limit(limit).collect()] if limit else []
            rows = [_row(each.id, each.severity.value, found.get(each.id), asked.get(each.id)) for each in rules.rules]
            return BacktestResult(rows, first, sum(row["findings"] for row in rows), of_errors.count())
        finally:
            states.unpersist()


def _by_rule(broken: DataFrame) -> DataFrame:
    return broken.groupBy("rule").agg(
        F.count("*").alias("findings"),
        F.countDistinct(*RESOURCE).alias("resources"),
        F.count_if("open").alias("open"),
        F.count_if("assumed").alias("assumed"),
        F.min("since").alias("first"),
        F.max(F.coalesce("until", "since")).alias("last"),
    )


def _by_whom(changes: DataFrame) -> DataFrame:
    by_whom = changes.groupBy("rule", "principal").count()
    who = F.array_sort(F.collect_list(F.struct((-F.col("count")).alias("count"), "principal")))
    return by_whom.groupBy("rule").agg(
        F.sum("count").alias("changes"),
        F.slice(F.transform(who, lambda each: each["principal"]), 1, _MOST).alias("who"),
        F.count("*").alias("people"),
    )


def _row(rule: str, severity: str, found: Row | None, asked: Row | None) -> Row:
    nothing: Row = {"findings": 0, "resources": 0, "open": 0, "assumed": 0, "first": None, "last": None}
    nobody: Row = {"changes": 0, "who": [], "people": 0}
    return {"rule": rule, "severity": severity, **nothing, **nobody, **(found or {}), **(asked or {})}
