"""A gateway in front of a cluster like those of managed services: policies of its own, few rights, no controllers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kconf.client.admin_sync import SyncAdminClient
from kconf.client.auth.sasl import Plain
from kconf.errors import ErrorCode, KafkaError
from kconf.model.acl import CLUSTER_NAME, AclBinding, AclFilter, AclType, Operation
from kconf.model.alteration import NewTopic
from kconf.model.quota import QuotaEntity
from kconf.model.resource import Resource
from kconf.store.upstream.requests import send
from lab.broker import KafkaBroker
from tests.cli.commands.scenarios import until
from tests.conformance.test_gateway import AUTHORIZER, KEY, begin, gateway, setting
from tests.support.process import free_port

REFUSED_VALUE = 1_234_567  # by PolicyRecorder, as the names of topics with REFUSE, OTHER and RAISE
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
ORDERS = Resource.topic("orders")
RIGHTS = {"authorizer.class.name": AUTHORIZER, "allow.everyone.if.no.acl.found": "false"}


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """The service's account may describe the cluster, and create and change topics, but no quotas, users and ACLs."""
    properties = {
        **RIGHTS,
        "super.users": "User:ANONYMOUS",
        "alter.config.policy.class.name": "PolicyRecorder$Alter",
        "create.topic.policy.class.name": "PolicyRecorder$Create",
        "lab.policy.file": str(tmp_path_factory.mktemp("policies") / "asked"),
        "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl.plain.sasl.jaas.config": f'{LOGIN} user_service="service-secret";',
        "controller.listener.names": "CONTROLLER,LOGGED",
        "listener.name.logged.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.logged.plain.sasl.jaas.config": f'{LOGIN} user_service="service-secret";',
    }
    cluster = AclBinding(AclType.CLUSTER, CLUSTER_NAME, "User:service", Operation.DESCRIBE)
    rights = [
        cluster,
        cluster._replace(operation=Operation.DESCRIBE_CONFIGS),
        cluster._replace(operation=Operation.CREATE),
        AclBinding(AclType.TOPIC, "*", "User:service", Operation.ALL),
    ]
    with (
        KafkaBroker(properties=properties, listeners={"SASL": "SASL_PLAINTEXT", "LOGGED": "SASL_PLAINTEXT"}) as broker,
        SyncAdminClient(broker.bootstrap) as direct,
    ):
        direct.create_topics([NewTopic("orders", 1, 1)]).raise_for_failures()
        direct.create_acls(rights).raise_for_failures()
        yield broker


@pytest.fixture
def account(tmp_path: Path) -> Path:
    """The properties of the service's account."""
    file = tmp_path / "service.properties"
    file.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        f'sasl.jaas.config={LOGIN} username="service" password="service-secret";\n'
    )
    return file


@pytest.fixture
def front(kafka: KafkaBroker, account: Path, tmp_path: Path) -> Iterator[str]:
    """Its users may do everything at the gateway: what is refused, the cluster refuses."""
    own = {**RIGHTS, "super.users": "User:ANONYMOUS"}
    options = [each for key, value in own.items() for each in ("--override", f"{key}={value}")]
    upstream = ("--upstream", kafka.address("SASL"), "--upstream-properties", str(account))
    with gateway(kafka, tmp_path / "gw.db", *options, *upstream, polls=True) as (address, _):
        yield address


def failure(call: Callable[[SyncAdminClient], object], admin: SyncAdminClient) -> tuple[str, str]:
    with pytest.raises(KafkaError) as raised:
        call(admin)
    return type(raised.value).__name__, str(raised.value)


