"""Both clients log in to a real kconf process: SASL over TLS, and by certificate."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from kconf import AuthenticationFailed, KconfError, Mechanism, Plain, Sasl, Scram, SyncAdminClient, Tls, scram_upsertion
from tests.support.process import KconfProcess
from tests.unit.client.certificates import Certificates
from tests.unit.client.drivers import driver

JAAS = "org.apache.kafka.common.security"
USER, PASSWORD = "scram=,user", "pässword, with = and \u00a0"


class Secured(NamedTuple):
    sasl: str
    mutual: str
    certificates: Certificates


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    certificates = Certificates(tmp_path_factory.mktemp("certificates"))
    properties = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates.store("broker")),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates.ca),
        "listener.name.ssl.ssl.client.auth": "required",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": (
            f'{JAAS}.plain.PlainLoginModule required user_alice="alice-secret";'
        ),
    }
    extra = ("--listen", "SASL_SSL://127.0.0.1:0", "--listen", "SSL://127.0.0.1:0")
    with KconfProcess(properties=properties, args=extra) as server:
        with SyncAdminClient(server.bootstrap) as admin:
            users = [scram_upsertion(USER, each, PASSWORD) for each in list(Mechanism)[1:]]
            admin.alter_user_scram_credentials(users).raise_for_failures()
        ports = dict(re.findall(r"\b(SASL_SSL|SSL)://127\.0\.0\.1:(\d+)", server.log().rpartition("listeners=")[2]))
        yield Secured(f"127.0.0.1:{ports['SASL_SSL']}", f"127.0.0.1:{ports['SSL']}", certificates)


LOGINS: dict[str, Callable[[str], Sasl]] = {
    "PLAIN": lambda wrong: Plain("alice", wrong or "alice-secret"),
    "SCRAM-SHA-256": lambda wrong: Scram(USER, wrong or PASSWORD, "SCRAM-SHA-256"),
    "SCRAM-SHA-512": lambda wrong: Scram(USER, wrong or PASSWORD),
}


@pytest.mark.parametrize("mechanism", LOGINS)
def test_every_mechanism_logs_in_over_tls_only_with_the_right_password(
    secured: Secured, kind: str, mechanism: str
) -> None:
    tls = Tls(str(secured.certificates.ca))
    with driver(kind, secured.sasl, tls=tls, sasl=LOGINS[mechanism]("")) as admin:
        assert admin.describe_cluster().nodes
    with (
        driver(kind, secured.sasl, tls=tls, sasl=LOGINS[mechanism]("wr0ng")) as admin,
        pytest.raises(AuthenticationFailed) as raised,
    ):
        admin.describe_cluster()
    assert "wr0ng" not in str(raised.value)


def test_an_untrusted_certificate_is_refused(secured: Secured, kind: str) -> None:
    with (
        driver(kind, secured.sasl, tls=Tls(), sasl=LOGINS["PLAIN"]("")) as admin,
        pytest.raises(AuthenticationFailed, match="certificate"),
    ):
        admin.describe_cluster()


def test_mutual_tls_needs_a_client_certificate(secured: Secured, kind: str) -> None:
    known = secured.certificates
    me = Tls(str(known.ca), str(known.certificate("client")), str(known.key("client")))
    with driver(kind, secured.mutual, tls=me) as admin:
        assert admin.describe_cluster().nodes
    with (
        driver(kind, secured.mutual, tls=Tls(str(known.ca))) as admin,
        pytest.raises(KconfError, match=r"CERTIFICATE_REQUIRED|require a client certificate"),
    ):
        admin.describe_cluster()
