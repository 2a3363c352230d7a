"""Commands that open a store in ZooKeeper directly."""

from __future__ import annotations

import pytest

from kconf.cli.main import main
from kconf.errors import StoreMismatch
from kconf.store.registry import open_store
from lab.zookeeper import ZooKeeper
from tests.cli.conftest import run_in_process


def test_scram_credentials_accepts_kafkas_connect_string(zookeeper: ZooKeeper, chroot: str) -> None:
    """KIP-248: scram-credentials --zookeeper localhost:2181, before any broker runs."""
    words = ["scram-credentials", "--zookeeper", zookeeper.address + chroot, "--username", "alice"]
    added = run_in_process(main, [*words, "--add", "SCRAM-SHA-256=[password=alice-secret]"])
    described = run_in_process(main, [*words, "--describe"])
    by_url = ["scram-credentials", "--zookeeper", zookeeper.url(chroot), "--describe"]

    assert (added.status, added.out) == (0, "Completed updating config for user alice.\n")
    assert described.out.endswith(" are SCRAM-SHA-256=iterations=4096\n")
    assert run_in_process(main, by_url).out == described.out
    assert run_in_process(main, [*words, "--delete", "SCRAM-SHA-256"]).status == 0
    assert "SCRAM-SHA-256" not in run_in_process(main, by_url).out


def test_reading_a_path_without_a_store_does_not_create_one(zookeeper: ZooKeeper, chroot: str) -> None:
    words = ["scram-credentials", "--zookeeper", zookeeper.address + chroot, "--username", "alice"]
    for action in (["--describe"], ["--delete", "SCRAM-SHA-256"]):
        refused = run_in_process(main, [*words, *action])

        assert refused.status != 0
        assert "neither a Kafka cluster nor a kconf store" in refused.err
        with pytest.raises(StoreMismatch):
            open_store(zookeeper.url(chroot), read_only=True)
