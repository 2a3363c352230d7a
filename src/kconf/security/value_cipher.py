"""Locks what must not be readable in a store's file: the broker's PASSWORD values and what it does not know.

A locked value is a JSON array where a plain one is a string, so neither can be taken for the other: the name of the
key, a nonce, and the bytes with their tag. HMAC-SHA-512 in counter mode hides, HMAC-SHA-256 over place, nonce and
bytes proves (encrypt, then authenticate): a value moved to another key does not open. The standard library has no
block cipher, and a store must not need more than that (docs/decisions/0005-locked-values.md).

The key comes from `password.encoder.secret` together with the store's key file; without a secret from the file alone.
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
    """`password.encoder.secret`, and the one before it. Never shown."""

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
        self._hide = hmac.digest(master, b"kconf vault: hide", sha256)
        self._prove = hmac.digest(master, b"kconf vault: prove", sha256)

    def crypt(self, nonce: bytes, data: bytes) -> bytes:
        blocks = range(-(-len(data) // 64))
        stream = b"".join(hmac.digest(self._hide, nonce + number.to_bytes(4, "big"), sha512) for number in blocks)
        return bytes(one ^ other for one, other in zip(data, stream, strict=False))

    def tag(self, place: str, nonce: bytes, data: bytes) -> bytes:
        where = place.encode()
        return hmac.digest(self._prove, len(where).to_bytes(4, "big") + where + nonce + data, sha256)


class ValueCipher:
    """One store's. What was locked with an older key opens too, as long as that key is given."""

    def __init__(self, seal: bytes, secrets: Secrets = NO_SECRETS) -> None:
        keys = [_Key(_stretched(each, seal)) for each in secrets if each is not None]
        keys.append(_Key(hmac.digest(seal, b"kconf vault", sha256)))
        self._current = keys[0]
        self._keys = {key.name: key for key in keys}
        self.refused: set[str] = set()  # what could not be opened, as "key of resource"

    def lock(self, place: str, value: str) -> Locked:
        key, nonce = self._current, token_bytes(_NONCE)
        hidden = key.crypt(nonce, value.encode())
        return [key.name, b64encode(nonce + hidden + key.tag(place, nonce, hidden)).decode()]

    def open(self, place: str, kept: Sequence[str]) -> str | None:
        """The value; None where no key fits, or the bytes were touched."""
        try:
            name, text = kept
            key, data = self._keys[name], b64decode(text, validate=True)
        except (ValueError, KeyError, TypeError, Base64Error):
            return None
        nonce, hidden, tag = data[:_NONCE], data[_NONCE:-_TAG], data[-_TAG:]
        if not hmac.compare_digest(key.tag(place, nonce, hidden), tag):
            return None
        return key.crypt(nonce, hidden).decode()

    def is_current(self, kept: Sequence[str]) -> bool:
        return kept[0] == self._current.name


def _stretched(secret: str, seal: bytes) -> bytes:
    return pbkdf2_hmac("sha512", secret.encode(), hmac.digest(seal, b"kconf vault salt", sha256), _ITERATIONS)
