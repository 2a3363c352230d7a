"""Truststores and keystores in PEM, PKCS12 and JKS."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from kconf import ConfigurationError, Tls
from kconf.security.keystores import key_material, trusted
from tests.support.packages import hide_package
from tests.unit.client.certificates import PASSWORD, Certificates


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


def checked(given: dict[str, str]) -> str:
    """The common name of the CA that TLS trusts with these properties."""
    chain, key, password = key_material(given)
    context = Tls(trusted(given), chain, key, password).context()
    return str(dict(pair[0] for pair in context.get_ca_certs()[0]["subject"])["commonName"])  # type: ignore[misc]


def test_pem_stores_are_read_from_files_and_inline(certificates: Certificates) -> None:
    files = {
        "ssl.truststore.location": str(certificates.ca),
        "ssl.keystore.location": str(certificates.store("client")),
    }
    inline = {
        "ssl.truststore.certificates": " ".join(certificates.ca.read_text().split("\n")),
        "ssl.keystore.certificate.chain": certificates.certificate("client").read_text(),
        "ssl.keystore.key": " ".join(certificates.key("client").read_text().split("\n")),
    }

    assert checked(files) == checked(inline) == "kconf test CA"


def test_pkcs12_stores_are_read_only_with_the_right_password(certificates: Certificates) -> None:
    import_module("cryptography")
    given = {
        "ssl.truststore.location": str(certificates.trust("PKCS12")),
        "ssl.truststore.password": PASSWORD,
        "ssl.keystore.location": str(certificates.pkcs12("client")),
        "ssl.keystore.password": PASSWORD,
    }

    assert checked(given) == "kconf test CA"
    with pytest.raises(ConfigurationError, match=r"ssl\.keystore\.password") as raised:
        checked({**given, "ssl.keystore.password": "wr0ng"})
    assert "wr0ng" not in str(raised.value)


def test_jks_stores_are_read_only_with_the_right_password(certificates: Certificates) -> None:
    given = {
        "ssl.truststore.location": str(certificates.trust("JKS")),
        "ssl.keystore.location": str(certificates.jks("client")),
        "ssl.keystore.password": PASSWORD,
    }

    assert checked(given) == "kconf test CA"
    with pytest.raises(ConfigurationError, match="keytool -importkeystore"):
        checked({**given, "ssl.keystore.password": "wrong"})


def test_damaged_and_unknown_stores_are_refused(certificates: Certificates, tmp_path: Path) -> None:
    whole = certificates.jks("broker").read_bytes()
    store = tmp_path / "store"
    for size in range(4, len(whole), 37):
        store.write_bytes(whole[:size])
        with pytest.raises(ConfigurationError):
            key_material({"ssl.keystore.location": str(store), "ssl.keystore.password": PASSWORD})
        with pytest.raises(ConfigurationError):
            trusted({"ssl.truststore.location": str(store)})
    store.write_bytes(b"\xce\xce\xce\xce and so on")
    with pytest.raises(ConfigurationError, match="is not a PEM, PKCS12 or JKS file"):
        trusted({"ssl.truststore.location": str(store)})


def test_without_its_package_pkcs12_explains_how_to_convert(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = certificates.pkcs12("client")
    hide_package(monkeypatch, "cryptography")
    with pytest.raises(ConfigurationError, match=r"openssl pkcs12 -in .*client\.p12"):
        key_material({"ssl.keystore.location": str(store), "ssl.keystore.password": PASSWORD})
