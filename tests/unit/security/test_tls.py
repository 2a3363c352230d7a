"""TLS contexts: what is verified, and how keys are loaded."""

from __future__ import annotations

import os
import ssl
from pathlib import Path

import pytest

from kconf import ConfigurationError, Tls
from tests.unit.client.certificates import Certificates


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


def test_tls_verifies_as_configured(certificates: Certificates) -> None:
    strict, lax = Tls(str(certificates.ca)).context(), Tls(str(certificates.ca), check_hostname=False).context()

    assert (strict.check_hostname, lax.check_hostname) == (True, False)
    assert strict.verify_mode == lax.verify_mode == ssl.CERT_REQUIRED
    only = Tls(str(certificates.ca), versions=("TLSv1.3",)).context()
    assert only.minimum_version == ssl.TLSVersion.TLSv1_3
    for wrong in (Tls("/nowhere"), Tls(__file__), Tls(versions=("SSLv3",)), Tls(ca="-----BEGIN nonsense")):
        with pytest.raises(ConfigurationError):
            wrong.context()


def test_an_encrypted_key_needs_its_password_and_leaves_no_file(
    certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import subprocess

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    key = certificates.directory / "encrypted.key"
    plain = str(certificates.key("client"))
    command = ["openssl", "pkcs8", "-topk8", "-in", plain, "-out", str(key), "-passout", "pass:k3y"]
    subprocess.run(command, check=True, capture_output=True)
    right = Tls(certificate=str(certificates.certificate("client")), key=str(key), key_password="k3y")

    right.context()
    for wrong in (right._replace(key_password="no"), right._replace(key_password=None)):
        with pytest.raises(ConfigurationError):
            wrong.context()

    assert "k3y" not in repr(right)
    assert os.listdir(tmp_path) == []
