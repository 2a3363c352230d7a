"""Names in certificates. The expected values come from Java 17."""

from __future__ import annotations

import ssl

import pytest

from kconf.errors import ConfigurationError
from kconf.security.x509_names import Identity, alternatives_of, canonical_subject_of, subject_of
from tests.support.certificates_in_der import Attribute, name, tlv, unsigned

CN, C, O, OU = "2.5.4.3", "2.5.4.6", "2.5.4.10", "2.5.4.11"  # noqa: E741 – as X.500 calls them
SERIAL_NUMBER, EMAIL, UNIQUE_ID = "2.5.4.5", "1.2.840.113549.1.9.1", "2.5.4.45"
BITS, OCTETS, UTF8, NUMERIC, PRINTABLE, T61, IA5 = 0x03, 0x04, 0x0C, 0x12, 0x13, 0x14, 0x16
GENERAL, UNIVERSAL, BMP = 0x1B, 0x1C, 0x1E


@pytest.mark.parametrize(
    ("rdns", "expected"),
    [
        ([], ""),
        ([[(CN, UTF8, b"")]], "CN="),
        ([[(C, PRINTABLE, b"DEU")], [(O, UTF8, b"ours")], [(CN, UTF8, b"alice")]], "CN=alice,O=ours,C=DEU"),
        ([[(CN, UTF8, b"m"), (O, UTF8, b"o")], [(OU, PRINTABLE, b"u")]], "OU=u,CN=m+O=o"),
        ([[(O, UTF8, b"not in the order of DER"), (CN, UTF8, b"m")]], "O=not in the order of DER+CN=m"),
        ([[(CN, UTF8, b"m"), (CN, UTF8, b"m")]], "CN=m+CN=m"),
        ([[(CN, UTF8, b"m"), (EMAIL, IA5, b"a@b")]], "CN=m+1.2.840.113549.1.9.1=#1603614062"),
        ([[(SERIAL_NUMBER, PRINTABLE, b"7")]], "2.5.4.5=#130137"),
        ([[("2.999.1234567890123", UTF8, b"r")]], "2.999.1234567890123=#0c0172"),
        ([[(UNIQUE_ID, BITS, b"\0ab")]], "2.5.4.45=#0303006162"),
        ([[("1.2.3.4", 0x02, b"\5")]], "1.2.3.4=#020105"),
        ([[(CN, OCTETS, b"ab")]], "CN=#04026162"),
        ([[(CN, NUMERIC, b"12")]], "CN=#12023132"),
        ([[(CN, UNIVERSAL, "aä".encode("utf-32-be"))]], "CN=#1c0800000061000000e4"),
        ([[(CN, PRINTABLE, b"not_printable@*")]], "CN=not_printable@*"),
        ([[(CN, GENERAL, b"ab")]], "CN=ab"),
        ([[(CN, T61, "Müller".encode("latin-1"))]], "CN=M\N{REPLACEMENT CHARACTER}ller"),
        ([[(CN, BMP, "aä名".encode("utf-16-be"))]], "CN=\\00a\\00\N{REPLACEMENT CHARACTER}T\\\r"),
        ([[(CN, UTF8, b"a\xff")]], "CN=a\N{REPLACEMENT CHARACTER}"),
        ([[(CN, UTF8, "名前 😀".encode())]], "CN=名前 😀"),
        ([[(CN, UTF8, b',=+<>#;"\\')]], 'CN=\\,\\=\\+\\<\\>\\#\\;\\"\\\\'),
        ([[(CN, UTF8, b" a  b \r")]], "CN=\\ a  b\\ \\\r"),
        ([[(CN, UTF8, b"\n\t")]], "CN=\n\t"),
        ([[(CN, UTF8, b"   ")]], "CN=\\ \\ \\ "),
        ([[(CN, UTF8, b"a\0b")]], "CN=a\\00b"),
        ([[(CN, UTF8, b"x" * 300)]], "CN=" + "x" * 300),
    ],
)
def test_a_subject_is_written_as_java_writes_it(rdns: list[list[Attribute]], expected: str) -> None:
    assert subject_of(unsigned(name(rdns))) == expected


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ([[(CN, UTF8, b"broker")]], [[(CN, PRINTABLE, b" BROKER ")]], True),
        ([[(CN, UTF8, b"a  b")]], [[(CN, UTF8, b"a b")]], True),
        ([[(CN, UTF8, b"a\tb")]], [[(CN, UTF8, b"a b")]], False),
        ([[(CN, UTF8, "straße".encode())]], [[(CN, UTF8, b"STRASSE")]], True),
        ([[(CN, UTF8, "\N{LATIN SMALL LIGATURE FI}".encode())]], [[(CN, UTF8, b"fi")]], True),
        ([[(CN, UTF8, b"#a")]], [[(CN, UTF8, b" #a")]], False),
        ([[(CN, UTF8, b"a,b")]], [[(CN, UTF8, b"A,B")]], True),
        ([[(CN, IA5, b"broker")]], [[(CN, IA5, b"BROKER")]], False),
        ([[(SERIAL_NUMBER, PRINTABLE, b"a")]], [[(SERIAL_NUMBER, PRINTABLE, b"A")]], False),
        ([[(CN, UTF8, b"m"), (O, UTF8, b"o")]], [[(O, UTF8, b"O"), (CN, UTF8, b"M")]], True),
        ([[(CN, UTF8, b"m")], [(O, UTF8, b"o")]], [[(O, UTF8, b"o")], [(CN, UTF8, b"m")]], False),
    ],
)
def test_subjects_are_equal_if_java_finds_them_equal(
    one: list[list[Attribute]], other: list[list[Attribute]], equal: bool
) -> None:
    found = [canonical_subject_of(unsigned(name(each))) for each in (one, other)]
    assert (found[0] == found[1]) is equal


