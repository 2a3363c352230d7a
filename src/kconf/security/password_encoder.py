"""Encodes passwords as Kafka up to 3.9 does in ZooKeeper, so that brokers and kconf can read each other's.

The encoded text contains its parameters as comma-separated `key:value` pairs. The AES key is derived from
`password.encoder.secret` (PBKDF2, with a new salt each time). The mode is CBC or GCM. A broker reads GCM only if its
own `password.encoder.cipher.algorithm` is GCM; kconf reads both. A text that was encoded with
`password.encoder.old.secret` is decoded too, and marked, so that it can be encoded again. The ciphers are from the
package `cryptography` (the extra `kconf[tls]`). kconf's own stores use value_cipher.py instead.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import pbkdf2_hmac
from secrets import token_bytes
from typing import TYPE_CHECKING, Final, NamedTuple

from kconf.errors import ConfigurationError
from kconf.security.value_cipher import Secrets

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.modes import CBC, GCM

_PREFIX: Final = "password.encoder."
_FACTORY: Final = "PBKDF2WithHmacSHA512"
_HASHES: Final = {f"PBKDF2WithHmacSHA{size}": f"sha{size}" for size in (1, 224, 256, 384, 512)}
_CBC: Final = "AES/CBC/PKCS5Padding"
_GCM: Final = "AES/GCM/NoPadding"
_KEY_BITS: Final = (128, 192, 256)
_SALT: Final = 256
_BLOCK: Final = 16
_NONCE: Final = 12
_TAG: Final = 16
_MOST_ITERATIONS: Final = 10_000_000  # limits the work for decoding a text


class UndecodablePassword(ConfigurationError):
    """A text is not in Kafka's format, or no secret decodes it. The message does not contain it."""


class Decoded(NamedTuple):
    value: str
    current: bool  # False if encoded with the old secret

    def __repr__(self) -> str:
        return "Decoded([hidden])"


@dataclass(frozen=True, slots=True)
class PasswordEncoder:
    """Encodes with the current secret. Decodes with the current or the old secret."""

    secrets: Secrets
    factory: str = _FACTORY
    cipher: str = _CBC
    key_bits: int = 128
    iterations: int = 4096

    def __post_init__(self) -> None:
        if not self.secrets.current:
            raise ConfigurationError(f"{_PREFIX}secret is required to store passwords in ZooKeeper, as in Kafka")
        if self.factory not in _HASHES:
            raise ConfigurationError(f"{_PREFIX}keyfactory.algorithm must be one of {', '.join(_HASHES)}")
        if self.cipher not in (_CBC, _GCM):
            raise ConfigurationError(f"{_PREFIX}cipher.algorithm must be {_CBC} or {_GCM}")
        if self.key_bits not in _KEY_BITS:
            raise ConfigurationError(f"{_PREFIX}key.length must be 128, 192 or 256")
        if not 1024 <= self.iterations <= _MOST_ITERATIONS:
            raise ConfigurationError(f"{_PREFIX}iterations must be a number from 1024 to {_MOST_ITERATIONS}")
        try:
            import cryptography  # noqa: F401
        except ImportError:
            raise ConfigurationError(
                f"{_PREFIX}secret requires the package cryptography: pip install 'kconf[tls]'"
            ) from None

    @classmethod
    def of(cls, static: Mapping[str, str]) -> PasswordEncoder | None:
        """The encoder configured in server.properties, or None without a secret: then there are no passwords either."""
        secrets = Secrets.of(static)
        if secrets.current is None:
            return None
        return cls(
            secrets,
            static.get(f"{_PREFIX}keyfactory.algorithm") or _FACTORY,
            static.get(f"{_PREFIX}cipher.algorithm") or _CBC,
            _number(static, "key.length", 128),
            _number(static, "iterations", 4096),
        )

    def encode(self, password: str) -> str:
        """Encode with the current secret. The text differs each time."""
        salt = token_bytes(_SALT)
        vector = token_bytes(_NONCE if self.cipher == _GCM else _BLOCK)
        key = _derive_key(self.secrets.current or "", self.factory, salt, self.iterations, self.key_bits)
        parts = {
            "keyFactoryAlgorithm": self.factory,
            "cipherAlgorithm": self.cipher,
            "keyLength": str(self.key_bits),
            "salt": b64encode(salt).decode(),
            "iterations": str(self.iterations),
            "encryptedPassword": b64encode(_encrypt(self.cipher, key, vector, password.encode())).decode(),
            "passwordLength": str(_length(password)),
            "initializationVector": b64encode(vector).decode(),
        }
        if self.cipher == _GCM:
            parts["authenticationTagLength"] = str(8 * _TAG)
        return ",".join(f"{name}:{value}" for name, value in parts.items())

    def decode(self, text: str) -> Decoded:
        """The password, and whether the current secret decoded it. Raises `UndecodablePassword`."""
        encoded = _EncodedPassword.read(text)
        for secret in self.secrets:
            value = None if secret is None else encoded.decrypt(secret)
            if value is not None:
                return Decoded(value, secret == self.secrets.current)
        raise UndecodablePassword(
            "a password cannot be decoded with password.encoder.secret or password.encoder.old.secret"
        )

    def renewed(self, text: str) -> str | None:
        """Encode a text again that was encoded with the old secret. None if it is current."""
        found = self.decode(text)
        return None if found.current else self.encode(found.value)


