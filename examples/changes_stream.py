"""A Spark job that writes changes as they happen, with the owner of each topic, into a Delta table.

python -m examples.changes_stream HOST:PORT OWNERS DIR [CHANGES]

HOST:PORT is a kconf server; OWNERS a CSV file with the columns topic and owner; DIR gets the table and the checkpoint;
CHANGES limits a batch. It processes what has changed since it ran last, and ends; without `availableNow` it would go
on. For a KRaft cluster pass `bootstrap.controllers` instead of `bootstrap.servers`. Needs the extra `spark` and a JDK
17 or newer.
"""

from __future__ import annotations

import sys

from pyspark.sql import functions as F

from kconf.spark.session import start

bootstrap, owners_file, place, *limit = sys.argv[1:]
spark = start("local[2]", quick=True)

changes = (
    spark.readStream.format("kconf")
    .option("rows", "changes")
    .option("bootstrap.servers", bootstrap)
    .option("startingOffsets", "earliest")
    .option("maxChangesPerTrigger", *(limit or ["1000"]))
    .load()
)
owners = spark.read.option("header", True).csv(owners_file)

of_topics = changes.where((F.col("resource_type") == "topic") & (F.col("kind") == "config"))
with_owner = of_topics.join(owners, F.col("resource_name") == F.col("topic"), "left")
query = (
    with_owner.select("time", "owner", "resource_name", "key", "before", "after", "principal", "revision", "line")
    .writeStream.format("delta")
    .option("checkpointLocation", f"{place}/checkpoint")
    .trigger(availableNow=True)
    .start(f"{place}/table")
)
query.awaitTermination()

table = spark.read.format("delta").load(f"{place}/table")
table.orderBy("revision", "line").select("owner", "resource_name", "key", "after").show(truncate=False)
spark.stop()
