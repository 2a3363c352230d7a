"""kconf's Spark source compared with the AdminClient: 10,000 topics of a real broker.

Both list the topics, describe them with all their keys, and return the overrides of each topic. The source uses a warm
session and two Python processes, and passes its rows to Spark. Rounds alternate; the figure is the median. `python -m
bench.source`.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from typing import TYPE_CHECKING

from bench import machine
from bench.crowd import prepare
from kconf import Resource, Source, SyncAdminClient
from kconf.spark import session
from lab.broker import AT_FULL_SPEED, KafkaBroker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Facts = set[tuple[str, str, str | None]]
"""Topic, key and value."""


def bare(address: str) -> tuple[float, Facts]:
    began = time.perf_counter()
    with SyncAdminClient(address) as admin:
        listed = admin.list_topics(internal=True)
        described = admin.describe_configs([Resource.topic(each) for each in listed])
        facts = {
            (resource.name, each.name, each.value)
            for resource in described
            for each in described[resource].entries
            if each.source is Source.TOPIC
        }
    return time.perf_counter() - began, facts


def source(spark: SparkSession, address: str, topics: int) -> tuple[float, Facts]:
    """The seconds include all rows of the cluster (also brokers, quotas and so on), cached in memory by Spark."""
    began = time.perf_counter()
    frame = spark.read.format("kconf").option("bootstrap.servers", address).load().cache()
    try:
        if frame.where("kind = 'topic'").count() != topics:
            raise RuntimeError("the source did not return all topics")
        spent = time.perf_counter() - began
        rows = frame.where("kind = 'config' AND resource_type = 'topic'").select("resource_name", "key", "value")
        return spent, {(row[0], row[1], row[2]) for row in rows.collect()}
    finally:
        frame.unpersist()


def main() -> None:
    parser = argparse.ArgumentParser(description="Read topics of a real broker by Spark's source and without it.")
    parser.add_argument("--topics", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    print(f"{machine.describe()}; load average {os.getloadavg()[0]:.2f}")
    spark = session.start()
    with KafkaBroker(jvm_options=AT_FULL_SPEED) as broker:
        prepare(broker.bootstrap, asked.topics)
        print(f"Kafka {broker.version}, {asked.topics} topics, no two with the same configuration")
        source(spark, broker.bootstrap, asked.topics)
        seconds: dict[str, list[float]] = {"bare AdminClient": [], "Spark source": []}
        for _ in range(asked.rounds):
            alone, expected = bare(broker.bootstrap)
            through, found = source(spark, broker.bootstrap, asked.topics)
            if found != expected:
                raise RuntimeError(f"{len(found ^ expected)} values differ")
            seconds["bare AdminClient"].append(alone)
            seconds["Spark source"].append(through)
    session.stop(spark)
    for name, each in seconds.items():
        print(f"{name:<18}{statistics.median(each):>8.2f}s  best {min(each):.2f}s")


if __name__ == "__main__":
    main()
