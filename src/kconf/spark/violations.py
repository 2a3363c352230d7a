"""Maintains the table of violations: only resources affected by new rows are evaluated again.

The commit notes record the inputs: the round and build of the history, the IDs of the `rules`, and a fingerprint of
rules, owners, keys, columns and kconf's version. If anything except the round differs, the whole past is evaluated
again. Otherwise a resource is evaluated again if new bronze rows affect it (incremental/affected.py). If few rows are
new and they arrived in order, only the states since the first of them are evaluated, because closed rows cannot change.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kconf.lake.local_tables import Piece
from kconf.lake.schemas import HISTORY, SNAPSHOT, VIOLATIONS, Column
from kconf.spark.delta_tables import Lake, fit, local
from kconf.spark.incremental.affected import Part, Parts, in_clusters, reached_round
from kconf.spark.incremental.recent import REMEMBERED, Recent, recent
from kconf.spark.inputs import Inputs
from kconf.spark.transforms.history import RESOURCE
from kconf.spark.transforms.policy import backtest
from kconf.spark.transforms.policy.rules import keys_of_rules
from kconf.spark.transforms.policy.states import Below, Past
from kconf.spark.transforms.topics.table import owner_of
from kconf.spark.transforms.values import KEYS, keys
from kconf.version import __version__

Row = dict[str, Any]
_NO_RULES: Final[Mapping[str, Any]] = {"rules": []}
_FIRST: Final = ("cluster", "first_epoch", "first_revision")
_IDENTITY: Final = (*RESOURCE, "rule")
_END: Final = (*(name for name in VIOLATIONS.names if name.startswith("until")), "ended", "open")
_BELOW: Final = "below"
_CONTINUED: Final = replace(VIOLATIONS, columns=(*VIOLATIONS.columns, Column("continued", "boolean", "")))


@dataclass(frozen=True)
class _KnownInheritance:
    """What resources of some clusters inherit, and from which round, build and other inputs it was computed."""

    made_from: tuple[object, ...]
    clusters: frozenset[str]
    inherited: pa.Table
    versions: pa.Table | None


def is_light(lake: Lake, inputs: Inputs, parts: Parts) -> bool:
    """Whether an update passes only a few rows to Spark, from memory."""
    part = _affected(lake, _made_from(lake, inputs), parts) if inputs.rules.rules else None
    return part is not None and (not part or (part.is_few and recent(lake, part) is not None))


def update(lake: Lake, inputs: Inputs, parts: Parts | None = None) -> None:
    """Update the table from the history, in one commit."""
    if not inputs.rules.rules:
        if lake.note(VIOLATIONS, of_rows=True) != _NO_RULES:
            lake.overwrite(VIOLATIONS, local(lake.spark, [], VIOLATIONS.ddl), note=_NO_RULES)
        return
    note = _made_from(lake, inputs)
    part = _affected(lake, note, parts or Parts(lake))
    if part is None:
        lake.overwrite(VIOLATIONS, evaluated(lake, inputs), note={**note, "kept": False})
        return
    if not part:
        return
    changed = recent(lake, part)
    part = part.of_types({"broker", *(kind.word for rule in inputs.rules.rules for kind in rule.types)})
    is_in_memory = part.is_few or changed is not None
    if not part:
        lake.append_rows(VIOLATIONS, [], note={**note, "kept": True})
    elif is_in_memory and (found := lake.pieces(VIOLATIONS)) is not None:
        _update_few(lake, inputs, part, list(found), changed, {**note, "kept": True})
    else:
        kept = part.others(lake.read(VIOLATIONS))
        rows = fit(kept, VIOLATIONS).unionByName(fit(evaluated(lake, inputs, part), VIOLATIONS))
        lake.overwrite(VIOLATIONS, rows, note={**note, "kept": True}, few=part.is_few)


def _affected(lake: Lake, note: Mapping[str, Any], parts: Parts) -> Part | None:
    """What new rows affect; None: the table was computed from other inputs, or everything is affected."""
    last = lake.note(VIOLATIONS)
    is_same = all(last.get(name, "") == note[name] for name in ("built", "given"))
    return parts.since(last["round"]) if is_same else None


def evaluated(lake: Lake, inputs: Inputs, part: Part | None = None) -> DataFrame:
    """The rows of all resources, or of some."""
    history, (changes, snapshot) = lake.read(HISTORY), _observed(lake)
    own = history if part is None else part.of(history)
    note = lake.note(HISTORY)
    clusters = _clusters(lake, {*note.get("marks", ()), *note.get("looked", ())})
    seen = part.of if part is not None else lambda rows: rows
    return _breaches(lake, inputs, Past(own, history, clusters, changes, snapshot, seen))


def _observed(lake: Lake) -> tuple[DataFrame, DataFrame]:
    """The history and the snapshots of clusters with snapshots."""
    looked = lake.note(HISTORY).get("looked", ())
    is_looked = F.col("cluster").isin(*looked) if looked else F.lit(False)
    return lake.read(HISTORY).where(is_looked), lake.read(SNAPSHOT).where(is_looked)


def _clusters(lake: Lake, names: Iterable[str]) -> DataFrame:
    return local(lake.spark, [{"cluster": each} for each in names], "cluster string")


def _breaches(
    lake: Lake, inputs: Inputs, past: Past, first: DataFrame | None = None, below: Below | None = None
) -> DataFrame:
    states = backtest.evaluated(past, _definitions(lake, inputs), inputs.rules, first, below)
    is_topic = F.col("resource_type") == "topic"
    owner = F.when(is_topic, owner_of(F.col("resource_name"), inputs.owner_map))
    return backtest.breaches(states).withColumn("owner", owner)


def _definitions(lake: Lake, inputs: Inputs) -> DataFrame:
    """The keys that rules use."""
    wanted = set(keys_of_rules(inputs.rules))
    return local(lake.spark, (row for row in keys(inputs.catalog) if row["key"] in wanted), KEYS)


def _update_few(
    lake: Lake,
    inputs: Inputs,
    part: Part,
    pieces: Sequence[Piece],
    changed: Recent | None,
    note: Mapping[str, Any],
) -> None:
    """Replace the rows of a few resources; only the open rows if `changed` shows what new lines changed."""
    whole = [each.rows for each in pieces]
    last = pa.concat_tables(whole) if whole else lake.none_of(VIOLATIONS)
    new: DataFrame | pa.Table | None = None
    if changed is not None:
        new = _continued(lake, inputs, part, changed, part.within(last).filter(pc.field("open")), note)
    kept = part.rest if new is None else partial(_closed_or_others, part)
    if new is None:
        new = evaluated(lake, inputs, part)
    if lake.is_small(VIOLATIONS):
        lake.update(VIOLATIONS, last, new, lambda last, rows: pa.concat_tables([kept(last), rows]), note)
    else:
        lake.replace_files(VIOLATIONS, pieces, kept, new, note)


def _closed_or_others(part: Part, rows: pa.Table) -> pa.Table:
    return pa.concat_tables([part.rest(rows), part.within(rows).filter(~pc.field("open"))])


def _continued(
    lake: Lake, inputs: Inputs, part: Part, changed: Recent, last: pa.Table, note: Mapping[str, Any]
) -> pa.Table | None:
    """The open rows of a part (`last`) after new lines, and the rows that begin with new lines. None: unknown.

    Only the states since the first new line are evaluated, and the state before it, to which the open rows belong.
    """
    of_brokers = lake.matching(HISTORY, pc.field("resource_type") == "broker")
    if of_brokers is None:
        return None
    changes, snapshot = (rows.where(part.is_touched()) for rows in _observed(lake))
    past = Past(
        own=lake.in_spark(HISTORY, part.within(pa.concat_tables([changed.open, changed.closed]))),
        of_brokers=lake.in_spark(HISTORY, of_brokers.filter(in_clusters(of_brokers, part.touched))),
        clusters=_clusters(lake, part.touched),
        changes=changes,
        snapshot=snapshot,
        seen=None,  # a broker affects its whole cluster
    )
    firsts = [dict(zip(_FIRST, (cluster, *place), strict=True)) for cluster, place in changed.first.items()]
    first = local(lake.spark, firsts, "cluster string, first_epoch bigint, first_revision bigint")
    below = _below(lake, inputs, part, past, note)
    new = fit(_breaches(lake, inputs, past, first, below), _CONTINUED).toArrow()
    rows = begun_as(last.to_pylist(), new.to_pylist())
    return None if rows is None else pa.Table.from_pylist(rows, lake.none_of(VIOLATIONS).schema)


def _below(lake: Lake, inputs: Inputs, part: Part, past: Past, note: Mapping[str, Any]) -> Below:
    """What resources inherit. Lines that change it affect whole clusters, so it is kept for the next run of the
    session until then."""
    then, now = ((number, note["built"], note["given"]) for number in (part.since, note["round"]))
    near, known = frozenset(part.touched), lake.memory.get(_BELOW)
    if known is None or known.made_from not in (then, now) or near - known.clusters:
        found = Below.of(past, _definitions(lake, inputs), inputs.rules)
        rows = found.inherited.toArrow()
        if len(near) > REMEMBERED or not rows.num_rows:
            return found
        known = _KnownInheritance(now, near, rows, None if found.versions is None else found.versions.toArrow())
    lake.memory[_BELOW] = replace(known, made_from=now)
    arrow = lake.spark.createDataFrame
    return Below(arrow(known.inherited), None if known.versions is None else arrow(known.versions))


def begun_as(last: Iterable[Row], new: Iterable[Row]) -> list[Row] | None:
    """The new rows; a row that continues an open row keeps its start. None: the new and the open rows do not match."""
    known = {tuple(row[name] for name in _IDENTITY): row for row in last}
    rows = []
    for row in new:
        if row["continued"]:
            begun = known.pop(tuple(row[name] for name in _IDENTITY), None)
            if begun is None:
                return None
            row = {**begun, **{name: row[name] for name in _END}, "changes": begun["changes"] + row["changes"]}
        rows.append({name: row[name] for name in VIOLATIONS.names})
    return None if known else rows


def _made_from(lake: Lake, inputs: Inputs) -> dict[str, Any]:
    """The inputs of the rows; with the same inputs, the rows are the same."""
    state, files = lake.note(HISTORY), inputs.fingerprints
    given = [__version__, VIOLATIONS.ddl, files["policy"], files["owners"], *keys(inputs.catalog)]
    fingerprint = hashlib.sha256(json.dumps(given).encode()).hexdigest()[:16]
    rules = sorted(each.id for each in inputs.rules.rules)
    return {"round": reached_round(lake), "built": state.get("built"), "given": fingerprint, "rules": rules}
