"""Two releases of Kafka's Java Admin client on a secured kconf: every listener and mechanism, ACLs, credentials."""

from __future__ import annotations

import time

import pytest

from lab.admin import AdminError, AdminProbe
from lab.pytest_plugin import MakeProbe
from tests.security.conftest import certificates, secured  # noqa: F401 – fixtures
from tests.security.sasl_server import ALICE, ROOT, WAYS, Secured, User
from tests.support.targets import one_of
from tests.unit.client.certificates import Certificates

RELEASES = ("4.3.1", "3.9.2")


@pytest.fixture(scope="module")
def java(secured: Secured) -> Secured:  # noqa: F811
    return secured


def probe(make: MakeProbe, at: Secured, release: str, listener: str, mechanism: str, user: User = ALICE) -> AdminProbe:
    properties = at.java(listener, mechanism, user)
    return make(properties["bootstrap.servers"], release, properties=properties)


@pytest.mark.parametrize("release", one_of(RELEASES[0], RELEASES[1:]))
@pytest.mark.parametrize(("listener", "mechanism"), WAYS)
def test_the_java_client_logs_in_on_every_listener(
    java: Secured, make_probe: MakeProbe, release: str, listener: str, mechanism: str
) -> None:
    admin = probe(make_probe, java, release, listener, mechanism, ROOT)
    if listener == "SSL":  # certificate users are not super users here
        assert admin.call("listTopics") == {} or admin.call("listTopics") == []
    else:
        assert "seen" in str(admin.call("listTopics"))


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_the_java_client_gets_an_error_for_a_wrong_password(
    java: Secured, make_probe: MakeProbe, mechanism: str
) -> None:
    admin = probe(make_probe, java, "4.3.1", "SASL_PLAINTEXT", mechanism, User(ALICE.name, "wr0ng"))
    with pytest.raises(AdminError) as raised:
        admin.call("listTopics")
    assert raised.value.name == "SaslAuthenticationException"
    assert "wr0ng" not in str(raised.value)


@pytest.mark.parametrize("release", RELEASES)
def test_acls_created_and_deleted_by_the_java_client_apply_at_once(
    java: Secured, make_probe: MakeProbe, release: str
) -> None:
    root = probe(make_probe, java, release, "SASL_SSL", "SCRAM-SHA-512", ROOT)
    alice = probe(make_probe, java, release, "SASL_PLAINTEXT", "PLAIN")
    acl = {
        "resourceType": "TOPIC",
        "resourceName": "see",
        "patternType": "PREFIXED",
        "principal": f"User:{ALICE.name}",
        "operation": "DESCRIBE",
        "permissionType": "ALLOW",
    }
    assert "seen" not in str(alice.call("listTopics"))
    root.call("createAcls", {"acls": [acl]})
    assert "see" in str(root.call("describeAcls"))
    assert "seen" in str(alice.call("listTopics"))
    assert "hidden" not in str(alice.call("listTopics"))
    root.call("deleteAcls", {"filters": [{}]})
    assert "seen" not in str(alice.call("listTopics"))
    with pytest.raises(AdminError, match="ClusterAuthorization"):
        alice.call("describeAcls")


def test_a_password_set_by_the_java_client_is_valid_at_the_next_login(java: Secured, make_probe: MakeProbe) -> None:
    root = probe(make_probe, java, "4.3.1", "SASL_PLAINTEXT", "PLAIN", ROOT)
    new = User("carol", "first pässword")
    root.call(
        "alterUserScramCredentials",
        {"alterations": [{"user": new.name, "mechanism": "SCRAM_SHA_512", "password": new.password}]},
    )
    carol = probe(make_probe, java, "4.3.1", "SASL_PLAINTEXT", "SCRAM-SHA-512", new)
    assert carol.call("listTopics") is not None
    root.call(
        "alterUserScramCredentials", {"alterations": [{"user": new.name, "mechanism": "SCRAM_SHA_512", "delete": True}]}
    )
    assert carol.call("listTopics") is not None, "an open session stays"
    again = probe(make_probe, java, "4.3.1", "SASL_PLAINTEXT", "SCRAM-SHA-512", new)
    with pytest.raises(AdminError, match="Authentication"):
        again.call("listTopics")


def test_the_java_client_reauthenticates_before_its_session_expires(
    certificates: Certificates,  # noqa: F811
    make_probe: MakeProbe,
) -> None:
    """connections.max.reauth.ms is 1.5 s; the client works for 5 s on one connection."""
    from tests.security.sasl_server import PLAIN_MODULE
    from tests.support.process import KconfProcess

    properties = {
        "sasl.enabled.mechanisms": "PLAIN",
        "plain.sasl.jaas.config": f'{PLAIN_MODULE} required user_{ALICE.name}="{ALICE.password}";',
        "connections.max.reauth.ms": "1500",
    }
    with KconfProcess(properties=properties, listeners=["SASL_PLAINTEXT"], args=["--metrics", "127.0.0.1:0"]) as server:
        at = Secured(server, certificates)
        admin = probe(make_probe, at, "4.3.1", "SASL_PLAINTEXT", "PLAIN")
        end = time.monotonic() + 5
        calls = 0
        while time.monotonic() < end or calls < 20:
            assert admin.call("listTopics") is not None
            calls += 1
            time.sleep(0.05)
        assert "the session has expired" not in server.log()
