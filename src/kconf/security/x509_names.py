"""Whom a certificate names: its subject, as Java writes it, and the other names that it has.

Java's RFC 2253 form is `CN=alice,OU=ops,O=ours`. Only what OpenSSL has accepted is read here.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from typing import Final, NamedTuple

_KEYWORDS: Final = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.25": "DC",
    "0.9.2342.19200300.100.1.1": "UID",
}
_TEXTS: Final = {0x0C: "utf-8", 0x13: "ascii", 0x14: "latin-1", 0x16: "ascii", 0x1B: "latin-1", 0x1E: "utf-16-be"}
_SPECIAL: Final = ',=+<>#;"\\'


def subject_of(certificate: bytes) -> str:
    """The subject of a DER certificate, as Java's X500Principal.getName() writes it."""
    _, _, subject = _fields(certificate)[4]  # serial number, algorithm, issuer, validity, subject
    names = ["+".join(_attribute(each) for _, _, each in _parts(rdn)) for _, _, rdn in _parts(subject)]
    return ",".join(reversed(names))


def _fields(certificate: bytes) -> list[tuple[int, bytes, bytes]]:
    """What is signed, without the version."""
    (_, _, whole) = next(_parts(certificate))
    (_, _, signed) = next(_parts(whole))
    return [each for each in _parts(signed) if each[0] != 0xA0]


def _attribute(data: bytes) -> str:
    (_, _, oid), (tag, whole, value) = _parts(data)
    dotted = _oid(oid)
    keyword = _KEYWORDS.get(dotted)
    if keyword is None or tag not in _TEXTS:
        return f"{keyword or dotted}=#{whole.hex()}"
    return f"{keyword}={_escaped(value.decode(_TEXTS[tag], 'replace'))}"


def _escaped(text: str) -> str:
    out = "".join(f"\\{each}" if each in _SPECIAL else "\\00" if each == "\0" else each for each in text)
    lead = len(out) - len(out.lstrip(" "))
    if lead == len(out):
        return "\\ " * lead
    trail = len(out) - len(out.rstrip(" "))
    return "\\ " * lead + out[lead : len(out) - trail] + "\\ " * trail


def _oid(data: bytes) -> str:
    numbers: list[int] = []
    value = 0
    for byte in data:
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(value)
            value = 0
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, [first, numbers[0] - 40 * first, *numbers[1:]]))


def _parts(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """The DER values that stand one after the other: tag, whole, content. OpenSSL has checked the certificate."""
    at = 0
    while at < len(data):
        start, tag, size = at, data[at], data[at + 1]
        at += 2
        if size & 0x80:
            count = size & 0x7F
            size = int.from_bytes(data[at : at + count], "big")
            at += count
        yield tag, data[start : at + size], data[at : at + size]
        at += size


_CERTIFICATE: Final = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_ALTERNATIVES: Final = bytes.fromhex("551d11")  # 2.5.29.17


class Identity(NamedTuple):
    """What must stay when a certificate is replaced, unless it is allowed to change."""

    subject: str
    alternatives: frozenset[bytes]

    @classmethod
    def of(cls, pem: str) -> Identity | None:
        """That of the first certificate of a chain; None where it stands under another heading."""
        found = _CERTIFICATE.search(pem)
        if found is None:
            return None
        der = ssl.PEM_cert_to_DER_cert(found[0])
        return cls(subject_of(der), alternatives_of(der))


def alternatives_of(certificate: bytes) -> frozenset[bytes]:
    """The subject's alternative names, each as it is encoded."""
    for tag, _, extensions in _fields(certificate):
        if tag == 0xA3:
            ((_, _, found),) = _parts(extensions)
            for _, _, extension in _parts(found):
                oid, *_, value = _parts(extension)
                if oid[2] == _ALTERNATIVES:
                    ((_, _, names),) = _parts(value[2])
                    return frozenset(whole for _, whole, _ in _parts(names))
    return frozenset()
