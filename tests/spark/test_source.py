"""A live cluster through `spark.read.format("kconf")`: facts, partitions, logins and errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kconf import (
    AclBinding,
    AclType,
    AlterConfigOp,
    Mechanism,
    NewTopic,
    Operation,
    OpType,
    Plain,
    QuotaEntity,
    Resource,
    ResourceType,
    SyncAdminClient,
    scram_upsertion,
)
from kconf.lake.schemas import SNAPSHOT_LINE
from kconf.spark.source.data_source import reason
from kconf.spark.source.options import SourceOptions
from kconf.spark.source.snapshot_reader import ClusterPartition, SnapshotReader
from tests.support.process import KconfProcess

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PASSWORD = "Tr0ub4dor-planted"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
TOPICS = 25
SECRET = "listener.name.external.ssl.keystore.password"


@pytest.fixture(scope="module")
def cluster() -> Iterator[KconfProcess]:
    users = f'user_alice="{PASSWORD}" user_bob="x"'
    properties = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS;User:alice",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{PLAIN} required {users};",
    }
    with KconfProcess(properties=properties, listeners=["PLAINTEXT", "SASL_PLAINTEXT"]) as process:
        with SyncAdminClient(process.address("PLAINTEXT")) as admin:
            fill(admin)
        yield process


def fill(admin: SyncAdminClient) -> None:
    requests = [NewTopic(f"t{number:02}", partitions=number % 3 + 1) for number in range(TOPICS)]
    admin.create_topics(requests).raise_for_failures()
    admin.incremental_alter_configs(
        {
            Resource.topic("t00"): [AlterConfigOp(OpType.SET, "retention.ms", "60000")],
            Resource.topic("t01"): [AlterConfigOp(OpType.SET, "cleanup.policy", "compact")],
            Resource.brokers(): [AlterConfigOp(OpType.SET, "log.retention.ms", "77")],
            Resource.broker(1): [AlterConfigOp(OpType.SET, SECRET, PASSWORD)],
            Resource(ResourceType.GROUP, "g1"): [AlterConfigOp(OpType.SET, "consumer.session.timeout.ms", "50000")],
            Resource(ResourceType.CLIENT_METRICS, "m1"): [AlterConfigOp(OpType.SET, "interval.ms", "60000")],
        }
    ).raise_for_failures()
    admin.alter_client_quotas(
        {
            QuotaEntity.of({"user": "ann"}): {"request_percentage": 12.5},
            QuotaEntity.of({"user": None, "client-id": "c"}): {"consumer_byte_rate": 5.0},
        }
    ).raise_for_failures()
    admin.alter_user_scram_credentials(
        [scram_upsertion("carl", Mechanism.SCRAM_SHA_256, PASSWORD)]
    ).raise_for_failures()
    admin.create_acls([AclBinding(AclType.TOPIC, "t00", "User:bob", Operation.READ)]).raise_for_failures()


def load(spark: SparkSession, options: Mapping[str, str]) -> DataFrame:
    return spark.read.format("kconf").options(**options).load()


def rows(frame: DataFrame) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.asDict().items() if value is not None} for row in frame.collect()]


@pytest.fixture(scope="module")
def read(spark: SparkSession, cluster: KconfProcess) -> list[dict[str, Any]]:
    return rows(load(spark, {"bootstrap.servers": cluster.address("PLAINTEXT"), "partitions": "3"}))


def test_a_snapshot_has_every_kind_of_fact(read: list[dict[str, Any]], cluster: KconfProcess) -> None:
    assert Counter(each["kind"] for each in read if each["kind"] != "config") == {
        "snapshot": 1,
        "topic": TOPICS,
        "quota": 2,
        "scram": 1,
        "acl": 1,
    }
    with SyncAdminClient(cluster.address("PLAINTEXT")) as admin:
        assert {each["cluster"] for each in read} == {admin.describe_cluster().cluster_id}
    assert len({(each["started"], each["taken"]) for each in read}) == 1


def test_topics_have_partitions_replication_and_overrides(read: list[dict[str, Any]], cluster: KconfProcess) -> None:
    with SyncAdminClient(cluster.address("PLAINTEXT")) as admin:
        listed = admin.list_topics()
    shapes = {each["name"]: (each["partitions"], each["replication"]) for each in read if each["kind"] == "topic"}
    assert shapes == {name: (each.partitions, 1) for name, each in listed.items()}
    assert all(len(each["id"]) == 22 for each in read if each["kind"] == "topic")
    told = {
        (each["resource_name"], each["key"], each["value"], each["source"])
        for each in read
        if each.get("resource_type") == "topic" and each["kind"] == "config"
    }
    assert told == {
        ("t00", "retention.ms", "60000", "DYNAMIC_TOPIC_CONFIG"),
        ("t01", "cleanup.policy", "compact", "DYNAMIC_TOPIC_CONFIG"),
    }


def test_brokers_have_every_key_and_the_cluster_default_its_overrides(
    read: list[dict[str, Any]], cluster: KconfProcess
) -> None:
    with SyncAdminClient(cluster.address("PLAINTEXT")) as admin:
        described = admin.describe_configs([Resource.broker(1), Resource.brokers()])
        expected = {
            (resource.name, each.name, each.value, each.sensitive, each.read_only)
            for resource in described
            for each in described[resource].entries
        }
    told = {
        (each["resource_name"], each["key"], each.get("value"), each["sensitive"], each["read_only"])
        for each in read
        if each.get("resource_type") == "broker"
    }
    assert told == expected
    assert {(value, hidden) for _, key, value, hidden, _ in told if key == SECRET} == {(None, True)}


def test_quotas_credentials_acls_and_other_resources_are_read(read: list[dict[str, Any]]) -> None:
    by_kind = {kind: [each for each in read if each["kind"] == kind] for kind in ("quota", "scram", "acl")}
    quotas = {(tuple(sorted(each["entity"])), each["key"], each["value"]) for each in by_kind["quota"]}
    assert quotas == {
        (("user",), "request_percentage", "12.5"),
        (("client-id", "user"), "consumer_byte_rate", "5.0"),
    }
    assert {"user": None, "client-id": "c"} in [each["entity"] for each in by_kind["quota"]]
    assert [(each["user"], each["mechanism"]) for each in by_kind["scram"]] == [("carl", "SCRAM-SHA-256")]
    (acl,) = by_kind["acl"]
    assert (acl["name"], acl["principal"], acl["operation"], acl["permission"]) == ("t00", "User:bob", "READ", "ALLOW")
    others = {each["resource_type"] for each in read if each["kind"] == "config"}
    assert others == {"topic", "broker", "group", "client-metrics"}


def test_topics_are_divided_into_partitions_and_each_broker_has_its_own(cluster: KconfProcess) -> None:
    parts = SnapshotReader(SourceOptions(cluster.address("PLAINTEXT")), 4, None).partitions()

    assert all(isinstance(each, ClusterPartition) for each in parts)
    shares = [len(each.topics) for each in parts if isinstance(each, ClusterPartition) and each.topics]
    assert shares == [7, 7, 7, 4]
    assert [each.broker for each in parts if isinstance(each, ClusterPartition) and each.broker is not None] == [1]
    assert len(parts) == 6


def test_a_glob_selects_topics(spark: SparkSession, cluster: KconfProcess) -> None:
    frame = load(spark, {"bootstrap.servers": cluster.address("PLAINTEXT"), "topics": "t0*"})

    assert {each["name"] for each in rows(frame.where("kind = 'topic'"))} == {f"t0{digit}" for digit in range(10)}


def context_file(place: Path, cluster: KconfProcess) -> Path:
    file = place / "config.yaml"
    file.touch(0o600)
    file.write_text(
        f"""contexts:
  prod:
    bootstrap: {cluster.address("SASL_PLAINTEXT")}
    user: alice
    password: {PASSWORD}
    properties: {{security.protocol: SASL_PLAINTEXT, sasl.mechanism: PLAIN}}
