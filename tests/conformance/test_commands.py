"""The commands on real brokers: PLAINTEXT on 4.3.1 and 3.9.2, SASL_SSL on 4.3.1; the same scenarios as on kconf."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from kconf import AlterConfigOp, OpType, Resource, Source, SyncAdminClient
from lab.broker import KafkaBroker
from lab.zookeeper import ZooKeeper
from tests.cli.commands.scenarios import (
    SCENARIOS,
    People,
    groups_and_client_metrics_are_changed_too,
    rights_are_added_listed_and_deleted,
    until,
)
from tests.support.targets import one_of
from tests.unit.client.certificates import Certificates

JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required"
KNOWN_TO_39 = [each for each in SCENARIOS if each is not groups_and_client_metrics_are_changed_too]


class Secured(NamedTuple):
    """A broker with TLS, the user alice, and Kafka's authorizer."""

    bootstrap: str
    certificates: Certificates

    @property
    def properties(self) -> Mapping[str, str]:
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": f'{JAAS} username="alice" password="${{env:ALICE_PASSWORD}}";',
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.certificates.ca),
        }


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    certificates = Certificates(tmp_path_factory.mktemp("certificates"))
    properties = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates.store("broker")),
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl.plain.sasl.jaas.config": f'{JAAS} user_alice="alice-secret";',
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS;User:alice",
    }
    with KafkaBroker(properties=properties, listeners={"SASL": "SASL_SSL"}) as broker:
        yield Secured(broker.address("SASL"), certificates)


@pytest.fixture(autouse=True)
def own_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KCONF_CONFIG", str(tmp_path / "config.yaml"))
    monkeypatch.setenv("ALICE_PASSWORD", "alice-secret")
    monkeypatch.delenv("KCONF_CONTEXT", raising=False)


@pytest.fixture(scope="module")
def bare_431(kafka_431: KafkaBroker) -> KafkaBroker:
    return _as_it_came(kafka_431)


@pytest.fixture(scope="module")
def bare_392(kafka_392: KafkaBroker) -> KafkaBroker:
    return _as_it_came(kafka_392)


def _as_it_came(broker: KafkaBroker) -> KafkaBroker:
    """Reset the defaults that the scenarios expect; earlier tests may have changed them."""
    levels = {Resource.brokers(): Source.DEFAULT_BROKER, Resource.broker(broker.node_id): Source.BROKER}
    with SyncAdminClient(broker.bootstrap) as admin:

        def left() -> dict[Resource, list[AlterConfigOp]]:
            found = admin.describe_configs(levels)
            return {
                each: [
                    AlterConfigOp(OpType.DELETE, entry.name) for entry in found[each].entries if entry.source is level
                ]
                for each, level in levels.items()
            }

        admin.incremental_alter_configs(left()).raise_for_failures()
        until(lambda: any(left().values()), False)
    return broker


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: str(each.__name__))
def test_a_scenario_succeeds_on_4_3_1(
    bare_431: KafkaBroker, tmp_path: Path, scenario: Callable[[People], None]
) -> None:
    scenario(People(tmp_path, bare_431.bootstrap))


@pytest.mark.parametrize("scenario", one_of(KNOWN_TO_39[0], KNOWN_TO_39[1:]), ids=lambda each: str(each.__name__))
def test_a_scenario_succeeds_on_3_9_2(
    bare_392: KafkaBroker, tmp_path: Path, scenario: Callable[[People], None]
) -> None:
    scenario(People(tmp_path, bare_392.bootstrap))


@pytest.fixture(scope="module")
def in_zookeeper(zookeeper: ZooKeeper) -> Iterator[KafkaBroker]:
    with KafkaBroker("3.9.2", zookeeper=f"{zookeeper.address}/people") as broker:
        yield broker


@pytest.mark.full
@pytest.mark.parametrize("scenario", KNOWN_TO_39, ids=lambda each: str(each.__name__))
def test_a_scenario_succeeds_in_zookeeper_mode(
    in_zookeeper: KafkaBroker, tmp_path: Path, scenario: Callable[[People], None]
) -> None:
    scenario(People(tmp_path, in_zookeeper.bootstrap))


@pytest.mark.parametrize(
    "scenario", one_of(rights_are_added_listed_and_deleted, SCENARIOS), ids=lambda each: str(each.__name__)
)
def test_a_scenario_succeeds_over_sasl_ssl(
    secured: Secured, tmp_path: Path, scenario: Callable[[People], None]
) -> None:
    scenario(People(tmp_path, secured.bootstrap, secured.properties))


def test_context_test_shows_what_the_cluster_supports(secured: Secured, kafka_431: KafkaBroker, tmp_path: Path) -> None:
    people = People(tmp_path, secured.bootstrap, secured.properties)
    here = {each["capability"]: each["result"] for each in people.items("context test")}
    everything = {"connect", "configs", "brokers", "quotas", "scram", "acls", "validate"}
    assert here == {**dict.fromkeys(everything, "yes"), "feed": "unsupported"}

    people = People(tmp_path, kafka_431.bootstrap)
    there = {each["capability"]: each["result"] for each in people.items("context test here")}
    assert (there["acls"], there["feed"], there["validate"]) == ("unsupported", "unsupported", "yes")


def test_a_wrong_protocol_or_port_exits_with_4_and_prints_the_cause(
    secured: Secured, kafka_431: KafkaBroker, tmp_path: Path
) -> None:
    def message(bootstrap: str, properties: Mapping[str, str] | None = None) -> str:
        return str(People(tmp_path, bootstrap, properties).whole("topic list", status=4)["message"])

    tls = {**secured.properties, "security.protocol": "SSL"}
    assert "the listener uses TLS, but this client does not" in message(secured.bootstrap)
    assert "as a listener without TLS does" in message(kafka_431.bootstrap, tls)
    assert "is a KRaft controller" in message(kafka_431.address("CONTROLLER"))


def test_a_refused_login_exits_with_4(secured: Secured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALICE_PASSWORD", "wr0ng-one")
    people = People(tmp_path, secured.bootstrap, secured.properties)
    whole = people.whole("describe topic:x", status=4)
    assert whole["error"] == "SASL_AUTHENTICATION_FAILED"
    assert "wr0ng-one" not in str(whole)
