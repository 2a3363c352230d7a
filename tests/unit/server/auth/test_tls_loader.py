"""Stores that clients name are read by another process, with a time limit."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kconf.errors import ConfigurationError, StoreUnavailable
from kconf.security.allowed_files import AllowedFiles
from kconf.server.auth.tls_loader import TlsLoader
from tests.unit.client.certificates import PASSWORD, Certificates


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("stores"))


def load(given: dict[str, str], directory: Path, **options: float) -> str | None:
    """The subject of the certificate."""

    async def loaded() -> str | None:
        loader = TlsLoader(AllowedFiles((str(directory),)), **options)
        context = await loader.load("SSL", frozenset(given.items()))
        loader.stop()
        return None if context.identity is None else context.identity.subject

    return asyncio.run(loaded())


def test_pem_and_pkcs12_stores_are_read(certificates: Certificates) -> None:
    for given in (
        {"ssl.keystore.location": str(certificates.store("broker"))},
        {"ssl.keystore.location": str(certificates.pkcs12("broker")), "ssl.keystore.password": PASSWORD},
    ):
        assert load(given, certificates.directory) == "CN=broker"


def test_a_store_that_is_too_slow_to_read_is_refused(certificates: Certificates) -> None:
    given = {"ssl.keystore.location": str(certificates.store("broker"))}
    why = "listener SSL: its key store and trust store could not be read and opened within 0 s"
    with pytest.raises(ConfigurationError, match=why):
        load(given, certificates.directory, timeout=0)


def test_a_wrong_store_password_is_reported_without_showing_it(certificates: Certificates) -> None:
    given = {"ssl.keystore.location": str(certificates.pkcs12("broker")), "ssl.keystore.password": "wrong-secret"}
    with pytest.raises(ConfigurationError) as raised:
        load(given, certificates.directory)
    assert "cannot be opened; check ssl.keystore.password" in str(raised.value)
    assert "wrong-secret" not in str(raised.value)


def test_inline_text_is_never_a_path(certificates: Certificates) -> None:
    path = str(certificates.store("broker"))
    for given in (
        {"ssl.keystore.certificate.chain": path, "ssl.keystore.key": path},
        {"ssl.keystore.location": path, "ssl.client.auth": "required", "ssl.truststore.certificates": path},
    ):
        with pytest.raises(ConfigurationError, match="must be PEM text"):
            load(given, certificates.directory)


def test_a_server_that_stops_does_not_wait_for_a_store(certificates: Certificates) -> None:
    """The time limit is long, but stopping the server ends the process that reads the store."""

    async def stopped() -> None:
        loader = TlsLoader(AllowedFiles(), timeout=3600)
        settings = frozenset({("ssl.keystore.location", str(certificates.store("broker")))})
        loading = asyncio.create_task(loader.load("SSL", settings))
        await asyncio.sleep(0)
        loader.stop()
        with pytest.raises(StoreUnavailable, match="stopping"):
            await loading
        with pytest.raises(StoreUnavailable, match="stopping"):
            await loader.load("SSL", settings)

    asyncio.run(stopped())