"""
    )
    return file


def properties_file(place: Path, cluster: KconfProcess) -> Path:
    file = place / "client.properties"
    file.touch(0o600)
    file.write_text(
        f"""bootstrap.servers={cluster.address("SASL_PLAINTEXT")}
security.protocol=SASL_PLAINTEXT
sasl.mechanism=PLAIN
sasl.jaas.config={PLAIN} required username="alice" password="{PASSWORD}";
"""
    )
    return file


@pytest.mark.parametrize("way", ["context", "properties"])
def test_a_login_is_given_by_name_and_never_shown(
    spark: SparkSession, cluster: KconfProcess, tmp_path: Path, way: str
) -> None:
    if way == "context":
        options = {"context": "prod", "config": str(context_file(tmp_path, cluster))}
    else:
        options = {"properties": str(properties_file(tmp_path, cluster))}
    frame = load(spark, options)

    assert frame.where("kind = 'topic'").count() == TOPICS
    plan: str = spark._jvm.PythonSQLUtils.explainString(frame._jdf.queryExecution(), "formatted")  # type: ignore[union-attr]
    assert "kconf" in plan
    assert PASSWORD not in plan
    reader = SnapshotReader(SourceOptions.of(options), 2, None)
    from pyspark.cloudpickle import dumps

    shipped = [dumps(reader), dumps(reader.partitions())]  # type: ignore[no-untyped-call]
    assert not any(PASSWORD.encode() in each for each in shipped)


def test_many_clusters_are_read_in_one_job_and_an_unreachable_one_does_not_affect_others(
    spark: SparkSession, cluster: KconfProcess, tmp_path: Path
) -> None:
    file = tmp_path / "config.yaml"
    file.touch(0o600)
    with KconfProcess() as other:
        with SyncAdminClient(other.bootstrap) as admin:
            admin.create_topics([NewTopic("elsewhere")]).raise_for_failures()
        places = {
            "prod-a": cluster.address("PLAINTEXT"),
            "prod-b": other.bootstrap,
            "prod-c": "127.0.0.1:1",
            "test": "x:1",
        }
        file.write_text("contexts:\n" + "".join(f"  {name}: {{bootstrap: '{at}'}}\n" for name, at in places.items()))
        frame = load(spark, {"context": "prod-*", "config": str(file)})
        read = rows(frame)

    assert frame.rdd.getNumPartitions() == 3
    topics = Counter(each["cluster"] for each in read if each["kind"] == "topic")
    assert sorted(topics.values()) == [1, TOPICS]
    assert Counter(each["kind"] for each in read)["snapshot"] == 2
    (away,) = [each for each in read if "cluster" not in each]
    assert (away["kind"], away["name"]) == ("missing", "the cluster of the context prod-c")
    assert "cannot connect to 127.0.0.1:1" in away["value"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"bootstrap.servers": "127.0.0.1:1"}, "cannot connect to 127.0.0.1:1"),
        ({}, "the kconf source requires bootstrap.servers, properties or context"),
        ({"sasl.jaas.config": PASSWORD}, "has no option sasl.jaas.config"),
        ({"context": "prod", "bootstrap.servers": "127.0.0.1:1"}, "context cannot be combined"),
        ({"context": "prod", "config": "/nowhere/config.yaml"}, "no context 'prod' in /nowhere/config.yaml"),
        ({"properties": "/nowhere/client.properties"}, "cannot read /nowhere/client.properties"),
        ({"bootstrap.servers": "127.0.0.1:1", "partitions": "none"}, "partitions must be a number"),
    ],
    ids=["nobody there", "no option", "a credential", "two clusters", "no context", "no file", "no number"],
)
def test_errors_are_reported_in_one_sentence(spark: SparkSession, options: Mapping[str, str], sentence: str) -> None:
    with pytest.raises(Exception, match="PYTHON_DATA_SOURCE_ERROR") as raised:
        load(spark, options).collect()

    told = reason(raised.value)
    assert told is not None
    assert sentence in told
    assert PASSWORD not in told


def test_a_wrong_password_fails_the_job_without_showing_it(
    spark: SparkSession, cluster: KconfProcess, tmp_path: Path
) -> None:
    file = properties_file(tmp_path, cluster)
    file.write_text(file.read_text().replace(PASSWORD, "wrong-" + PASSWORD))
    with pytest.raises(Exception, match="PYTHON_DATA_SOURCE_ERROR") as raised:
        load(spark, {"properties": str(file)}).collect()

    assert PASSWORD not in str(raised.value)


def test_unreadable_parts_are_reported_as_missing(spark: SparkSession, cluster: KconfProcess, tmp_path: Path) -> None:
    with SyncAdminClient(cluster.address("SASL_PLAINTEXT"), sasl=Plain("bob", "x")) as admin:
        assert list(admin.list_topics()) == ["t00"]
    file = properties_file(tmp_path, cluster)
    file.write_text(file.read_text().replace("alice", "bob").replace(PASSWORD, "x"))
    read = rows(load(spark, {"properties": str(file)}))

    missing = {each["name"] for each in read if each["kind"] == "missing"}
    assert missing == {"topic:t00", "brokers", "broker:1", "groups", "client-metrics", "quotas", "users", "acls"}
    assert [each["name"] for each in read if each["kind"] == "topic"] == ["t00"]


def test_the_schema_is_that_of_snapshots(spark: SparkSession, cluster: KconfProcess) -> None:
    frame = load(spark, {"bootstrap.servers": cluster.address("PLAINTEXT")})

    assert [(each.name, each.dataType.simpleString()) for each in frame.schema] == [
        (name, kind) for name, kind, _ in SNAPSHOT_LINE
    ]
