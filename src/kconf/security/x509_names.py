"""The names in a certificate: its subject in Java's format, and its alternative names.

Java's RFC 2253 format is `CN=alice,OU=ops,O=ours`; mapping rules and ACLs use it. The parser is pyasn1, because
`cryptography.x509` refuses subjects that OpenSSL and Java accept: a PrintableString with `@` or `_`
(https://github.com/pyca/cryptography/issues/13461), Latin-1 in a T61String, an RDN that is not in DER order.
"""

from __future__ import annotations

import re
import ssl
import unicodedata
from typing import Any, Final, NamedTuple

from pyasn1.codec.der.decoder import decode
from pyasn1.error import PyAsn1Error
from pyasn1.type.tag import Tag, tagClassUniversal, tagFormatSimple
from pyasn1.type.univ import Any as AnyValue
from pyasn1.type.univ import OctetString, SequenceOf
from pyasn1_modules.rfc5280 import Certificate, id_ce_subjectAltName

from kconf.errors import ConfigurationError

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
_UTF8, _PRINTABLE, _T61, _IA5, _GENERAL, _BMP = 0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E
_TEXT_TAGS: Final = frozenset([_UTF8, _PRINTABLE, _T61, _IA5, _GENERAL, _BMP])
_SPECIAL: Final = ',=+<>#;"\\'
_BLANKS: Final = " \r"  # escaped at both ends
_CONTROLS: Final = "".join(map(chr, range(0x21)))  # what Java's trim() removes
_CERTIFICATE: Final = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


Canonical = tuple[tuple[tuple[str, str], ...], ...]


class Identity(NamedTuple):
    """The names that must not change when a certificate is replaced, unless the settings allow it."""

    subject: str
    canonical: Canonical
    alternatives: frozenset[bytes]

    @classmethod
    def of(cls, pem: str) -> Identity | None:
        """The identity in the first certificate of a chain. None if there is no PEM certificate."""
        found = _CERTIFICATE.search(pem)
        if found is None:
            return None
        try:
            der = ssl.PEM_cert_to_DER_cert(found[0])
            return cls(subject_of(der), canonical_subject_of(der), alternatives_of(der))
        except ValueError as error:
            raise ConfigurationError(str(error)) from None


def subject_of(certificate: bytes) -> str:
    """The subject of a DER certificate, as Java's X500Principal.getName() writes it. Raises ValueError if not DER."""
    names = _signed_part(certificate)["subject"]["rdnSequence"]
    return ",".join(reversed(["+".join(map(_attribute, each)) for each in names]))


def canonical_subject_of(certificate: bytes) -> Canonical:
    """The subject in a form that is equal if Java's X500Principal.equals() is true. Raises ValueError if not DER."""
    names = _signed_part(certificate)["subject"]["rdnSequence"]
    return tuple(tuple(sorted(map(_canonical, each))) for each in names)


def alternatives_of(certificate: bytes) -> frozenset[bytes]:
    """The subject alternative names, each as encoded. Raises ValueError if the certificate is not DER."""
    for extension in _signed_part(certificate)["extensions"]:
        if extension["extnID"] == id_ce_subjectAltName:
            names = _decoded(bytes(extension["extnValue"]), SequenceOf(componentType=AnyValue()))
            return frozenset(map(bytes, names))
    return frozenset()


def _signed_part(certificate: bytes) -> Any:
    return _decoded(certificate, Certificate())["tbsCertificate"]


def _decoded(der: bytes, schema: Any) -> Any:
    try:
        found, rest = decode(der, asn1Spec=schema)
        if rest:
            raise PyAsn1Error("bytes after the end")
    except PyAsn1Error:
        raise ValueError("the certificate is not encoded in DER") from None
    return found


def _attribute(attribute: Any) -> str:
    oid, value = str(attribute["type"]), bytes(attribute["value"])
    keyword, tag = _KEYWORDS.get(oid), value[0]
    if keyword is None or tag not in _TEXT_TAGS:
        return f"{keyword or oid}=#{value.hex()}"
    return f"{keyword}={_escaped(_text(value))}"


def _canonical(attribute: Any) -> tuple[str, str]:
    oid, value = str(attribute["type"]), bytes(attribute["value"])
    if oid not in _KEYWORDS or value[0] not in (_UTF8, _PRINTABLE):
        return oid, f"#{value.hex()}"
    text = re.sub(r'^#|[,+<>;"\\]', r"\\\g<0>", _text(value))  # escaped first: a # counts only at the beginning
    text = re.sub(" +", " ", text).strip(_CONTROLS)
    return oid, unicodedata.normalize("NFKD", text.upper().lower())


def _text(value: bytes) -> str:
    """Java reads every type of string as UTF-8."""
    content = _decoded(value, OctetString().subtype(implicitTag=Tag(tagClassUniversal, tagFormatSimple, value[0])))
    return bytes(content).decode("utf-8", "replace")


def _escaped(text: str) -> str:
    out = "".join(f"\\{each}" if each in _SPECIAL else "\\00" if each == "\0" else each for each in text)
    inner = out.strip(_BLANKS)
    start = out.index(inner) if inner else len(out)
    return _each_escaped(out[:start]) + inner + _each_escaped(out[start + len(inner) :])


def _each_escaped(blanks: str) -> str:
    return "".join(f"\\{each}" for each in blanks)
