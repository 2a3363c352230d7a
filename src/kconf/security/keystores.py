"""Reads Java's `ssl.truststore.*` and `ssl.keystore.*` settings: PEM (inline or a file), PKCS12 or JKS, converted to
PEM.

The type of a store is detected by its first bytes, since keytool has long written PKCS12 into files named .jks. PKCS12
needs the package `cryptography` (the extra `kconf[tls]`). Without it, the error shows a command that converts the file.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from typing import Final

from kconf.errors import ConfigurationError

_JKS: Final = b"\xfe\xed\xfe\xed"
_DER: Final = b"\x30"


def read_file(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def trusted(given: Mapping[str, str], read: Callable[[str], bytes] = read_file) -> str | None:
    """The trusted certificates, or None for those of the system. `read` reads the file in the settings."""
    inline = given.get("ssl.truststore.certificates", "").strip()
    if inline:
        return _inline(inline, "ssl.truststore.certificates")
    path = given.get("ssl.truststore.location", "").strip()
    if not path:
        return None
    data = read(path)
    if b"-----BEGIN" in data:
        return data.decode(errors="replace")
    password = given.get("ssl.truststore.password", "")
    if data.startswith(_JKS):
        from kconf.security.jks import certificates

        return _pem(certificates(data, path))
    if data.startswith(_DER):
        return _pem(_pkcs12(data, path, password, "truststore")[1])
    raise ConfigurationError(f"{path} is not a PEM, PKCS12 or JKS file")


def key_material(
    given: Mapping[str, str], read: Callable[[str], bytes] = read_file
) -> tuple[str | None, str | None, str | None]:
    """The certificate chain, the private key, and the password of the key, or None if there is no key."""
    key_password = given.get("ssl.key.password") or None
    chain, key = given.get("ssl.keystore.certificate.chain", "").strip(), given.get("ssl.keystore.key", "").strip()
    if chain and key:
        return _inline(chain, "ssl.keystore.certificate.chain"), _inline(key, "ssl.keystore.key"), key_password
    path = given.get("ssl.keystore.location", "").strip()
    if not path:
        return None, None, None
    data = read(path)
    password = given.get("ssl.keystore.password", "")
    if b"-----BEGIN" in data:
        return data.decode(errors="replace"), None, key_password
    if data.startswith(_JKS):
        from kconf.security.jks import private_key

        key_der, chain_der = private_key(data, path, password, key_password or password)
        return _pem(chain_der), _pem_key(key_der), None
    if data.startswith(_DER):
        key_pem, certificates = _pkcs12(data, path, password, "keystore")
        if key_pem is None:
            raise ConfigurationError(f"{path} contains no private key")
        return _pem(certificates), key_pem, None
    raise ConfigurationError(f"{path} is not a PEM, PKCS12 or JKS file")


def _inline(text: str, key: str) -> str:
    """The PEM text in a setting. It must not be a path, since users of the text would read that file."""
    if "-----BEGIN" not in text:
        raise ConfigurationError(f"{key} must be PEM text")
    return _unfolded(text)


def _unfolded(pem: str) -> str:
    """Restore line breaks. Inline PEM is often written on one line, with spaces instead."""
    if "\n" in pem:
        return pem
    out = []
    for part in pem.replace("-----END", "\n-----END").split("-----BEGIN")[1:]:
        head, _, rest = part.partition("-----")
        body, _, tail = rest.partition("\n-----END")
        out.append(f"-----BEGIN{head}-----\n" + "\n".join(body.split()) + f"\n-----END{tail.rstrip()}\n")
    return "".join(out) or pem


def _pem(certificates: list[bytes]) -> str:
    return "".join(ssl.DER_cert_to_PEM_cert(each) for each in certificates)


def _pem_key(der: bytes) -> str:
    from base64 import encodebytes

    return f"-----BEGIN PRIVATE KEY-----\n{encodebytes(der).decode()}-----END PRIVATE KEY-----\n"


def _pkcs12(data: bytes, path: str, password: str, what: str) -> tuple[str | None, list[bytes]]:
    """The key, and the certificates, starting with that of the key."""
    try:
        from cryptography.hazmat.primitives import serialization  # type: ignore[import-not-found, unused-ignore]
        from cryptography.hazmat.primitives.serialization import pkcs12  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        pem = f"{path}.pem"
        only = " -nokeys" if what == "truststore" else " -nodes"
        raise ConfigurationError(
            f"{path} is PKCS12, which needs an extra package: pip install 'kconf[tls]'. Or convert it: "
            f"openssl pkcs12 -in {path} -out {pem}{only}, and set ssl.{what}.location={pem}, ssl.{what}.type=PEM"
        ) from None
    try:
        store = pkcs12.load_key_and_certificates(data, password.encode() or None)
    except Exception:  # the parser may raise ValueError, UnsupportedAlgorithm, TypeError, …
        raise ConfigurationError(f"{path} cannot be opened; check ssl.{what}.password") from None
    key, own, others = store
    kinds = serialization.Encoding
    found = [each.public_bytes(kinds.DER) for each in ([] if own is None else [own]) + list(others)]
    if key is None:
        return None, found
    plain = key.private_bytes(kinds.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return plain.decode(), found
