"""No secret is readable in a znode: neither in Kafka's part of the tree, nor in kconf's, nor in the journal."""

from __future__ import annotations

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError

from kconf import AlterConfigOp, Mechanism, OpType, Resource, SyncAdminClient, scram_upsertion
from lab.zookeeper import ZooKeeper
from tests.support.process import KconfProcess
from tests.support.znodes import readable_znodes

SECRETS = ("hunter2-keystore", "hunter2-unknown", "hunter2-alice", "the-encoders-own")
KEYSTORE = "listener.name.internal.ssl.keystore.password"


@pytest.mark.parametrize("properties", [{}, {"password.encoder.secret": "the-encoders-own"}])
def test_a_secret_is_decrypted_after_a_restart_and_is_in_no_znode(
    zookeeper: ZooKeeper, chroot: str, properties: dict[str, str]
) -> None:
    requests = [
        AlterConfigOp(OpType.SET, KEYSTORE, SECRETS[0]),
        AlterConfigOp(OpType.SET, "some.plugins.own", SECRETS[1]),
    ]
    with KconfProcess(store=zookeeper.url(chroot), properties=properties) as process:
        with SyncAdminClient(process.bootstrap) as admin:
            admin.incremental_alter_configs({Resource.broker(1): requests}).raise_for_failures()
            password = scram_upsertion("alice", Mechanism.SCRAM_SHA_256, SECRETS[2])
            admin.alter_user_scram_credentials([password]).raise_for_failures()
            told = repr(admin.list_changes(0)) + repr(admin.describe_configs([Resource.broker(1)]))
        found = dict(readable_znodes(zookeeper, chroot))
        process.restart()
        said = process.log()

    assert f"{chroot}/config/brokers/1" in found
    for secret in SECRETS:
        assert [path for path, data in found.items() if secret.encode() in data] == []
        assert secret not in told
        assert secret not in said
    assert "cannot be" not in said  # unlocked, it would go on, after the restart


def test_with_an_encoder_secret_only_kconf_can_read_the_seal_key(zookeeper: ZooKeeper, chroot: str) -> None:
    with KconfProcess(store=zookeeper.url(chroot), properties={"password.encoder.secret": "the-encoders-own"}):
        client = KazooClient(hosts=zookeeper.address)
        client.start(timeout=120)
        with pytest.raises(NoAuthError):
            client.get(f"{chroot}/kconf/seal")
        client.stop()
        client.close()
