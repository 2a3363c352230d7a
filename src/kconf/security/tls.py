"""TLS settings: trusted certificates, certificate and key, as PEM. keystores.py converts Java's keystores to PEM."""

from __future__ import annotations

import os
import re
import tempfile
from typing import TYPE_CHECKING, NamedTuple

from kconf.errors import ConfigurationError

if TYPE_CHECKING:
    from ssl import SSLContext, SSLError


class Tls(NamedTuple):
    """`ca`, `certificate` and `key` are PEM, as text or as the path of a file.

    Without `ca`, the certificates of the system are trusted. `certificate` (the chain, own certificate first) and `key`
    are for mutual TLS; both may be in one file. Only tests disable `check_hostname` and `verify`.
    """

    ca: str | None = None
    certificate: str | None = None
    key: str | None = None
    key_password: str | None = None
    check_hostname: bool = True
    verify: bool = True
    ciphers: str | None = None
    versions: tuple[str, ...] = ()

    def __repr__(self) -> str:
        mutual = "mutual" if self.certificate else "one-sided"
        return f"Tls({mutual}, check_hostname={self.check_hostname})"

    def context(self) -> SSLContext:
        import ssl

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = self.check_hostname and self.verify
        context.verify_mode = ssl.CERT_REQUIRED if self.verify else ssl.CERT_NONE
        try:
            self.limit(context)
            if self.ca is None:
                context.load_default_certs()
            else:
                self.trust(context)
            if self.certificate is not None:
                self.identify(context)
        except ssl.SSLError as error:
            raise ConfigurationError(f"TLS cannot be set up: {ssl_reason(error)}") from None
        return context

    def trust(self, context: SSLContext) -> None:
        """Trust only `ca`."""
        context.load_verify_locations(cadata=_certificates(self.ca or ""))

    def limit(self, context: SSLContext) -> None:
        """Allow only the configured ciphers and versions."""
        import ssl

        if self.ciphers:
            context.set_ciphers(self.ciphers)
        known = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
        wanted = sorted(known[each] for each in self.versions if each in known)
        if self.versions and not wanted:
            raise ConfigurationError(
                f"none of the TLS versions {', '.join(self.versions)} is secure; use TLSv1.2 or TLSv1.3"
            )
        if wanted:
            context.minimum_version, context.maximum_version = wanted[0], wanted[-1]

    def identify(self, context: SSLContext) -> None:
        """Load the certificate and key. Uses a private temporary file, since Python loads a key only from a file."""
        chain = pem_text(self.certificate or "", "the certificate")
        key = pem_text(self.key, "the private key") if self.key is not None else ""
        handle, path = tempfile.mkstemp(prefix="kconf-", suffix=".pem")  # created with mode 0600
        try:
            with os.fdopen(handle, "w") as file:
                file.write(f"{key}\n{chain}\n")
            # Without a password, an encrypted key must fail instead of prompting on the terminal.
            context.load_cert_chain(path, password=self.key_password or "")
        finally:
            os.unlink(path)


def ssl_reason(error: SSLError) -> str:
    """OpenSSL's reason for an error. Errors that Python itself raises have no `reason`."""
    return getattr(error, "reason", None) or " ".join(map(str, error.args))


def _certificates(given: str) -> str:
    """The certificates of a PEM text, without comments between them, which may have any encoding."""
    text = pem_text(given, "the trusted certificates")
    found = re.findall(r"-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----[\sA-Za-z0-9+/=]+-----END [A-Z0-9 ]+-----", text)
    if not found:
        raise ConfigurationError("the trusted certificates are not PEM certificates")
    return "\n".join(found)


def pem_text(given: str, what: str) -> str:
    """The PEM text, which may be given as the path of a file."""
    if "-----BEGIN" in given:
        return given
    try:
        with open(given, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{what} cannot be read from {given}: {error}") from None
    if "-----BEGIN" not in text:
        raise ConfigurationError(f"{given} contains no PEM; expected {what}")
    return text