def test_a_certificate_that_is_not_der_has_no_names() -> None:
    common_name = name([[(CN, UTF8, b"alice")]])
    indefinite = b"\x30\x80" + common_name[2:] + b"\0\0"  # OpenSSL accepts this
    whole = unsigned(common_name)

    assert subject_of(whole) == "CN=alice"
    for broken in (unsigned(indefinite), whole[:-1], whole + b"\0", b"", b"\0", b"0"):
        with pytest.raises(ValueError, match="not encoded in DER"):
            subject_of(broken)
        with pytest.raises(ValueError, match="not encoded in DER"):
            alternatives_of(broken)
    with pytest.raises(ConfigurationError, match="not encoded in DER"):
        Identity.of(ssl.DER_cert_to_PEM_cert(unsigned(indefinite)))


def test_alternative_names_may_contain_any_bytes() -> None:
    names = [tlv(0x82, b"localhost"), tlv(0x87, b"\x7f\0\0\1"), tlv(0x87, b"no address"), tlv(0xA3, b"")]
    alternatives = tlv(0x30, bytes.fromhex("0603551d11") + tlv(0x04, tlv(0x30, b"".join(names))))
    key_usage = tlv(0x30, bytes.fromhex("0603551d0f") + b"\x01\x01\xff" + tlv(0x04, b"\x03\x02\x05\xa0"))
    subject = name([[(CN, UTF8, b"broker")]])

    assert alternatives_of(unsigned(subject)) == frozenset()
    assert alternatives_of(unsigned(subject, extensions=key_usage)) == frozenset()
    assert alternatives_of(unsigned(subject, extensions=key_usage + alternatives)) == frozenset(names)


def test_the_identity_comes_from_the_first_certificate_of_a_chain() -> None:
    first, second = (unsigned(name([[(CN, UTF8, each)]])) for each in (b"broker", b"ca"))
    chain = ssl.DER_cert_to_PEM_cert(first) + ssl.DER_cert_to_PEM_cert(second)

    assert Identity.of(chain) == ("CN=broker", canonical_subject_of(first), frozenset())
    assert Identity.of(chain.replace("BEGIN CERTIFICATE", "BEGIN TRUSTED CERTIFICATE")) is None