def test_refusals_of_the_cluster_are_returned_to_the_client_unchanged(kafka: KafkaBroker, front: str) -> None:
    quota = QuotaEntity.of({"user": "eve"})
    binding = AclBinding(AclType.TOPIC, "orders", "User:eve", Operation.ALL)
    service = Plain("service", "service-secret")
    with SyncAdminClient(front) as admin, SyncAdminClient(kafka.address("SASL"), sasl=service) as direct:

        def failures(call: Callable[[SyncAdminClient], object]) -> None:
            assert failure(call, admin) == failure(call, direct)

        def altering(dry: bool) -> Callable[[SyncAdminClient], object]:
            wanted = {ORDERS: setting(REFUSED_VALUE)}
            return lambda each: each.incremental_alter_configs(wanted, validate_only=dry)[ORDERS]

        def creating(name: str, dry: bool) -> Callable[[SyncAdminClient], object]:
            return lambda each: each.create_topics([NewTopic(name, 1, 1)], validate_only=dry)[name]

        for dry in (True, False):
            failures(altering(dry))
            for name in ("create.REFUSE", "create.OTHER", "create.RAISE"):
                failures(creating(name, dry))
        failures(lambda each: each.alter_client_quotas({quota: {"producer_byte_rate": 1.0}})[quota])
        kept = AclFilter(AclType.TOPIC, "*", "User:service")
        for call in (lambda one: one.create_acls([binding])[binding], lambda one: one.delete_acls([kept])[kept]):
            ours, theirs = failure(call, admin), failure(call, direct)
            assert ours[0] == theirs[0]
            assert "Request(" in ours[1]  # Kafka's message contains the request itself
        brokers = Resource.brokers()
        failures(lambda each: each.incremental_alter_configs({brokers: setting(1, "log.cleaner.threads")})[brokers])
        assert sorted(direct.list_topics()) == ["orders"]
        assert not admin.list_changes(begin(admin)).revisions
        recorded = {ErrorCode(each.code).name for each in admin.list_attempts(0) if not each.dry_run}
        assert {"POLICY_VIOLATION", "CLUSTER_AUTHORIZATION_FAILED"} <= recorded
        admin.incremental_alter_configs({ORDERS: setting(5)}).raise_for_failures()
        assert direct.describe_configs([ORDERS])[ORDERS][KEY].value == "5"


def failed_start(kafka: KafkaBroker, tmp_path: Path, *controllers: str) -> str:
    """The error of a gateway that does not start."""
    where = ["--upstream", kafka.bootstrap, *controllers, "--listen", "127.0.0.1:0"]
    own = {**RIGHTS, "super.users": "User:ANONYMOUS"}
    options = [each for key, value in own.items() for each in ("--override", f"{key}={value}")]
    command = [sys.executable, "-m", "kconf", "serve", *where, *options, "--store", f"sqlite:///{tmp_path / 'gw.db'}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()[-1]


def test_unreachable_controllers_prevent_the_start(kafka: KafkaBroker, tmp_path: Path) -> None:
    assert "cannot connect to 127.0.0.1" in failed_start(kafka, tmp_path, "--controllers", f"127.0.0.1:{free_port()}")


def test_controllers_that_deny_access_to_the_log_prevent_the_start(
    kafka: KafkaBroker, account: Path, tmp_path: Path
) -> None:
    controllers = ("--controllers", kafka.address("LOGGED"), "--controller-properties", str(account))
    error = failed_start(kafka, tmp_path, *controllers)
    assert error.startswith("kconf: following the metadata log requires CLUSTER_ACTION on the cluster")


def test_an_exception_in_a_policy_does_not_fail_the_topics_of_other_clients(tmp_path: Path) -> None:
    """In Kafka 3.9, it fails all topics of a request, and nothing is created."""
    properties = {"create.topic.policy.class.name": "PolicyRecorder$Create", "lab.policy.file": str(tmp_path / "asked")}
    names = ["one", "create.RAISE", "two"]
    with KafkaBroker("3.9.2", properties=properties) as broker, SyncAdminClient(broker.bootstrap) as direct:
        together = direct.create_topics([NewTopic(each, 1, 1) for each in names]).failures
        assert {name: each.code for name, each in together.items()} == dict.fromkeys(
            names, ErrorCode.UNKNOWN_SERVER_ERROR
        )
        sent = send(direct._send, [[NewTopic(each, 1, 1)] for each in names])
        assert sent.unknown == sent.refused.keys() == {Resource.topic("create.RAISE")}
        until(lambda: sorted(direct.list_topics()), ["one", "two"])
