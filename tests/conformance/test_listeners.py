"""Connections to a real broker: what waits, what is closed, and which certificate may replace another.

tests/security/test_limits.py and tests/security/test_tls.py make the same assertions about kconf.
"""

from __future__ import annotations

import select
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kconf.protocol.apis import BY_NAME
from kconf.protocol.headers import request
from lab.broker import KafkaBroker
from tests.security.conftest import certificates  # noqa: F401 – a fixture
from tests.security.test_limits import is_answered
from tests.security.test_tls import REPLACEMENTS, may_replace
from tests.unit.client.certificates import Certificates

HOST = "127.0.0.1"
OWN, FREE = ([f"{kind}{number}" for number in range(len(REPLACEMENTS))] for kind in ("OWN", "FREE"))
"""Two listeners for each replacement: a replaced certificate cannot always be restored."""


@pytest.fixture(scope="module")
def kafka(certificates: Certificates) -> Iterator[KafkaBroker]:  # noqa: F811
    properties = {
        "ssl.keystore.location": str(certificates.store("broker")),
        "ssl.keystore.type": "PEM",
        "ssl.truststore.location": str(certificates.ca),
        "ssl.truststore.type": "PEM",
        "listener.name.strict.ssl.client.auth": "required",
        **{f"listener.name.{each.lower()}.ssl.allow.{what}.changes": "true" for each in FREE for what in ("dn", "san")},
        "listener.name.small.max.connections": "2",
        "max.connections.per.ip.overrides": "127.0.0.9:1",
    }
    listeners = {"SMALL": "PLAINTEXT", **dict.fromkeys(("STRICT", *OWN, *FREE), "SSL")}
    with KafkaBroker("4.3.1", properties=properties, listeners=listeners) as broker:
        yield broker


def come(kafka: KafkaBroker, stack: ExitStack, listener: str, *, source: str = HOST) -> socket.socket:
    port = int(kafka.address(listener).rpartition(":")[2])
    line = stack.enter_context(socket.create_connection((HOST, port), 20, source_address=(source, 0)))
    line.sendall(request(BY_NAME["ApiVersions"], 0, 1, None, BY_NAME["ApiVersions"].request()))
    return line


def test_beyond_max_connections_a_connection_waits_until_another_closes(kafka: KafkaBroker) -> None:
    with ExitStack() as stack:
        first, second, third = (come(kafka, stack, "SMALL") for _ in range(3))
        assert is_answered(first)
        assert is_answered(second)
        assert not select.select([third], [], [], 1)[0]
        first.close()
        assert is_answered(third)


def test_beyond_max_connections_per_ip_a_connection_is_closed(kafka: KafkaBroker) -> None:
    with ExitStack() as stack:
        assert is_answered(come(kafka, stack, "PLAINTEXT", source="127.0.0.9"))
        assert not is_answered(come(kafka, stack, "PLAINTEXT", source="127.0.0.9"))


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_missing_certificate_causes_an_alert(
    kafka: KafkaBroker,
    certificates: Certificates,  # noqa: F811
    version: ssl.TLSVersion,
) -> None:
    context = ssl.create_default_context(cafile=str(certificates.ca))
    context.maximum_version = version
    port = int(kafka.address("STRICT").rpartition(":")[2])
    with (
        pytest.raises(ssl.SSLError, match="ALERT"),
        context.wrap_socket(socket.create_connection((HOST, port), timeout=60), server_hostname="localhost") as line,
    ):
        line.recv(1)


@pytest.mark.parametrize(
    ("own", "free", "what", "subject", "names", "strictly", "freely"),
    [(own, free, *each) for own, free, each in zip(OWN, FREE, REPLACEMENTS, strict=True)],
    ids=[each[0] for each in REPLACEMENTS],
)
def test_a_new_certificate_must_have_the_names_of_the_old_one(
    kafka: KafkaBroker,
    tmp_path: Path,
    own: str,
    free: str,
    what: str,
    subject: str,
    names: str,
    strictly: bool,
    freely: bool,
) -> None:
    other = Certificates(tmp_path)
    other.issue("broker", f"subjectAltName={names}", subject)
    found = [may_replace(kafka.bootstrap, each.lower(), other.store("broker")) for each in (own, free)]
    assert found == [strictly, freely], what
