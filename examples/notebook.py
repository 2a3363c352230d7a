"""Notebook cells: a live cluster as a DataFrame. python -m examples.notebook HOST:PORT

Needs the extra `spark` and a JDK 17 or newer. Nothing is installed or changed on the cluster.
"""

# %% A session; Spark finds kconf's source automatically
from __future__ import annotations

import sys

from pyspark.sql import functions as F

from kconf.spark.session import start

spark = start("local[2]", quick=True)
bootstrap = sys.argv[1] if len(sys.argv) > 1 else "localhost:9092"

# %% All configs of the cluster, one row per key
cluster = spark.read.format("kconf").option("bootstrap.servers", bootstrap).load().cache()
cluster.groupBy("kind").count().orderBy("kind").show()

# %% Which keys do topics set, and to how many different values?
overrides = cluster.where((F.col("kind") == "config") & (F.col("resource_type") == "topic"))
overrides.groupBy("key").agg(
    F.countDistinct("resource_name").alias("topics"), F.countDistinct("value").alias("values")
).orderBy(F.desc("topics"), "key").show(truncate=False)

# %% Topics with a retention of more than a week
week = 7 * 24 * 60 * 60 * 1000
long_lived = overrides.where((F.col("key") == "retention.ms") & (F.col("value").cast("long") > week))
long_lived.select("resource_name", (F.col("value").cast("long") / 86_400_000).alias("days")).orderBy(
    "resource_name"
).show()

# %%
spark.stop()
