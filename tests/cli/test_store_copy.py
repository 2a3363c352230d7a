"""`kconf store copy` copies a whole cluster atomically into a store with the next epoch."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from kconf import (
    AclBinding,
    AclType,
    AlterConfigOp,
    Mechanism,
    NewTopic,
    Operation,
    OpType,
    PatternType,
    QuotaEntity,
    Resource,
    Scram,
    SyncAdminClient,
    scram_upsertion,
)
from kconf.cli.main import main
from kconf.model.snapshot import Snapshot
from kconf.security.value_cipher import Secrets
from kconf.store.registry import open_store
from lab.zookeeper import ZooKeeper
from tests.cli.conftest import Ran, run_in_process
from tests.support.process import KconfProcess

ORDERS = Resource.topic("orders")
SECRET = "the encoder's own"
KEYSTORE = "listener.name.internal.ssl.keystore.password"
PROPERTIES = {
    "password.encoder.secret": SECRET,
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS;User:alice",
    "sasl.enabled.mechanisms": "SCRAM-SHA-256",
}

TARGETS = {"sqlite": "file", "zookeeper": "zookeeper_url"}
"""The fixture with the URL of an empty store, by kind of store."""


@pytest.fixture
def left(tmp_path: Path) -> Iterator[KconfProcess]:
    """The store of a stopped server, with one resource of each type."""
    with KconfProcess(properties=PROPERTIES) as process:
        with SyncAdminClient(process.bootstrap) as admin:
            _fill(admin)
        process.stop()
        yield process


@pytest.fixture
def file(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'copy.db'}"


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    url: str = request.getfixturevalue(TARGETS[request.param])
    return url


def test_everything_is_copied_to_the_next_epoch(left: KconfProcess, target: str) -> None:
    done = copy(left.store, target, left)

    assert done.err == ""
    (before, cluster, epoch), (after, *now) = state(left.store), state(target)
    assert done.out.startswith(f"{target}: 3 topics, ")
    assert (after.topics, dict(after.configs)) == (before.topics, dict(before.configs))
    assert now == [cluster, epoch + 1]
    assert after.overrides(Resource.broker(1))[KEYSTORE] == "hunter2"


def test_a_server_continues_on_the_copy(left: KconfProcess, target: str) -> None:
    copy(left.store, target, left)

    with (
        KconfProcess(store=target, properties=PROPERTIES, listeners=["SASL_PLAINTEXT"]) as process,
        SyncAdminClient(process.address("SASL_PLAINTEXT"), sasl=Scram("alice", "opensesame", "SCRAM-SHA-256")) as alice,
    ):
        retention = alice.describe_configs([ORDERS])[ORDERS]["retention.ms"]
        acls = alice.describe_acls()
        alice.incremental_alter_configs({ORDERS: [AlterConfigOp(OpType.DELETE, "retention.ms")]}).raise_for_failures()
        told = alice.list_changes(0).revisions

    assert retention.value == "86400000"
    assert [each.name for each in acls] == ["pay"]
    assert told[0].caller.reason == f"copied from {left.store}"
    assert [change.key for change in told[-1].changes] == ["retention.ms"]
    assert "hunter2" not in repr(told)


def test_an_encrypted_value_is_removed_offline_only_with_the_secret(left: KconfProcess, target: str) -> None:
    copy(left.store, target, left)
    words = ["store", "unset", "broker:1", KEYSTORE, "--store", target]

    assert main(words) != 0, "nobody knows what it is without the secret"
    assert KEYSTORE in state(target)[0].overrides(Resource.broker(1))
    assert main([*words, "--config", str(left.directory / "server.properties")]) == 0
    assert KEYSTORE not in state(target)[0].overrides(Resource.broker(1))


def test_a_copy_of_a_copy_has_the_next_but_one_epoch(left: KconfProcess, target: str, tmp_path: Path) -> None:
    last = f"sqlite:///{tmp_path / 'last.db'}"
    copy(left.store, target, left)
    copy(target, last, left)

    (before, cluster, epoch), (after, *now) = state(left.store), state(last)
    assert (after.topics, dict(after.configs)) == (before.topics, dict(before.configs))
    assert now == [cluster, epoch + 2]


def test_an_existing_target_is_refused(left: KconfProcess, target: str) -> None:
    copy(left.store, target, left)
    again = copy(left.store, target, left)

    assert again.status == 1
    assert again.err.endswith("; the target of a copy must be empty\n")
    assert again.err.count("\n") == 1


def test_a_value_that_cannot_be_decrypted_stops_the_copy(left: KconfProcess, file: str, tmp_path: Path) -> None:
    done = run_in_process(main, ["store", "copy", left.store, file])

    assert done.status == 1
    assert f"{KEYSTORE} of broker:1" in done.err
    assert "pass the password.encoder.secret" in done.err
    assert list(tmp_path.glob("*copy.db*")) == []


def test_a_store_in_use_is_refused(target: str) -> None:
    with KconfProcess() as process:
        done = copy(process.store, target, process)

    assert done.status == 1
    assert "is in use by process" in done.err


def test_a_full_disk_during_a_copy_leaves_no_files(left: KconfProcess, file: str, tmp_path: Path) -> None:
    left.start()
    with SyncAdminClient(left.bootstrap) as admin:
        admin.create_topics([NewTopic(f"t-{number}", 1, 1) for number in range(2000)]).raise_for_failures()
    left.stop()
    command = f"ulimit -f 300; exec {sys.executable} -m kconf store copy {left.store} {file} --config {config(left)}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=60)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("kconf: ")
    assert done.stderr.count("\n") == 1
    assert [each.name for each in tmp_path.iterdir()] == []


def test_an_interrupted_copy_is_not_a_store_and_the_next_one_replaces_it(
    left: KconfProcess, zookeeper: ZooKeeper, chroot: str
) -> None:
    target = zookeeper.url(chroot)
    client = KazooClient(hosts=zookeeper.address)
    client.start(timeout=120)
    client.create(
        f"{chroot}/kconf/copying", b"", makepath=True
    )  # the first thing that a copy creates, and the last that it would remove
    client.create(f"{chroot}/config/topics/half", b"{}", makepath=True)
    with pytest.raises(RuntimeError, match="is an incomplete copy"):
        KconfProcess(store=target).start()
    done = copy(left.store, target, left)
    there = client.exists(f"{chroot}/config/topics/half"), client.exists(f"{chroot}/kconf/copying")
    client.stop()
    client.close()

    assert done.status == 0, done.err
    assert there == (None, None)
    assert state(target)[0].topics == state(left.store)[0].topics


def test_a_store_copied_to_zookeeper_and_back_is_the_same(left: KconfProcess, zookeeper_url: str, file: str) -> None:
    copy(left.store, zookeeper_url, left)
    done = copy(zookeeper_url, file, left)

    assert done.status == 0, done.err
    (before, cluster, epoch), (after, *now) = state(left.store), state(file)
    assert (after.topics, dict(after.configs)) == (before.topics, dict(before.configs))
    assert now == [cluster, epoch + 2]


def test_progress_is_shown_on_a_terminal(left: KconfProcess, file: str) -> None:
    terminal, other = pty.openpty()
    command = [sys.executable, "-m", "kconf", "store", "copy", left.store, file, "--config", config(left)]
    done = subprocess.run(command, stderr=other, stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    os.close(other)
    told = os.read(terminal, 10_000).decode()
    os.close(terminal)

    snapshot = state(file)[0]
    count = len({*snapshot.configs, *(Resource.topic(name) for name in snapshot.topics)})
    assert told == f"\r{count} of {count} resources\r\n"
    assert f"{count} resources in all" in done.stdout


@pytest.mark.parametrize("url", ["memory:", "nowhere://here", "sqlite:///", "zookeeper://"])
def test_a_file_that_is_not_a_store_is_reported(left: KconfProcess, url: str) -> None:
    done = copy(left.store, url, left)

    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("kconf: ")
    assert done.err.count("\n") == 1


def copy(source: str, target: str, process: KconfProcess) -> Ran:
    return run_in_process(main, ["store", "copy", source, target, "--config", config(process)])


def config(process: KconfProcess) -> str:
    return str(process.directory / "server.properties")


def state(url: str) -> tuple[Snapshot, str, int]:
    with closing(open_store(url, Secrets(SECRET))) as store:
        return store.load(), store.cluster_id, store.epoch


def _fill(admin: SyncAdminClient) -> None:
    admin.create_topics(
        [NewTopic("orders", 6, 1, configs=[("retention.ms", "86400000")]), NewTopic("pay", 1, 1), NewTopic("a.b")]
    ).raise_for_failures()
    admin.create_partitions({"pay": 4}).raise_for_failures()
    admin.incremental_alter_configs(
        {
            Resource.brokers(): [AlterConfigOp(OpType.SET, "log.retention.ms", "1000000")],
            Resource.broker(1): [AlterConfigOp(OpType.SET, KEYSTORE, "hunter2")],
            Resource.group("readers"): [AlterConfigOp(OpType.SET, "consumer.session.timeout.ms", "50000")],
            Resource.client_metrics("all"): [AlterConfigOp(OpType.SET, "interval.ms", "30000")],
        }
    ).raise_for_failures()
    quotas = {
        QuotaEntity.of({"user": "alice"}): {"producer_byte_rate": 1024.0},
        QuotaEntity.of({"client-id": None}): {"request_percentage": 12.5},
    }
    admin.alter_client_quotas(quotas).raise_for_failures()
    password = scram_upsertion("alice", Mechanism.SCRAM_SHA_256, "opensesame")
    admin.alter_user_scram_credentials([password]).raise_for_failures()
    admin.create_acls(
        [AclBinding(AclType.TOPIC, "pay", "User:bob", Operation.READ, pattern=PatternType.PREFIXED)]
    ).raise_for_failures()
