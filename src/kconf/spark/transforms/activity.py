"""Who changes what, and when."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kconf.lake.schemas import ACTIVITY
from kconf.model.lines.fields import COUNTED
from kconf.spark.delta_tables import fit


def activity(journal: DataFrame, attempts: DataFrame, history: DataFrame) -> DataFrame:
    parts = [_changes(journal), _attempts(attempts), _flapping(history)]
    return parts[0].unionByName(parts[1], allowMissingColumns=True).unionByName(parts[2], allowMissingColumns=True)


def added(rows: DataFrame, more: DataFrame) -> DataFrame:
    """The sum of both: rows that count the same thing become one."""
    both = fit(rows, ACTIVITY).unionByName(fit(more, ACTIVITY))
    figures = {"count": F.sum("count"), "first": F.min("first"), "last": F.max("last")}
    same = [name for name in ACTIVITY.names if name not in figures]
    return both.groupBy(*same).agg(*(column.alias(name) for name, column in figures.items()))


def added_in_memory(rows: pa.Table) -> pa.Table:
    """Like `added`, for rows in memory."""
    figures = [("count", "sum"), ("first", "min"), ("last", "max")]
    same = [name for name in rows.column_names if name not in {name for name, _ in figures}]
    summed = rows.group_by(same).aggregate(figures)
    summed = summed.rename_columns({f"{name}_{how}": name for name, how in figures})
    return summed.select(rows.column_names).cast(rows.schema)


def more_flapping(known: pa.Table, rows: pa.Table) -> list[pa.Table]:
    """The known and new rows, in parts. Keys that flap again have the sum of the counts and the last author."""
    is_new = pc.equal(rows["kind"], "flapping")
    new, same = rows.filter(is_new), ["cluster", "resource_type", "resource_name", "key"]
    again = pc.is_in(_joined(known, same), value_set=_joined(new, same))
    figures = [("count", "sum"), ("first", "min"), ("last", "max")]
    both = pa.concat_tables([known.filter(again), new]).select([*same, "count", "first", "last"])
    summed = both.group_by(same).aggregate(figures)
    summed = summed.rename_columns({f"{name}_{how}": name for name, how in figures})
    counted_on = new.drop_columns(["count", "first", "last"]).join(summed, same)
    whole = counted_on.select(rows.column_names).cast(rows.schema)
    return [known.filter(pc.invert(again)), whole, rows.filter(pc.invert(is_new))]


def _joined(rows: pa.Table, names: list[str]) -> pa.Array:
    return pc.binary_join_element_wise(*(rows[name] for name in names), "\n").combine_chunks()


def _changes(journal: DataFrame) -> DataFrame:
    day = F.to_date("time").alias("day")
    return (
        journal.groupBy("cluster", day, *COUNTED, "origin", "resource_type", "key")
        .agg(F.count("*").alias("count"), F.min("time").alias("first"), F.max("time").alias("last"))
        .withColumn("kind", F.lit("changes"))
    )


def _attempts(attempts: DataFrame) -> DataFrame:
    kind = F.when(F.col("dry_run"), "dry-runs").otherwise("refusals").alias("kind")
    day = F.to_date("time").alias("day")
    return attempts.groupBy("cluster", day, *COUNTED, "resource_type", "error", kind).agg(
        F.count("*").alias("count"), F.min("time").alias("first"), F.max("time").alias("last")
    )


def _flapping(history: DataFrame) -> DataFrame:
    """Keys that returned to the value before the previous one."""
    last = F.struct("since", "epoch", "revision", "line")
    return (
        history.where("returned")
        .groupBy("cluster", "resource_type", "resource_name", "key")
        .agg(
            F.count("*").alias("count"),
            F.min("since").alias("first"),
            F.max("since").alias("last"),
            *(F.max_by(name, last).alias(name) for name in (*COUNTED, "origin")),
        )
        .withColumn("kind", F.lit("flapping"))
    )
