"""kconf's own commands, and clients in five languages, on a gateway with SASL_SSL in front of a cluster with the same.

Alice is a super user; Bob may do everything with the topics of the clients, and nothing with the cluster. What they get
through the gateway is what they get from the cluster itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from kconf.client.admin_sync import SyncAdminClient
from kconf.model.acl import AclBinding, AclType, Operation, PatternType, Permission
from lab.broker import KafkaBroker
from lab.jars import CLIENTS, client_classpath
from lab.java import QUICK, java
from lab.packages import go_program, node_modules
from tests.cli.commands.scenarios import SCENARIOS, People, a_name
from tests.conformance.differential.scenarios.data_plane import await_coordinators
from tests.conformance.differential.side import Side
from tests.conformance.python_steps import PlainLogin, Step, with_aiokafka, with_kafka_python, with_librdkafka
from tests.conformance.test_clients import HERE, Steps, classes, compared, steps  # noqa: F401  (a fixture)
from tests.conformance.test_commands import JAAS, Secured, own_config  # noqa: F401  (a fixture)
from tests.conformance.test_gateway_clients import VERSIONS, advertised, is_refused
from tests.support.process import KconfProcess
from tests.support.targets import one_of
from tests.unit.client.certificates import PASSWORD, Certificates

RIGHTS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS;User:alice",
}
USERS = {"alice": "alice-secret", "bob": "bob-secret"}
TOPICS = ("java-", "rdkafka", "kafka-python", "aiokafka", "kafkajs", "franz-go", "sarama", "kafka-go")


class Both(NamedTuple):
    """A cluster and its gateway, each at its listener with TLS."""

    kafka: KafkaBroker
    gateway: Secured
    trust: Path  # the CA as PKCS12: Java clients before 2.7 do not read PEM

    @property
    def addresses(self) -> Any:
        direct = SimpleNamespace(bootstrap=self.kafka.address("SASL"))
        return SimpleNamespace(kconf=SimpleNamespace(bootstrap=self.gateway.bootstrap), kafka=direct)

    def login(self, user: str) -> PlainLogin:
        return PlainLogin(str(self.gateway.certificates.ca), user, USERS[user])

    def environment(self, user: str) -> dict[str, str]:
        login = self.login(user)
        return {"STEPS_CA": login.ca, "STEPS_USER": login.user, "STEPS_PASSWORD": login.password}

    def java_properties(self, user: str, directory: Path) -> Path:
        path = directory / "login.properties"
        path.write_text(
            "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nssl.truststore.type=PKCS12\n"
            f"ssl.truststore.location={self.trust}\nssl.truststore.password={PASSWORD}\n"
            f'sasl.jaas.config={JAAS} username="{user}" password="{USERS[user]}";\n'
        )
        return path

    def same(self, ours: Steps, theirs: Steps) -> None:
        """All steps but those that a gateway refuses."""
        if VERSIONS in theirs:
            theirs[VERSIONS] = advertised(theirs[VERSIONS])
        shown = {step: each.replace(self.kafka.address("SASL"), "SERVER") for step, each in ours.items()}
        assert {step: ordered(step, each) for step, each in shown.items() if not is_refused(step)} == {
            step: ordered(step, each) for step, each in theirs.items() if not is_refused(step)
        }


def ordered(step: str, outcome: str) -> object:
    """Kafka lists ACLs in any order."""
    return sorted(map(str, json.loads(outcome))) if step.endswith(" acls") else outcome


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    certificates = Certificates(tmp_path_factory.mktemp("certificates"))
    users = " ".join(f'user_{name}="{secret}"' for name, secret in USERS.items())
    tls = {
        **RIGHTS,
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates.store("broker")),
        "sasl.enabled.mechanisms": "PLAIN",
    }
    theirs = {**tls, "listener.name.sasl.plain.sasl.jaas.config": f"{JAAS} {users};"}
    own = {
        **tls,
        "allow.everyone.if.no.acl.found": "false",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": f"{JAAS} {users};",
    }
    with KafkaBroker(properties=theirs, listeners={"SASL": "SASL_SSL"}) as kafka:
        await_coordinators(Side("kafka", kafka.host, kafka.port))
        with SyncAdminClient(kafka.bootstrap) as direct:
            direct.create_acls([of_bob(each) for each in TOPICS]).raise_for_failures()
        args = ("--upstream", kafka.bootstrap, "--controllers", kafka.address("CONTROLLER"))
        with KconfProcess(properties=own, args=args, listeners=("SASL_SSL",)) as process:
            yield Both(kafka, Secured(process.address("SASL_SSL"), certificates), certificates.trust("PKCS12"))


def of_bob(prefix: str) -> AclBinding:
    return AclBinding(AclType.TOPIC, prefix, "User:bob", Operation.ALL, Permission.ALLOW, PatternType.PREFIXED, "*")


@pytest.mark.full
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.__name__)
def test_commands_work_through_a_gateway_over_tls_and_with_acls(
    scenario: Callable[[People], None], both: Both, tmp_path: Path
) -> None:
    scenario(People(tmp_path, both.gateway.bootstrap, both.gateway.properties))


@pytest.mark.parametrize(
    ("client", "user"),
    one_of(
        (with_kafka_python, "bob"),
        [(with_aiokafka, "bob"), *((each, "alice") for each in (with_librdkafka, with_kafka_python, with_aiokafka))],
    ),  # librdkafka 2.16 crashes if a broker denies it an election
)
def test_python_clients_get_the_same_responses(
    client: Callable[[str, PlainLogin], Iterable[Step]], user: str, both: Both
) -> None:
    login, at = both.login(user), both.addresses
    both.same(*compared(client(at.kconf.bootstrap, login), client(at.kafka.bootstrap, login)))


@pytest.mark.full
@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("version", CLIENTS)
def test_the_java_admin_gets_the_same_responses(
    version: str,
    user: str,
    both: Both,
    classes: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    path = f"{classes}:{client_classpath(version)}"
    login = f"-Dsteps.properties={both.java_properties(user, tmp_path)}"
    both.same(*steps(both.addresses, [java(), *QUICK, login, "-cp", path, "AdminSteps", a_name("java")]))


@pytest.mark.full
@pytest.mark.parametrize("user", USERS)
def test_kafkajs_gets_the_same_responses(user: str, both: Both) -> None:
    environment = {"NODE_PATH": str(node_modules("kafkajs", "2.2.4")), **both.environment(user)}
    both.same(*steps(both.addresses, ["node", str(HERE / "node" / "admin_steps.js")], environment))


@pytest.mark.full
def test_go_clients_get_the_same_responses(both: Both) -> None:
    both.same(*steps(both.addresses, [str(go_program(HERE / "go"))], both.environment("alice")))
