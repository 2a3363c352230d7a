"""A gateway in front of a real cluster whose authorizer is not Kafka's own: the gateway has ACLs of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from kconf.client.admin_sync import SyncAdminClient
from kconf.client.auth.sasl import Plain
from kconf.errors import KafkaError, NotAuthorized, TopicNotAuthorized
from kconf.model.acl import CLUSTER_NAME, AclBinding, AclType, Operation
from kconf.model.alteration import NewTopic
from kconf.model.resource import Resource
from lab.broker import KafkaBroker
from tests.cli.commands.scenarios import until
from tests.conformance.test_gateway import AUTHORIZER, KEY, gateway, setting

ORDERS, PAYMENTS = Resource.topic("orders"), Resource.topic("payments")
ALICE = Plain("alice", "alice-secret")
ACLS = "acls:\n  - {principal: User:alice, resource: topic:orders, operations: [ALTER_CONFIGS, DESCRIBE]}\n"
LOGIN = {
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
        'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="alice-secret";'
    ),
}


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaBroker]:
    properties = {"authorizer.class.name": "ListedAuthorizer", "lab.authorizer.allowed": "User:ANONYMOUS"}
    with KafkaBroker(properties=properties) as broker, SyncAdminClient(broker.bootstrap) as direct:
        direct.create_topics([NewTopic(each.name, 1, 1) for each in (ORDERS, PAYMENTS)]).raise_for_failures()
        yield broker


def overrides(settings: Mapping[str, str]) -> list[str]:
    return [each for key, value in settings.items() for each in ("--override", f"{key}={value}")]


def test_a_gateway_without_acls_of_its_own_does_not_start(kafka: KafkaBroker, tmp_path: Path) -> None:
    said = {"authorizer.class.name": AUTHORIZER, "super.users": "User:root", "allow.everyone.if.no.acl.found": "false"}
    command = [sys.executable, "-m", "kconf", "serve", "--upstream", kafka.bootstrap, "--listen", "127.0.0.1:0"]
    place = ["--controllers", kafka.address("CONTROLLER"), "--store", f"sqlite:///{tmp_path / 'no.db'}"]
    done = subprocess.run(
        [*command, *place, *overrides(said)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 1
    assert "do not support the cluster's authorizer ListedAuthorizer" in done.stderr
    assert "gateway.acl.file" in done.stderr


@pytest.mark.parametrize("polls", [False, True], ids=["log", "polls"])
def test_the_gateways_own_acls_decide_and_are_reloaded(kafka: KafkaBroker, tmp_path: Path, polls: bool) -> None:
    file = tmp_path / "acls.yaml"
    file.write_text(ACLS)
    options = overrides({**LOGIN, "gateway.acl.file": str(file), "super.users": "User:ANONYMOUS"})
    listen = ("--listen", "SASL_PLAINTEXT://127.0.0.1:0")
    with (
        gateway(kafka, tmp_path / "gw.db", *listen, *options, listen=False, polls=polls) as (address, _),
        SyncAdminClient(address, sasl=ALICE) as admin,
        SyncAdminClient(kafka.bootstrap) as direct,
    ):
        admin.incremental_alter_configs({ORDERS: setting(1)}).raise_for_failures()
        with pytest.raises(TopicNotAuthorized):
            admin.incremental_alter_configs({PAYMENTS: setting(1)})[PAYMENTS]
        assert list(admin.list_topics()) == ["orders"]
        with pytest.raises(NotAuthorized):
            admin.describe_client_quotas()
        with pytest.raises(KafkaError):  # not an empty list: nobody knows what the authorizer allows
            admin.describe_acls()
        file.write_text(ACLS.replace("topic:orders", "topic:payments"))
        until(lambda: admin.incremental_alter_configs({PAYMENTS: setting(2)}).failures, {})
        with pytest.raises(TopicNotAuthorized):
            admin.incremental_alter_configs({ORDERS: setting(2)})[ORDERS]
        found = direct.describe_configs([ORDERS, PAYMENTS])
        assert [found[each][KEY].value for each in (ORDERS, PAYMENTS)] == ["1", "2"]


@pytest.mark.faults
@pytest.mark.parametrize("polls", [False, True], ids=["log", "polls"])
def test_a_gateway_stops_if_the_cluster_gets_an_authorizer(tmp_path: Path, polls: bool) -> None:
    """Without the settings of the authorizer, every client would have the gateway's rights."""
    with KafkaBroker() as broker, gateway(broker, tmp_path / "gw.db", polls=polls) as (_, process):
        broker.stop()
        with broker.properties_path.open("a") as file:
            file.write(f"authorizer.class.name={AUTHORIZER}\nsuper.users=User:ANONYMOUS\n")
        broker.start()
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 1
        assert "the authorizer or the principals of the cluster have changed; the gateway stops" in errors
        assert "super.users, allow.everyone.if.no.acl.found" in errors
        assert "Traceback" not in errors


def test_acls_of_the_cluster_are_not_changed_through_the_gateway(kafka: KafkaBroker, tmp_path: Path) -> None:
    """Its authorizer does not use the ACLs in the metadata log."""
    file = tmp_path / "acls.yaml"
    file.write_text("acls: []\n")
    options = overrides({"gateway.acl.file": str(file), "super.users": "User:ANONYMOUS"})
    binding = AclBinding(AclType.CLUSTER, CLUSTER_NAME, "User:eve", Operation.ALL)
    with gateway(kafka, tmp_path / "gw.db", *options) as (address, _), SyncAdminClient(address) as admin:
        for call in (admin.describe_acls, lambda: admin.create_acls([binding])[binding]):
            with pytest.raises(KafkaError, match="ListedAuthorizer"):
                call()
