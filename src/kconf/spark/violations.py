"""Maintains the table of violations: only resources affected by new rows are evaluated again.

The commit notes record the inputs: the round and build of the history, the IDs of the `rules`, and a fingerprint of
rules, owners, keys, columns and kconf's version. If anything except the round differs, the whole past is evaluated
again. Otherwise a resource is evaluated again if new bronze rows affect it (affected.py).
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kconf.lake.schemas import HISTORY, SNAPSHOT, VIOLATIONS
from kconf.spark.affected import Part, Parts, reached_round
from kconf.spark.delta_tables import Lake, fit, local
from kconf.spark.inputs import Inputs
from kconf.spark.transforms.policy import backtest
from kconf.spark.transforms.policy.rules import keys_of_rules
from kconf.spark.transforms.topics.table import owner_of
from kconf.spark.transforms.values import KEYS, keys
from kconf.version import __version__


def update(lake: Lake, inputs: Inputs, parts: Parts | None = None) -> None:
    """Update the table from the history, in one commit."""
    if not inputs.rules.rules:
        lake.overwrite(VIOLATIONS, local(lake.spark, [], VIOLATIONS.ddl), note={"rules": []})
        return
    note, last = _made_from(lake, inputs), lake.note(VIOLATIONS)
    is_same = all(last.get(name, "") == note[name] for name in ("built", "given"))
    part = (parts or Parts(lake)).since(last["round"]) if is_same else None
    if part is None:
        lake.overwrite(VIOLATIONS, evaluated(lake, inputs), note={**note, "kept": False})
        return
    if not part:
        return
    part = part.of_types({"broker", *(kind.word for rule in inputs.rules.rules for kind in rule.types)})
    if not part:
        lake.append_rows(VIOLATIONS, [], note={**note, "kept": True})
    elif part.is_few and (before := lake.rows(VIOLATIONS)) is not None:
        lake.update(VIOLATIONS, before, evaluated(lake, inputs, part), part.replaced, {**note, "kept": True})
    elif part.is_few and (pieces := lake.pieces(VIOLATIONS)) is not None:
        lake.replace_files(VIOLATIONS, pieces, part.rest, evaluated(lake, inputs, part), {**note, "kept": True})
    else:
        kept = part.others(lake.read(VIOLATIONS))
        rows = fit(kept, VIOLATIONS).unionByName(fit(evaluated(lake, inputs, part), VIOLATIONS))
        lake.overwrite(VIOLATIONS, rows, note={**note, "kept": True}, few=part.is_few)


def evaluated(lake: Lake, inputs: Inputs, part: Part | None = None) -> DataFrame:
    """The rows of all resources, or of some."""
    wanted = set(keys_of_rules(inputs.rules))
    definitions = local(lake.spark, (row for row in keys(inputs.catalog) if row["key"] in wanted), KEYS)
    history, snapshot = lake.read(HISTORY), lake.read(SNAPSHOT)
    states = backtest.evaluated(history, snapshot, definitions, inputs.rules, part.of if part is not None else None)
    is_topic = F.col("resource_type") == "topic"
    owner = F.when(is_topic, owner_of(F.col("resource_name"), inputs.owner_map))
    return backtest.breaches(states).withColumn("owner", owner)


def _made_from(lake: Lake, inputs: Inputs) -> dict[str, Any]:
    """The inputs of the rows; with the same inputs, the rows are the same."""
    state, files = lake.note(HISTORY), inputs.fingerprints
    given = [__version__, VIOLATIONS.ddl, files["policy"], files["owners"], *keys(inputs.catalog)]
    fingerprint = hashlib.sha256(json.dumps(given).encode()).hexdigest()[:16]
    rules = sorted(each.id for each in inputs.rules.rules)
    return {"round": reached_round(lake), "built": state.get("built"), "given": fingerprint, "rules": rules}
