"""A kconf process with every kind of listener, an authorizer, and users for each mechanism."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kconf import Mechanism, SyncAdminClient, scram_upsertion
from tests.security.sasl_server import ALICE, BOB, PLAIN_MODULE, PROTOCOLS, ROOT, Secured
from tests.support.process import KconfProcess
from tests.unit.client.certificates import Certificates


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def secured(certificates: Certificates) -> Iterator[Secured]:
    """On PLAINTEXT, clients are User:ANONYMOUS, a super user here as in many test clusters."""
    users = " ".join(f'user_{each.name}="{each.password}"' for each in (ALICE, BOB, ROOT))
    properties = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:ANONYMOUS;User:{ROOT.name}",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "plain.sasl.jaas.config": f"{PLAIN_MODULE} required {users};",
        "ssl.keystore.location": str(certificates.store("broker")),
        "ssl.keystore.type": "PEM",
        "ssl.truststore.location": str(certificates.ca),
        "ssl.truststore.type": "PEM",
        "listener.name.ssl.ssl.client.auth": "required",
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in PROTOCOLS.items()),
    }
    with KconfProcess(properties=properties, listeners=tuple(PROTOCOLS)) as server:
        with SyncAdminClient(server.address("PLAINTEXT")) as admin:
            admin.alter_user_scram_credentials(
                scram_upsertion(each.name, mechanism, each.password)
                for each in (ALICE, BOB, ROOT)
                for mechanism in (Mechanism.SCRAM_SHA_256, Mechanism.SCRAM_SHA_512)
            ).raise_for_failures()
            admin.create_topics(["seen", "hidden"]).raise_for_failures()
        yield Secured(server, certificates)