@dataclass(frozen=True, slots=True)
class _EncodedPassword:
    """The parts of one encoded password."""

    factory: str
    cipher: str
    key_bits: int
    iterations: int
    length: int
    salt: bytes = field(repr=False)
    vector: bytes = field(repr=False)
    ciphertext: bytes = field(repr=False)

    @classmethod
    def read(cls, text: str) -> _EncodedPassword:
        parts = dict(each.strip().rpartition(":")[::2] for each in text.split(","))
        try:
            bits, iterations, length = (int(parts[name]) for name in ("keyLength", "iterations", "passwordLength"))
            names = ("salt", "initializationVector", "encryptedPassword")
            data = (b64decode(parts[name], validate=True) for name in names)
            made = cls(parts["keyFactoryAlgorithm"], parts["cipherAlgorithm"], bits, iterations, length, *data)
        except (KeyError, ValueError, Base64Error):
            raise UndecodablePassword("a password is not in Kafka's format") from None
        if (
            made.factory not in _HASHES
            or made.cipher not in (_CBC, _GCM)
            or made.key_bits not in _KEY_BITS
            or not 0 < made.iterations <= _MOST_ITERATIONS
            or not made._fits()
        ):
            raise UndecodablePassword("a password was encoded with parameters that kconf does not support")
        return made

    def _fits(self) -> bool:
        if self.cipher == _GCM:
            return 8 <= len(self.vector) <= 128 and len(self.ciphertext) >= _TAG
        return len(self.vector) == _BLOCK and len(self.ciphertext) >= _BLOCK and len(self.ciphertext) % _BLOCK == 0

    def decrypt(self, secret: str) -> str | None:
        """The password, or None if the secret is wrong.

        CBC has no authentication, so padding and length are checked.
        """
        key = _derive_key(secret, self.factory, self.salt, self.iterations, self.key_bits)
        try:
            value = _decrypt(self.cipher, key, self.vector, self.ciphertext).decode()
        except ValueError:
            return None
        return value if _length(value) == self.length else None


def _derive_key(secret: str, factory: str, salt: bytes, iterations: int, bits: int) -> bytes:
    return pbkdf2_hmac(_HASHES[factory], secret.encode(), salt, iterations, bits // 8)


def _length(password: str) -> int:
    """The number of UTF-16 code units, as in Java."""
    return len(password.encode("utf-16-le", "surrogatepass")) // 2


def _encrypt(cipher: str, key: bytes, vector: bytes, data: bytes) -> bytes:
    if cipher == _CBC:
        pad = _BLOCK - len(data) % _BLOCK
        encryptor = _cbc(key, vector).encryptor()
        return encryptor.update(data + bytes([pad]) * pad) + encryptor.finalize()
    encryptor = _gcm(key, vector).encryptor()
    return encryptor.update(data) + encryptor.finalize() + encryptor.tag


def _decrypt(cipher: str, key: bytes, vector: bytes, ciphertext: bytes) -> bytes:
    """Decrypt. Raises ValueError if the key is wrong."""
    from cryptography.exceptions import InvalidTag

    if cipher == _CBC:
        decryptor = _cbc(key, vector).decryptor()
        data = decryptor.update(ciphertext) + decryptor.finalize()
        pad = data[-1]
        if not 1 <= pad <= _BLOCK or data[-pad:] != bytes([pad]) * pad:
            raise ValueError("padding")
        return data[:-pad]
    try:
        decryptor = _gcm(key, vector, ciphertext[-_TAG:]).decryptor()
        return decryptor.update(ciphertext[:-_TAG]) + decryptor.finalize()
    except InvalidTag:
        raise ValueError("tag") from None


def _cbc(key: bytes, vector: bytes) -> Cipher[CBC]:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    return Cipher(algorithms.AES(key), modes.CBC(vector))


def _gcm(key: bytes, vector: bytes, tag: bytes | None = None) -> Cipher[GCM]:
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    return Cipher(algorithms.AES(key), modes.GCM(vector, tag))


def _number(static: Mapping[str, str], name: str, default: int) -> int:
    text = static.get(f"{_PREFIX}{name}", "").strip()
    if text and not text.isdecimal():
        raise ConfigurationError(f"{_PREFIX}{name} must be a number")
    return int(text) if text else default
