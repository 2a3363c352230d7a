"""Controllers with an authorizer and brokers without one: a rolling change that starts with the controllers.

The brokers forward changes to a controller, which would authorize the gateway's account for every client.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kconf.client.admin_sync import SyncAdminClient
from kconf.errors import KafkaError
from kconf.model.alteration import NewTopic
from kconf.model.resource import Resource
from lab.cluster import SeparateNodes
from tests.conformance.test_gateway import AUTHORIZER, KEY, gateway, setting
from tests.conformance.test_gateway_cluster_away import altered

ORDERS = Resource.topic("orders")
OF_CONTROLLER = {"authorizer.class.name": AUTHORIZER, "super.users": "User:ANONYMOUS"}

# Unmarked: tests/unit/server/upstream/test_authorizer_check.py, tests/unit/store/upstream/test_brokers.py
pytestmark = pytest.mark.faults


def is_altered(admin: SyncAdminClient, value: str) -> bool:
    try:
        return altered(admin, value) is None
    except KafkaError:  # the gateway has stopped
        return False


@pytest.mark.parametrize("version", ["4.3.1", "3.9.2"])
def test_a_gateway_without_settings_does_not_start(tmp_path: Path, version: str) -> None:
    with SeparateNodes(version, of_controller=OF_CONTROLLER) as kafka:
        for controllers in ([], ["--controllers", kafka.controllers]):
            place = ["--listen", "127.0.0.1:0", "--store", f"sqlite:///{tmp_path / f'{len(controllers)}.db'}"]
            done = subprocess.run(
                [sys.executable, "-m", "kconf", "serve", "--upstream", kafka.bootstrap, *controllers, *place],
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
            )
            assert done.returncode == 1
            assert "the cluster has an authorizer" in done.stderr


@pytest.mark.parametrize("polls", [False, True], ids=["log", "polls"])
def test_a_gateway_stops_if_the_controller_gets_an_authorizer(tmp_path: Path, polls: bool) -> None:
    with SeparateNodes() as kafka, SyncAdminClient(kafka.bootstrap) as direct:
        direct.create_topics([NewTopic(ORDERS.name, 1, 1)]).raise_for_failures()
        with (
            gateway(kafka, tmp_path / "gw.db", polls=polls) as (address, process),
            SyncAdminClient(address, timeout=5.0, connect_attempts=1) as admin,
        ):
            admin.incremental_alter_configs({ORDERS: setting("1000")}).raise_for_failures()
            kafka.controller.stop()
            with kafka.controller.properties_path.open("a") as file:
                file.writelines(f"{key}={value}\n" for key, value in OF_CONTROLLER.items())
            kafka.controller.start()
            passed = [] if polls else [is_altered(admin, "2000") for _ in range(20)]
            _, errors = process.communicate(timeout=120)
            assert not any(passed)
            assert process.returncode == 1
            assert "the authorizer or the principals of the cluster have changed; the gateway stops" in errors
            assert "Traceback" not in errors
        if not polls:
            assert direct.describe_configs([ORDERS])[ORDERS][KEY].value == "1000"
