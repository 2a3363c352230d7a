"""Encrypts values that must not be readable in a store's file: PASSWORD configs and unknown keys.

An encrypted value is a JSON array where a plain one is a string, so that they cannot be confused: the name of the key,
and the nonce, the ciphertext and the tag in base64. HMAC-SHA-512 in counter mode encrypts; HMAC-SHA-256 over place,
nonce and ciphertext authenticates (encrypt-then-MAC), so a value that was moved to another place cannot be decrypted.
The standard library has no block cipher, and a store must not need more (docs/decisions/0005-locked-values.md).

The key is derived from `password.encoder.secret` and the store's key file; without a secret from the file alone.
"""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Mapping, Sequence
from hashlib import pbkdf2_hmac, sha256, sha512
from secrets import token_bytes
from typing import Final, NamedTuple

_ITERATIONS: Final = 100_000
_NONCE: Final = 16
_TAG: Final = 32
Locked = list[str]


class Secrets(NamedTuple):
    """`password.encoder.secret` and `password.encoder.old.secret`. Never shown."""

    current: str | None = None
    old: str | None = None

    def __repr__(self) -> str:
        return "Secrets([hidden])"

    @classmethod
    def of(cls, static: Mapping[str, str]) -> Secrets:
        found = (static.get(f"password.encoder.{name}") or None for name in ("secret", "old.secret"))
        return cls(*found)


NO_SECRETS: Final = Secrets()


class _Key:
    def __init__(self, master: bytes) -> None:
        self.name = hmac.digest(master, b"kconf vault: name", sha256)[:6].hex()
        self._cipher_key = hmac.digest(master, b"kconf vault: hide", sha256)
        self._mac_key = hmac.digest(master, b"kconf vault: prove", sha256)

    def crypt(self, nonce: bytes, data: bytes) -> bytes:
        blocks = range(-(-len(data) // 64))
        stream = b"".join(hmac.digest(self._cipher_key, nonce + number.to_bytes(4, "big"), sha512) for number in blocks)
        return bytes(one ^ other for one, other in zip(data, stream, strict=False))

    def tag(self, place: str, nonce: bytes, data: bytes) -> bytes:
        where = place.encode()
        return hmac.digest(self._mac_key, len(where).to_bytes(4, "big") + where + nonce + data, sha256)


class ValueCipher:
    """The cipher of one store. Also decrypts values of an older key, if that key is given."""

    def __init__(self, seal: bytes, secrets: Secrets = NO_SECRETS) -> None:
        keys = [_Key(_derive_key(each, seal)) for each in secrets if each is not None]
        keys.append(_Key(hmac.digest(seal, b"kconf vault", sha256)))
        self._current = keys[0]
        self._keys = {key.name: key for key in keys}
        self.refused: set[str] = set()  # what could not be decrypted, as "key of resource"

    def lock(self, place: str, value: str) -> Locked:
        key, nonce = self._current, token_bytes(_NONCE)
        ciphertext = key.crypt(nonce, value.encode())
        return [key.name, b64encode(nonce + ciphertext + key.tag(place, nonce, ciphertext)).decode()]

    def open(self, place: str, locked: Sequence[str]) -> str | None:
        """The value; None if no key matches or the bytes were altered."""
        try:
            name, text = locked
            key, data = self._keys[name], b64decode(text, validate=True)
        except (ValueError, KeyError, TypeError, Base64Error):
            return None
        nonce, ciphertext, tag = data[:_NONCE], data[_NONCE:-_TAG], data[-_TAG:]
        if not hmac.compare_digest(key.tag(place, nonce, ciphertext), tag):
            return None
        return key.crypt(nonce, ciphertext).decode()

    def is_current(self, locked: Sequence[str]) -> bool:
        return locked[0] == self._current.name


def _derive_key(secret: str, seal: bytes) -> bytes:
    return pbkdf2_hmac("sha512", secret.encode(), hmac.digest(seal, b"kconf vault salt", sha256), _ITERATIONS)
