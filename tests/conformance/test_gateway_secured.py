"""kconf's own commands on a gateway with SASL_SSL in front of a cluster with an authorizer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.broker import KafkaBroker
from tests.cli.commands.stories import STORIES, People
from tests.conformance.test_commands import JAAS, Secured, own_config  # noqa: F401  (a fixture)
from tests.support.process import KconfProcess
from tests.unit.client.certificates import Certificates

pytestmark = pytest.mark.full  # test_gateway_clients.py uses one without TLS and ACLs

RIGHTS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS;User:alice",
}


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    certificates = Certificates(tmp_path_factory.mktemp("certificates"))
    own = {
        **RIGHTS,
        "allow.everyone.if.no.acl.found": "false",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates.store("broker")),
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{JAAS} user_alice="alice-secret";',
    }
    with KafkaBroker(properties=RIGHTS) as kafka:
        args = ("--upstream", kafka.bootstrap, "--controllers", kafka.address("CONTROLLER"))
        with KconfProcess(properties=own, args=args, listeners=("SASL_SSL",)) as process:
            yield Secured(process.address("SASL_SSL"), certificates)


@pytest.mark.parametrize("story", STORIES, ids=lambda each: each.__name__)
def test_the_commands_do_the_same_over_tls_and_with_rights(
    story: Callable[[People], None], secured: Secured, tmp_path: Path
) -> None:
    story(People(tmp_path, secured.bootstrap, secured.properties))
