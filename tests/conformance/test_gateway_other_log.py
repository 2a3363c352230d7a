"""A gateway whose cluster is formatted again with the same ID, as after a restore from a backup."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from kconf.client.admin_sync import SyncAdminClient
from kconf.errors import ErrorCode
from kconf.model.alteration import NewTopic
from kconf.model.resource import Resource
from lab.broker import KafkaBroker
from tests.cli.commands.scenarios import until
from tests.conformance.test_gateway import KEY, begin, gateway, setting
from tests.support.process import free_port

ORDERS = Resource.topic("orders")

# Unmarked: tests/unit/store/upstream/following/test_followed_store.py
pytestmark = pytest.mark.faults


@pytest.mark.parametrize(
    ("restarts", "reason"),
    [
        (0, "but the log of the cluster differs from offset"),
        (2, "the controllers are in leader epoch"),
    ],
    ids=["same epoch", "older epoch"],
)
def test_a_cluster_with_another_log_is_reported_and_gets_no_changes(restarts: int, reason: str, tmp_path: Path) -> None:
    """Reads still return the state of the former cluster, and a restart of the gateway fails for the same reason."""
    store, port = tmp_path / "gw.db", free_port()
    with KafkaBroker() as kafka:
        with SyncAdminClient(kafka.bootstrap) as direct:
            direct.create_topics([NewTopic("orders", 1, 1)]).raise_for_failures()
        for _ in range(restarts):
            kafka.kill()
            kafka.start()
        options = ("--metrics", f"127.0.0.1:{port}")
        with gateway(kafka, store, *options) as (address, _), SyncAdminClient(address) as admin:

            def problem() -> str:
                try:
                    with urlopen(f"http://127.0.0.1:{port}/health", timeout=30) as answer:
                        return str(json.load(answer).get("stale"))
                except HTTPError as answer:  # 503: the gateway cannot continue
                    return str(json.load(answer).get("problem"))

            admin.incremental_alter_configs({ORDERS: setting(1000)}).raise_for_failures()
            kafka.kill()
            shutil.rmtree(kafka.directory / "data")
            kafka._format()
            kafka.start()
            until(lambda: reason in problem(), True)
            assert "restored from a backup, or formatted again with the same cluster ID" in problem()
            refused = admin.incremental_alter_configs({ORDERS: setting(2000)}).failures[ORDERS]
            assert refused.code is ErrorCode.REQUEST_TIMED_OUT
            assert admin.describe_configs([ORDERS])[ORDERS][KEY].value == "1000"
            journal = admin.list_changes(begin(admin), about=[ORDERS]).revisions
            assert [change.after for each in journal for change in each.changes] == ["1000"]
        again = [sys.executable, "-m", "kconf", "serve", "--store", f"sqlite:///{store}", "--listen", "127.0.0.1:0"]
        again += ["--upstream", kafka.bootstrap, "--controllers", kafka.address("CONTROLLER")]
        done = subprocess.run(again, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode != 0
        assert "restored from a backup" in done.stderr
        with SyncAdminClient(kafka.bootstrap) as direct:
            assert direct.list_topics() == {}
