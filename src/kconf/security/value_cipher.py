"""Encrypts values that must not be readable in a store: brokers' PASSWORD values and values of unknown keys.

An encrypted value is a JSON array, while a plain one is a string, so they cannot be confused. The array contains the
name of the encryption key, and nonce, ciphertext and tag. HMAC-SHA-512 in counter mode encrypts; HMAC-SHA-256 over
context, nonce and ciphertext authenticates (encrypt-then-MAC), so a value that was moved to another config key cannot
be decrypted. The standard library has no block cipher, and a store must not need other packages
(docs/decisions/0005-encrypted-values.md).

The key is derived from `password.encoder.secret` and the store's key file; without a secret, from the file alone.
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
EncryptedValue = list[str]


class Secrets(NamedTuple):
    """`password.encoder.secret` and `password.encoder.old.secret`. The repr does not show them."""

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
        self._encryption_key = hmac.digest(master, b"kconf vault: hide", sha256)
        self._mac_key = hmac.digest(master, b"kconf vault: prove", sha256)

    def crypt(self, nonce: bytes, data: bytes) -> bytes:
        blocks = range(-(-len(data) // 64))
        stream = b"".join(
            hmac.digest(self._encryption_key, nonce + number.to_bytes(4, "big"), sha512) for number in blocks
        )
        return bytes(one ^ other for one, other in zip(data, stream, strict=False))

    def tag(self, context: str, nonce: bytes, data: bytes) -> bytes:
        where = context.encode()
        return hmac.digest(self._mac_key, len(where).to_bytes(4, "big") + where + nonce + data, sha256)


class ValueCipher:
    """The cipher of one store. Also decrypts values that were encrypted with the old secret, if it is configured."""

    def __init__(self, store_key: bytes, secrets: Secrets = NO_SECRETS) -> None:
        keys = [_Key(_stretched(each, store_key)) for each in secrets if each is not None]
        keys.append(_Key(hmac.digest(store_key, b"kconf vault", sha256)))
        self._current = keys[0]
        self._keys = {key.name: key for key in keys}
        self.undecryptable: set[str] = set()  # values that cannot be decrypted, as "key of resource"

    def encrypt(self, context: str, value: str) -> EncryptedValue:
        """Encrypt a value. `context` contains its resource and config key, and is authenticated."""
        key, nonce = self._current, token_bytes(_NONCE)
        ciphertext = key.crypt(nonce, value.encode())
        return [key.name, b64encode(nonce + ciphertext + key.tag(context, nonce, ciphertext)).decode()]

    def decrypt(self, context: str, encrypted: Sequence[str]) -> str | None:
        """Decrypt a value. None if no key fits or the bytes were modified."""
        try:
            name, text = encrypted
            key, data = self._keys[name], b64decode(text, validate=True)
        except (ValueError, KeyError, TypeError, Base64Error):
            return None
        nonce, ciphertext, tag = data[:_NONCE], data[_NONCE:-_TAG], data[-_TAG:]
        if not hmac.compare_digest(key.tag(context, nonce, ciphertext), tag):
            return None
        return key.crypt(nonce, ciphertext).decode()

    def is_current(self, encrypted: Sequence[str]) -> bool:
        """Whether a value was encrypted with the current key."""
        return encrypted[0] == self._current.name


def _stretched(secret: str, store_key: bytes) -> bytes:
    return pbkdf2_hmac("sha512", secret.encode(), hmac.digest(store_key, b"kconf vault salt", sha256), _ITERATIONS)
