"""Maintains the table of violations: only resources affected by new rows are evaluated again.

The commit notes record the inputs: the round and build of the history, and a fingerprint of rules, owners, keys,
columns and kconf's version. If anything except the round differs, the whole past is evaluated again. Otherwise a
resource is evaluated again if new bronze rows concern it, and a whole cluster if one of them concerns a broker, since
all resources may inherit from it, or is older than a snapshot of its brokers, because that changes the snapshot's
position in the order.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kconf.lake.schemas import HISTORY, JOURNAL, SNAPSHOT, VIOLATIONS
from kconf.spark.delta_tables import Lake, fit, local
from kconf.spark.inputs import Inputs
from kconf.spark.transforms.history import RESOURCE
from kconf.spark.transforms.policy import backtest
from kconf.spark.transforms.policy.rules import keys_of_rules
from kconf.spark.transforms.topics.table import owner_of
from kconf.spark.transforms.values import KEYS, keys
from kconf.version import __version__


@dataclass(frozen=True)
class Part:
    """A subset of resources: named ones, and all of some clusters."""

    named: DataFrame
    clusters: list[str]

    def of(self, rows: DataFrame) -> DataFrame:
        found = rows.join(F.broadcast(self.named), list(RESOURCE), "left_semi")
        whole = F.col("cluster").isin(*self.clusters)
        return found.where(~whole).unionByName(rows.where(whole)) if self.clusters else found

    def others(self, rows: DataFrame) -> DataFrame:
        found = rows.join(F.broadcast(self.named), list(RESOURCE), "left_anti")
        return found.where(~F.col("cluster").isin(*self.clusters)) if self.clusters else found


def update(lake: Lake, inputs: Inputs) -> None:
    """Update the table from the history, in one commit."""
    if not inputs.rules.rules:
        lake.overwrite(VIOLATIONS, local(lake.spark, [], VIOLATIONS.ddl), note={})
        return
    note, last = _made_from(lake, inputs), lake.note(VIOLATIONS)
    if any(last.get(name, "") != note[name] for name in ("built", "given")):
        lake.overwrite(VIOLATIONS, judged(lake, inputs), note={**note, "kept": False})
        return
    part = _changed(lake, last["round"], inputs)
    if part is not None:
        kept = part.others(lake.read(VIOLATIONS))
        rows = fit(kept, VIOLATIONS).unionByName(fit(judged(lake, inputs, part), VIOLATIONS))
        lake.overwrite(VIOLATIONS, rows, note={**note, "kept": True})


def judged(lake: Lake, inputs: Inputs, part: Part | None = None) -> DataFrame:
    """The rows of all resources, or of some."""
    wanted = set(keys_of_rules(inputs.rules))
    definitions = local(lake.spark, (row for row in keys(inputs.catalog) if row["key"] in wanted), KEYS)
    history, snapshot = lake.read(HISTORY), lake.read(SNAPSHOT)
    states = backtest.judged(history, snapshot, definitions, inputs.rules, part.of if part is not None else None)
    is_topic = F.col("resource_type") == "topic"
    owner = F.when(is_topic, owner_of(F.col("resource_name"), inputs.owner_map))
    return backtest.breaches(states).withColumn("owner", owner)


def _made_from(lake: Lake, inputs: Inputs) -> dict[str, Any]:
    """The inputs of the rows; with the same inputs, the rows are the same."""
    state, files = lake.note(HISTORY), inputs.fingerprints
    given = [__version__, VIOLATIONS.ddl, files["policy"], files["owners"], *keys(inputs.catalog)]
    fingerprint = hashlib.sha256(json.dumps(given).encode()).hexdigest()[:16]
    return {"round": state.get("round", 0), "built": state.get("built"), "given": fingerprint}


def _changed(lake: Lake, since: int, inputs: Inputs) -> Part | None:
    """The resources to evaluate again, because bronze rows after that round may affect them."""
    snapshot = lake.read(SNAPSHOT)
    fresh = F.col("round") > since
    lines = lake.read(JOURNAL).where(fresh).select(*RESOURCE, "time")
    snapshots = snapshot.where(fresh & (F.col("kind") != "snapshot")).select(*RESOURCE, F.col("taken").alias("time"))
    kinds = {"broker", *(kind.word for rule in inputs.rules.rules for kind in rule.types)}
    news = lines.unionByName(snapshots).unionByName(_settled(lake, snapshot.where(fresh)))
    named = news.where(F.col("resource_type").isin(*kinds)).select(*RESOURCE).distinct().localCheckpoint()
    brokers = snapshot.where("resource_type = 'broker'").groupBy("cluster").agg(F.max("taken").alias("observed"))
    first = news.groupBy("cluster").agg(F.min("time").alias("first"))
    clusters = named.where("resource_type = 'broker'").select("cluster").distinct()
    clusters = clusters.union(first.join(brokers, "cluster").where("first <= observed").select("cluster")).distinct()
    whole = [row["cluster"] for row in clusters.collect()]
    return Part(named, whole) if whole or not named.isEmpty() else None


def _settled(lake: Lake, fresh: DataFrame) -> DataFrame:
    """Resources with recorded changes, in clusters with new snapshots: see transforms/observations.py."""
    observed = fresh.where("kind = 'snapshot'").select("cluster").distinct()
    recorded = lake.read(JOURNAL).where("epoch = 0").join(F.broadcast(observed), "cluster", "left_semi")
    return recorded.select(*RESOURCE, F.lit(None).cast("timestamp").alias("time")).distinct()
