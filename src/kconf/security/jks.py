"""Reads JKS, Java's old keystore format: certificates in DER, private keys encrypted with Sun's own cipher.

Format: magic, version, count; entries of tag 1 (an encrypted PKCS8 key and its chain) or 2 (a trusted certificate); and
a SHA-1 over the password, a phrase and all preceding bytes. JCEKS is another format and is rejected.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from hashlib import sha1
from typing import Final, NamedTuple

from kconf.errors import ConfigurationError

_PHRASE: Final = b"Mighty Aphrodite"
_KEY, _CERTIFICATE = 1, 2
_KEY_PROTECTOR: Final = b"\x06\x0a\x2b\x06\x01\x04\x01\x2a\x02\x11\x01\x01"  # 1.3.6.1.4.1.42.2.17.1.1


class _JksEntry(NamedTuple):
    key: bytes | None
    chain: list[bytes]


def certificates(data: bytes, path: str) -> list[bytes]:
    """All trusted certificates, as DER."""
    found = [each for entry in _entries(data, path) if entry.key is None for each in entry.chain]
    if not found:
        raise ConfigurationError(f"{path} contains no trusted certificate")
    return found


def private_key(data: bytes, path: str, password: str, key_password: str) -> tuple[bytes, list[bytes]]:
    """The first private key (PKCS8, DER) and its chain."""
    _check(data, path, password)
    for entry in _entries(data, path):
        if entry.key is not None:
            try:
                return _decrypted(entry.key, path, key_password), entry.chain
            except IndexError:
                raise ConfigurationError(f"{path} is a damaged JKS file") from None
    raise ConfigurationError(f"{path} contains no private key")


def _check(data: bytes, path: str, password: str) -> None:
    if sha1(password.encode("utf-16-be") + _PHRASE + data[:-20], usedforsecurity=False).digest() != data[-20:]:
        raise ConfigurationError(
            f"{path} cannot be opened; check ssl.keystore.password. To convert it: keytool -importkeystore "
            f"-srckeystore {path} -destkeystore {path}.p12 -deststoretype PKCS12"
        )


def _entries(data: bytes, path: str) -> Iterator[_JksEntry]:
    try:
        yield from _JksReader(data).entries()
    except (struct.error, IndexError):
        raise ConfigurationError(f"{path} is a damaged JKS file") from None


class _JksReader:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 4

    def entries(self) -> Iterator[_JksEntry]:
        version, count = self._u32(), self._u32()
        if version not in (1, 2):
            raise IndexError
        for _ in range(count):
            tag = self._u32()
            self._take(self._u16())  # the alias
            self._take(8)  # the creation time
            if tag == _KEY:
                key = self._take(self._u32())
                yield _JksEntry(key, [self._certificate(version) for _ in range(self._u32())])
            elif tag == _CERTIFICATE:
                yield _JksEntry(None, [self._certificate(version)])
            else:
                raise IndexError

    def _certificate(self, version: int) -> bytes:
        if version == 2:
            self._take(self._u16())  # the certificate type: X.509
        return self._take(self._u32())

    def _u16(self) -> int:
        return int.from_bytes(self._take(2), "big")

    def _u32(self) -> int:
        return int.from_bytes(self._take(4), "big")

    def _take(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._data):
            raise IndexError
        taken, self._at = self._data[self._at : end], end
        return taken


def _decrypted(protected: bytes, path: str, password: str) -> bytes:
    """Decrypt with Sun's cipher: a SHA-1 key stream from the password and the previous digest (first the salt), and a
    checksum.
    """
    at = protected.find(_KEY_PROTECTOR)
    if at < 0:
        raise ConfigurationError(f"{path} encrypts its key with an algorithm that is not supported")
    body = _octets(protected, at + len(_KEY_PROTECTOR))
    salt, cipher, check = body[:20], body[20:-20], body[-20:]
    secret = password.encode("utf-16-be")
    plain, block = bytearray(), salt
    for start in range(0, len(cipher), 20):
        block = sha1(secret + block, usedforsecurity=False).digest()
        plain += bytes(a ^ b for a, b in zip(cipher[start : start + 20], block, strict=False))
    if sha1(secret + bytes(plain), usedforsecurity=False).digest() != check:
        raise ConfigurationError(f"the private key of {path} cannot be opened; check ssl.key.password")
    return bytes(plain)


def _octets(der: bytes, at: int) -> bytes:
    """The OCTET STRING after an algorithm identifier with NULL parameters."""
    if der[at : at + 2] == b"\x05\x00":
        at += 2
    if der[at] != 4:
        raise IndexError
    size, at = der[at + 1], at + 2
    if size > 127:
        width = size & 127
        size, at = int.from_bytes(der[at : at + width], "big"), at + width
    return der[at : at + size]
