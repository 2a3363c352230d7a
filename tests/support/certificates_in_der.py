"""Certificates with subjects that openssl would not write: the test provides the bytes of each name."""

from __future__ import annotations

import ssl
import subprocess
from collections.abc import Sequence

from pyasn1.codec.der.decoder import decode
from pyasn1.codec.der.encoder import encode
from pyasn1.type.univ import ObjectIdentifier
from pyasn1_modules.rfc5280 import Certificate

from tests.unit.client.certificates import Certificates

Attribute = tuple[str, int, bytes]
"""OID, tag and content of one value in a subject."""

_SEQUENCE, _SET, _INTEGER, _BITS, _UTC_TIME, _UTF8 = 0x30, 0x31, 0x02, 0x03, 0x17, 0x0C
_COMMON_NAME = "2.5.4.3"


def tlv(tag: int, content: bytes) -> bytes:
    size = len(content)
    length = bytes([size]) if size < 128 else bytes([0x82]) + size.to_bytes(2, "big")
    return bytes([tag]) + length + content


def name(rdns: Sequence[Sequence[Attribute]]) -> bytes:
    return tlv(_SEQUENCE, b"".join(tlv(_SET, b"".join(_attribute(*each) for each in rdn)) for rdn in rdns))


def unsigned(subject: bytes, *, extensions: bytes = b"") -> bytes:
    """A certificate without a valid signature."""
    issuer = name([[(_COMMON_NAME, _UTF8, b"ca")]])
    key = tlv(_SEQUENCE, _ALGORITHM + tlv(_BITS, b"\0"))
    return tlv(_SEQUENCE, _to_be_signed(subject, issuer, key, extensions) + _ALGORITHM + tlv(_BITS, b"\0"))


def issue(certificates: Certificates, subject: bytes) -> str:
    """A certificate for the key of `client`, signed by the CA, as PEM."""
    ca, _ = decode(ssl.PEM_cert_to_DER_cert(certificates.ca.read_text()), asn1Spec=Certificate())
    key = _openssl("pkey", "-in", str(certificates.key("client")), "-pubout", "-outform", "DER")
    signed = _to_be_signed(subject, encode(ca["tbsCertificate"]["subject"]), key, b"")
    signature = _openssl("dgst", "-sha256", "-sign", str(certificates.directory / "ca.key"), data=signed)
    return ssl.DER_cert_to_PEM_cert(tlv(_SEQUENCE, signed + _ALGORITHM + tlv(_BITS, b"\0" + signature)))


def _to_be_signed(subject: bytes, issuer: bytes, key: bytes, extensions: bytes) -> bytes:
    version, serial = tlv(0xA0, tlv(_INTEGER, b"\2")), tlv(_INTEGER, b"\7")
    validity = tlv(_SEQUENCE, tlv(_UTC_TIME, b"250101000000Z") + tlv(_UTC_TIME, b"450101000000Z"))
    more = tlv(0xA3, tlv(_SEQUENCE, extensions)) if extensions else b""
    return tlv(_SEQUENCE, version + serial + _ALGORITHM + issuer + validity + subject + key + more)


def _attribute(oid: str, tag: int, content: bytes) -> bytes:
    return tlv(_SEQUENCE, encode(ObjectIdentifier(oid)) + tlv(tag, content))


def _openssl(*arguments: str, data: bytes | None = None) -> bytes:
    return subprocess.run(["openssl", *arguments], input=data, check=True, capture_output=True).stdout


_ALGORITHM = tlv(_SEQUENCE, encode(ObjectIdentifier("1.2.840.113549.1.1.11")) + b"\x05\x00")  # SHA-256 with RSA
