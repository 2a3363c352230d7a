"""The metadata log of a real cluster through `spark.readStream.format("kconf")`: every change of another tool, once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import confluent_kafka.admin
import pytest

from kconf import SyncAdminClient
from kconf.errors import ConfigurationError
from kconf.spark.source.change_feeds import LogFeed, open_feed
from kconf.spark.source.options import CHANGE_OPTIONS, SourceOptions
from lab.broker import KafkaBroker
from tests.spark.streams import rows_of, run_once, stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

rdkafka: Any = confluent_kafka.admin  # its names are not exported to type checkers


class OtherTool:
    """librdkafka's AdminClient."""

    def __init__(self, broker: KafkaBroker) -> None:
        self._admin = rdkafka.AdminClient({"bootstrap.servers": broker.bootstrap})

    def create(self, topic: str) -> None:
        for each in self._admin.create_topics([rdkafka.NewTopic(topic, 1, 1)]).values():
            each.result(60)

    def change(self, topic: str, *values: int) -> None:
        for value in values:
            operation = rdkafka.AlterConfigOpType.SET
            entry = rdkafka.ConfigEntry("retention.ms", str(value), incremental_operation=operation)
            resource = rdkafka.ConfigResource("TOPIC", topic, incremental_configs=[entry])
            for each in self._admin.incremental_alter_configs([resource]).values():
                each.result(60)

    def delete(self, topic: str) -> None:
        for each in self._admin.delete_topics([topic]).values():
            each.result(60)


def test_changes_of_another_tool_arrive_once_across_a_restart(
    spark: SparkSession, kafka_431: KafkaBroker, tmp_path: Path
) -> None:
    topic = f"stream-{uuid4().hex[:8]}"
    controllers = kafka_431.address("CONTROLLER")
    feed = LogFeed(SyncAdminClient(bootstrap_controllers=controllers))
    begin, cluster = feed.latest(), feed.cluster
    feed.close()
    frame = stream(spark, **{"bootstrap.controllers": controllers, "startingOffsets": str(begin)})
    frame = frame.where(f"resource_name = '{topic}'")
    other = OtherTool(kafka_431)

    other.create(topic)
    try:
        other.change(topic, *range(1, 6))
        run_once(frame, tmp_path)
        first = [row["after"] for row in rows_of(tmp_path / "table") if row["key"]]
        other.change(topic, 6, 7)
    finally:
        other.delete(topic)
    run_once(frame, tmp_path)
    rows = rows_of(tmp_path / "table")

    assert first == ["1", "2", "3", "4", "5"]
    assert [(row["op"], row["after"]) for row in rows if row["key"]][:7] == [("set", str(each)) for each in range(1, 8)]
    assert [row["op"] for row in rows if row["kind"] == "topic"] == ["create", "delete"]
    assert {(row["cluster"], row["principal"], row["origin"]) for row in rows} == {(cluster, None, "log")}
    assert all(row["revision"] > begin for row in rows)


def test_a_cluster_without_a_journal_needs_its_controllers(kafka_431: KafkaBroker) -> None:
    options = {"bootstrap.servers": kafka_431.bootstrap, "rows": "changes"}
    with pytest.raises(ConfigurationError, match=r"has no journal; .*set bootstrap\.controllers"):
        open_feed(SourceOptions.of(options, CHANGE_OPTIONS))


def test_an_offset_that_the_log_does_not_have_is_an_error(kafka_431: KafkaBroker) -> None:
    feed = LogFeed(SyncAdminClient(bootstrap_controllers=kafka_431.address("CONTROLLER")))
    try:
        with pytest.raises(ConfigurationError, match="offset 999999999 does not exist in the metadata log of cluster"):
            feed.read(999_999_999, 10)
        assert feed.earliest() < feed.latest()
    finally:
        feed.close()
