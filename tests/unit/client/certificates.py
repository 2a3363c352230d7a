"""Creates certificates for one test run with openssl (and Java stores with keytool)."""

from __future__ import annotations

import subprocess
from pathlib import Path

PASSWORD = "store-secret"


class Certificates:
    """A CA, and certificates for a broker on 127.0.0.1 and localhost and for a client CN=client."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.ca = directory / "ca.pem"
        _openssl(
            directory,
            *("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=kconf test CA"),
            *("-keyout", "ca.key", "-out", "ca.pem"),
        )
        self.issue("broker", "subjectAltName=IP:127.0.0.1,DNS:localhost")
        self.issue("client", "extendedKeyUsage=clientAuth")

    def certificate(self, name: str) -> Path:
        return self.directory / f"{name}.pem"

    def key(self, name: str) -> Path:
        return self.directory / f"{name}.key"

    def store(self, name: str) -> Path:
        """Key and certificate in one PEM file, in Kafka's format."""
        return self.directory / f"{name}.store.pem"

    def pkcs12(self, name: str) -> Path:
        """Key and certificate as PKCS12."""
        path = self.directory / f"{name}.p12"
        _openssl(
            self.directory,
            *("pkcs12", "-export", "-in", f"{name}.pem", "-inkey", f"{name}.key", "-certfile", "ca.pem"),
            *("-name", name, "-out", path.name, "-passout", f"pass:{PASSWORD}"),
        )
        return path

    def jks(self, name: str) -> Path:
        """Key and certificate as JKS."""
        path = self.directory / f"{name}.jks"
        source = self.pkcs12(name)
        _keytool(
            *("-importkeystore", "-noprompt", "-srckeystore", source, "-srcstoretype", "PKCS12"),
            *("-srcstorepass", PASSWORD, "-destkeystore", path, "-deststoretype", "JKS", "-deststorepass", PASSWORD),
        )
        return path

    def trust(self, kind: str) -> Path:
        """The CA as a truststore created by keytool."""
        path = self.directory / f"trust.{kind.lower()}"
        _keytool(
            *("-importcert", "-noprompt", "-alias", "ca", "-file", self.ca, "-keystore", path),
            *("-storetype", kind, "-storepass", PASSWORD),
        )
        return path

    def issue(self, name: str, extension: str, subject: str = "") -> None:
        """A certificate for `/CN=name` or another subject."""
        directory = self.directory
        (directory / f"{name}.ext").write_text(extension + "\n")
        _openssl(
            directory,
            *("req", "-newkey", "rsa:2048", "-nodes", "-subj", subject or f"/CN={name}"),
            *("-keyout", f"{name}.key", "-out", f"{name}.csr"),
        )
        _openssl(
            directory,
            *("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"),
            *("-days", "2", "-extfile", f"{name}.ext", "-out", f"{name}.pem"),
        )
        self.store(name).write_text(self.key(name).read_text() + self.certificate(name).read_text())


def _openssl(directory: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=directory, check=True, capture_output=True)


def _keytool(*arguments: str | Path) -> None:
    subprocess.run(["keytool", *map(str, arguments)], check=True, capture_output=True)
