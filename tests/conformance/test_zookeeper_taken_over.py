"""The whole configuration of a real Kafka 3.9.2 in ZooKeeper, read with --read-only and copied to a store.

Kafka's own tools and the Java client created everything. Neither reading nor copying writes a znode.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from kconf import AlterConfigOp, OpType, QuotaEntity, Resource, ResourceType, SyncAdminClient
from kconf.cli.main import main
from kconf.errors import ErrorCode
from kconf.security.value_cipher import Secrets
from kconf.store.registry import open_store
from lab.admin import AdminProbe
from lab.broker import KafkaBroker
from lab.pytest_plugin import MakeProbe
from lab.tools import ToolServer
from lab.zookeeper import ZooKeeper
from tests.cli.conftest import run_in_process
from tests.support.process import KconfProcess

CHROOT = "/taken-over"
SECRET = "the brokers' own"
KEYSTORE = "listener.name.plaintext.ssl.keystore.password"
PROPERTIES = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "super.users": "User:ANONYMOUS",
    "password.encoder.secret": SECRET,
}
ORDERS = Resource.topic("orders")


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Kafka with resources of every type. `nodes` returns the znodes with their last change."""

    store: str
    probe: AdminProbe
    client: KazooClient

    def nodes(self, path: str = "/") -> dict[str, int]:
        found = {path: int(self.client.exists(path).mzxid)}
        for name in self.client.get_children(path):
            found |= self.nodes(f"{path.rstrip('/')}/{name}")
        return found


@pytest.fixture(scope="module")
def cluster(zookeeper: ZooKeeper, tools_392: ToolServer, make_probe: MakeProbe) -> Iterator[Cluster]:
    connect = zookeeper.address + CHROOT
    with KafkaBroker("3.9.2", zookeeper=connect, properties=PROPERTIES) as broker:
        probe = make_probe(broker.bootstrap, "3.9.2")
        _fill(probe, tools_392, broker.bootstrap)
        client = KazooClient(hosts=connect)
        client.start(timeout=30)
        yield Cluster(zookeeper.url(CHROOT), probe, client)
        client.stop()
        client.close()


@pytest.fixture(scope="module")
def admin(cluster: Cluster) -> Iterator[SyncAdminClient]:
    options = {"store": cluster.store, "properties": PROPERTIES, "node_id": 1001}
    with (
        KconfProcess(args=["--read-only"], **options) as process,  # type: ignore[arg-type]
        SyncAdminClient(process.bootstrap) as client,
    ):
        yield client


def test_a_read_only_server_shows_everything_and_writes_no_znode(cluster: Cluster) -> None:
    before = cluster.nodes()
    process = KconfProcess(store=cluster.store, node_id=1001, properties=PROPERTIES, args=["--read-only"])
    with process, SyncAdminClient(process.bootstrap) as admin:
        topic = cluster.probe.call("describeTopics", {"topics": ["orders"]})["orders"]
        listed = admin.list_topics()["orders"]
        entries = admin.describe_configs([ORDERS, Resource.brokers()])
        quotas = admin.describe_client_quotas()
        credentials = admin.describe_user_scram_credentials()
        acls = admin.describe_acls()
        refused = admin.incremental_alter_configs({ORDERS: [AlterConfigOp(OpType.SET, "retention.ms", "1")]})

    assert cluster.nodes() == before
    assert (listed.partitions, len(topic["partitions"])) == (3, 3)
    assert entries[ORDERS]["retention.ms"].value == "3600000"
    assert entries[Resource.brokers()]["log.cleaner.threads"].value == "2"
    assert quotas[QuotaEntity.of({"user": "alice", "client-id": None})] == {"producer_byte_rate": 4096.0}
    assert [(each.mechanism.name, each.iterations) for each in credentials["bob"]] == [("SCRAM_SHA_256", 8192)]
    assert [(each.principal, each.name) for each in acls] == [("User:bob", "orders")]
    assert refused.failures[ORDERS].code == ErrorCode.POLICY_VIOLATION


def test_changes_of_the_cluster_are_followed(cluster: Cluster, admin: SyncAdminClient) -> None:
    with admin.watch_changes(about=[ORDERS]) as watch:
        requested = {"type": "TOPIC", "name": "orders", "ops": [{"op": "SET", "name": "flush.ms", "value": "777"}]}
        cluster.probe.call("incrementalAlterConfigs", {"resources": [requested]})
        revision = next(watch)

    assert revision.origin == "outside"
    assert [(change.key, change.after) for change in revision.changes] == [("flush.ms", "777")]
    assert admin.describe_configs([ORDERS])[ORDERS]["flush.ms"].value == "777"


def test_the_whole_configuration_is_copied_to_a_store(cluster: Cluster, tmp_path: Path) -> None:
    target = f"sqlite:///{tmp_path / 'out.db'}"
    config = tmp_path / "server.properties"
    config.write_text("".join(f"{key}={value}\n" for key, value in PROPERTIES.items()))
    before = cluster.nodes()
    done = run_in_process(main, ["store", "copy", cluster.store, target, "--config", str(config)])

    assert (done.status, done.err) == (0, "")
    assert cluster.nodes() == before
    with closing(open_store(target, Secrets(SECRET))) as store:
        snapshot = store.load()
        assert store.epoch == 1
        assert store.cluster_id == cluster.probe.call("describeCluster")["clusterId"]
    assert snapshot.topics["orders"].partitions == 3
    assert snapshot.overrides(ORDERS)["retention.ms"] == "3600000"
    assert snapshot.overrides(Resource.broker(1))[KEYSTORE] == "hunter2"
    kinds = {each.type for each in snapshot.configs}
    assert {ResourceType.QUOTA, ResourceType.SCRAM, ResourceType.ACL, ResourceType.BROKER} <= kinds


def _fill(probe: AdminProbe, tools: ToolServer, address: str) -> None:
    configs = {"retention.ms": "3600000"}
    topic = {"name": "orders", "partitions": 3, "replicationFactor": 1, "configs": configs}
    assert "error" not in probe.call("createTopics", {"topics": [topic]})["orders"]
    rule = {"resourceType": "TOPIC", "resourceName": "orders", "principal": "User:bob", "operation": "READ"}
    probe.call("createAcls", {"acls": [rule]})
    for line in (
        "--broker-defaults --add-config log.cleaner.threads=2",
        f"--broker 1 --add-config {KEYSTORE}=hunter2",
        "--user alice --client-defaults --add-config producer_byte_rate=4096",
        "--user bob --add-config SCRAM-SHA-256=[iterations=8192,password=bob]",
    ):
        done = tools.kafka_configs(address, "--alter", *line.split())
        assert done.returncode == 0, done.stderr
