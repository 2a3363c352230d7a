"""`kconf quota` on real brokers: PLAINTEXT on 4.3.1 and 3.9.2, and SASL_SSL; the same scenarios as on kconf."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.broker import KafkaBroker
from tests.cli.quota_scenarios import SCENARIOS, Quotas, many, until
from tests.support.targets import one_of
from tests.unit.client.certificates import Certificates

JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Quotas]:
    """The command on a broker with TLS and the user alice."""
    directory = tmp_path_factory.mktemp("certificates")
    certificates = Certificates(directory)
    properties = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates.store("broker")),
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl.plain.sasl.jaas.config": f'{JAAS} user_alice="alice-secret";',
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS;User:alice",
    }
    client = directory / "client.properties"
    client.write_text(
        "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"
        f'sasl.jaas.config={JAAS} username="alice" password="alice-secret";\n'
        f"ssl.truststore.type=PEM\nssl.truststore.location={certificates.ca}\n"
    )
    with KafkaBroker(properties=properties, listeners={"SASL": "SASL_SSL"}) as broker:
        yield Quotas("-b", broker.address("SASL"), "--command-config", str(client))


@pytest.fixture(params=one_of("kafka_431", ["kafka_392", "secured"]))
def quotas(request: pytest.FixtureRequest) -> Quotas:
    if request.param == "secured":
        found: Quotas = request.getfixturevalue("secured")
        return found
    broker: KafkaBroker = request.getfixturevalue(request.param)
    return Quotas("-b", broker.bootstrap)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: str(each.__name__))
def test_a_scenario_succeeds(quotas: Quotas, scenario: Callable[[Quotas], None]) -> None:
    scenario(quotas)


def test_ten_thousand_quotas_are_loaded_exported_and_removed(kafka_431: KafkaBroker, tmp_path: Path) -> None:
    many(Quotas("-b", kafka_431.bootstrap), tmp_path, 10_000)


def test_what_if_checks_the_entities_with_quotas(quotas: Quotas) -> None:
    """A real broker does not list connected clients."""
    key = "controller_mutation_rate"
    assert quotas(f"set --user what-if {key}=5").status == 0
    until(lambda: quotas.rungs(f"--user what-if {key}"), [("5", "user", "applies")])

    (shift,) = quotas.items(f"what-if --user what-if {key}=none")

    assert (shift["user"], shift["client_id"], shift["old"], shift["new"]) == ("what-if", "", "5", None)
    assert quotas(f"unset --user what-if {key}").status == 0
    until(lambda: quotas.rungs(f"--user what-if {key}"), [(None, None, "no limit")])


def test_stored_values_that_are_not_quotas_are_not_exported(kafka_431: KafkaBroker, tmp_path: Path) -> None:
    """A real broker stores Infinity; the export still loads."""
    from kconf import QuotaEntity, SyncAdminClient

    quotas, path = Quotas("-b", kafka_431.bootstrap), tmp_path / "quotas.yaml"
    entity = QuotaEntity.of({"user": "endless"})
    with SyncAdminClient(kafka_431.bootstrap) as admin:
        admin.alter_client_quotas({entity: {"request_percentage": float("inf")}}).raise_for_failures()
        until(lambda: entity in admin.describe_client_quotas(), True)

        done = quotas(f"export --out {path}")
        admin.alter_client_quotas({entity: {"request_percentage": None}}).raise_for_failures()

    assert done.status == 0
    assert "skipped request_percentage of user 'endless' is inf" in done.err
    assert "endless" not in path.read_text()
