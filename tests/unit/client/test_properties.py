"""Java client properties become settings, and no secret is ever shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from kconf import ConfigurationError
from kconf.client.properties import settings_from_properties
from kconf.client.retries import RetryPolicy
from kconf.client.settings import Address, Bootstrap, Timeouts
from tests.unit.client.auth.exchanges import messages

PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="s3cret";'


def test_properties_of_a_file_become_settings(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text(
        "# a comment\nbootstrap.servers=a:1, b:2,[::1]:3\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        f"sasl.jaas.config={PLAIN}\nclient.id=me\nrequest.timeout.ms=5000\ndefault.api.timeout.ms = 7000\n"
        "retry.backoff.ms=50\nacks=all\nsasl.kerberos.service.name=ignored\n"
    )

    found = settings_from_properties(path)

    assert found.bootstrap.addresses == (Address("a", 1), Address("b", 2), Address("::1", 3))
    assert (found.client_id, found.timeouts, found.retries) == ("me", Timeouts(7, 5), RetryPolicy(backoff=0.05))
    assert found.security.sasl is not None
    assert messages(found.security.sasl, b"") == [b"\0alice\0s3cret"]
    assert found.security.tls is None
    assert "s3cret" not in repr(found) + repr(found.security.sasl)
    assert settings_from_properties(path, "c:4").bootstrap == Bootstrap((Address("c", 4),))
    assert settings_from_properties(path, (), "c:4").bootstrap.controllers


@pytest.mark.parametrize(
    ("properties", "says"),
    [
        ({}, "bootstrap"),
        ({"bootstrap.servers": "a:1", "security.protocol": "NOISE"}, "security.protocol"),
        ({"bootstrap.servers": "a:1", "request.timeout.ms": "soon"}, "request.timeout.ms"),
        ({"bootstrap.servers": "a:1", "security.protocol": "SASL_SSL"}, "GSSAPI"),
        ({"bootstrap.servers": "a:1", "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "jaas"),
        ({"bootstrap.servers": "a:1", "security.protocol": "SSL", "ssl.truststore.location": "/nowhere"}, "/nowhere"),
    ],
)
def test_invalid_properties_are_named(properties: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        settings_from_properties(properties)


def test_a_missing_file_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match="cannot read /nowhere"):
        settings_from_properties("/nowhere")
