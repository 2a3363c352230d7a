"""Real brokers through `spark.read.format("kconf")`: the same data as from the AdminClient."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from kconf import AlterConfigOp, NewTopic, OpType, QuotaEntity, Resource, Source, SyncAdminClient
from lab.broker import KafkaBroker
from tests.archive.reading import until
from tests.support.targets import one_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


WHO = QuotaEntity.of({"user": "spark"})


@pytest.fixture(params=one_of("kafka_431", ["kafka_392"]))
def broker(request: pytest.FixtureRequest) -> KafkaBroker:
    found: KafkaBroker = request.getfixturevalue(request.param)
    return found


def _is_visible(admin: SyncAdminClient, topics: list[Resource]) -> bool:
    """Wait until everything is visible: a broker that does not know a topic yet cannot describe it."""
    found = admin.describe_configs(topics)
    return (
        not found.failures
        and all(found[each]["retention.ms"].source is Source.TOPIC for each in topics)
        and WHO in admin.describe_client_quotas()
    )


def test_a_real_cluster_is_read_completely(spark: SparkSession, broker: KafkaBroker) -> None:
    names = [f"spark-source-{number}" for number in range(12)]
    with SyncAdminClient(broker.bootstrap) as admin:
        admin.create_topics([NewTopic(name, partitions=2) for name in names]).raise_for_failures()
        requests = {
            Resource.topic(name): [AlterConfigOp(OpType.SET, "retention.ms", f"6{place}000")]
            for place, name in enumerate(names)
        }
        admin.incremental_alter_configs(requests).raise_for_failures()
        admin.alter_client_quotas({WHO: {"producer_byte_rate": 7.0}}).raise_for_failures()
        try:
            until(lambda: _is_visible(admin, list(requests)))  # a real broker may lag behind
            frame = spark.read.format("kconf").option("bootstrap.servers", broker.bootstrap).load()
            read = [row.asDict() for row in frame.collect()]
            listed = admin.list_topics(internal=True)
            node = admin.describe_configs([Resource.broker(broker.node_id)])[Resource.broker(broker.node_id)]
            cluster = admin.describe_cluster().cluster_id
        finally:
            admin.delete_topics(names).raise_for_failures()
            admin.alter_client_quotas({WHO: {"producer_byte_rate": None}})

    kinds = Counter(row["kind"] for row in read)
    assert (kinds["snapshot"], kinds["topic"]) == (1, len(listed))
    assert {row["cluster"] for row in read} == {cluster}
    topics = {row["name"]: (row["partitions"], row["replication"]) for row in read if row["kind"] == "topic"}
    assert [topics[name] for name in names] == [(2, 1)] * 12
    ours = {
        row["resource_name"]: row["value"]
        for row in read
        if row["key"] == "retention.ms" and row["resource_type"] == "topic"
    }
    assert {name: ours[name] for name in names} == {name: f"6{place}000" for place, name in enumerate(names)}
    told = {
        (row["key"], row["value"])
        for row in read
        if row["resource_name"] == str(broker.node_id) and row["resource_type"] == "broker"
    }
    assert told == {(each.name, each.value) for each in node.entries}
    quotas = [
        (row["entity"], row["value"]) for row in read if row["kind"] == "quota" and row["entity"] == {"user": "spark"}
    ]
    assert quotas == [({"user": "spark"}, "7.0")]
    assert "acls" in {row["name"] for row in read if row["kind"] == "missing"}  # there is no authorizer
