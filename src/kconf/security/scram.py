"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677) as in Kafka, for client, server and stores.

No channel binding, no SASLprep: names and passwords are plain UTF-8. Nonces and salts are parameters, so nothing here
is random. Errors are `ScramError`s, which never contain a secret; a server should send its client less detail.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from hashlib import new as new_hash
from hashlib import pbkdf2_hmac
from hmac import compare_digest, digest
from typing import Final, NamedTuple

from kconf.errors import KconfError
from kconf.model.scram import Credential, Mechanism

MIN_ITERATIONS: Final = 4096
MAX_ITERATIONS: Final = 16384
_MOST_ITERATIONS: Final = 1_000_000  # maximum iterations that a client performs

_HASHES: Final = {Mechanism.SCRAM_SHA_256: "sha256", Mechanism.SCRAM_SHA_512: "sha512"}
_GS2: Final = "n,,"
_ITERATIONS: Final = re.compile(r"(?:^|,)iterations=(\d+)")


class ScramError(KconfError):
    """A malformed message, or an invalid proof."""


def salted_password(mechanism: Mechanism, password: str, salt: bytes, iterations: int) -> bytes:
    """RFC 5802's Hi(). Everything else is derived from this, not from the password."""
    return pbkdf2_hmac(_HASHES[mechanism], password.encode(), salt, iterations)


def credential(mechanism: Mechanism, salted: bytes, salt: bytes, iterations: int) -> Credential:
    """What a server stores for a salted password."""
    name = _HASHES[mechanism]
    stored = new_hash(name, digest(salted, b"Client Key", name)).digest()
    return Credential(salt, stored, digest(salted, b"Server Key", name), iterations)


def to_text(stored: Credential) -> str:
    """A credential in the format that Kafka stores."""
    parts = {"salt": stored.salt, "stored_key": stored.stored_key, "server_key": stored.server_key}
    return ",".join(f"{name}={_encoded(value)}" for name, value in parts.items()) + f",iterations={stored.iterations}"


def from_text(text: str) -> Credential:
    """Parse the format that Kafka stores: these four keys in any order, and no others."""
    parts = dict(each.partition("=")[::2] for each in text.split(","))
    if parts.keys() != {"salt", "stored_key", "server_key", "iterations"} or not parts["iterations"].isdecimal():
        raise ScramError("a stored credential is invalid: it must have salt, stored_key, server_key and iterations")
    salt, stored, server = (_decoded(parts[name]) for name in ("salt", "stored_key", "server_key"))
    return Credential(salt, stored, server, int(parts["iterations"]))


def iterations_of(text: str) -> int:
    """The iterations of a stored credential. A credential from a metadata log contains nothing else."""
    found = _ITERATIONS.search(text)
    if found is None:
        raise ScramError("a stored credential contains no iterations")
    return int(found[1])


class ScramClient:
    """The client side, in three steps: `first()`, `final(server_first)`, `verify(server_final)`."""

    def __init__(self, mechanism: Mechanism, user: str, password: str, nonce: str, *, extensions: str = "") -> None:
        self._mechanism, self._password, self._nonce = mechanism, password, nonce
        self._bare = f"n={_escaped(user)},r={nonce}" + (f",{extensions}" if extensions else "")
        self._signature = b""

    def first(self) -> bytes:
        return f"{_GS2}{self._bare}".encode()

    def final(self, server_first: bytes) -> bytes:
        """The proof that the client knows the password."""
        text = _text(server_first)
        parts = _attributes(text)
        nonce, salt, count = parts.get("r", ""), parts.get("s"), parts.get("i", "")
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise ScramError("the server's nonce does not start with the client's")
        if salt is None or not count.isdecimal() or not 0 < int(count) <= _MOST_ITERATIONS:
            raise ScramError("the server's first message lacks a salt or iterations")
        name = _HASHES[self._mechanism]
        salted = salted_password(self._mechanism, self._password, _decoded(salt), int(count))
        without_proof = f"c={_encoded(_GS2.encode())},r={nonce}"
        message = f"{self._bare},{text},{without_proof}".encode()
        client_key = digest(salted, b"Client Key", name)
        proof = _xor(client_key, digest(new_hash(name, client_key).digest(), message, name))
        self._signature = digest(digest(salted, b"Server Key", name), message, name)
        return f"{without_proof},p={_encoded(proof)}".encode()

    def verify(self, server_final: bytes) -> None:
        """Check that the server knows the password too."""
        parts = _attributes(_text(server_final))
        if "e" in parts:
            raise ScramError(f"the server refused the login: {parts['e']}")
        if not self._signature or not compare_digest(_decoded(parts.get("v", "")), self._signature):
            raise ScramError("the server's signature is invalid: the server does not know the password")


class ClientFirst(NamedTuple):
    """A client's first message; `authzid` is empty or the user."""

    user: str
    authzid: str
    nonce: str
    bare: str
    extensions: dict[str, str]


def read_client_first(message: bytes) -> ClientFirst:
    """Parse a client's first message. As in Kafka, the header must be `n` (no channel binding)."""
    text = _text(message)
    parts = text.split(",", 2)
    if len(parts) != 3 or parts[0] != "n" or not (parts[1] == "" or parts[1].startswith("a=")):
        raise ScramError("the client's first message does not start with the GS2 header n")
    bare = parts[2]
    if not bare.startswith("n="):
        raise ScramError("the client's first message does not start with a name")
    named = _attributes(bare)
    user, nonce = _unescaped(named.pop("n")), named.pop("r", "")
    authzid = _unescaped(parts[1][2:])
    if not user or not nonce or list(_attributes(bare))[:2] != ["n", "r"]:
        raise ScramError("the client's first message lacks a name or a nonce")
    if authzid not in ("", user):
        raise ScramError("the authorization ID differs from the user name")
    return ClientFirst(user, authzid, nonce, bare, named)


class ScramServer:
    """The server side, in two steps after `read_client_first`: `first()`, `final(client_final)`.

    For an unknown user a server may continue with a credential that no password matches, to hide which users exist.
    """

    def __init__(self, mechanism: Mechanism, client_first: ClientFirst, stored: Credential, nonce: str) -> None:
        self._mechanism, self._client_first, self._stored = mechanism, client_first, stored
        self._nonce = client_first.nonce + nonce

    def first(self) -> bytes:
        return f"r={self._nonce},s={_encoded(self._stored.salt)},i={self._stored.iterations}".encode()

    def final(self, client_final: bytes) -> bytes:
        """The server's proof, if the client's is valid."""
        text = _text(client_final)
        without_proof, found, proof_text = text.rpartition(",p=")
        parts = _attributes(without_proof)
        header = "n," + (f"a={_escaped(self._client_first.authzid)}" if self._client_first.authzid else "") + ","
        # The whole nonce must be compared (CVE-2024-56128).
        if not found or not compare_digest(parts.get("r", "").encode(), self._nonce.encode()):
            raise ScramError("the client's final message has a different nonce")
        if _decoded(parts.get("c", "")) != header.encode():
            raise ScramError("the client's final message has a different header than its first")
        name = _HASHES[self._mechanism]
        message = b",".join((self._client_first.bare.encode(), self.first(), without_proof.encode()))
        proof, signature = _decoded(proof_text), digest(self._stored.stored_key, message, name)
        if len(proof) != len(signature):
            raise ScramError("the client's proof has the wrong length")
        if not compare_digest(new_hash(name, _xor(proof, signature)).digest(), self._stored.stored_key):
            raise ScramError("the client's proof is invalid")
        return f"v={_encoded(digest(self._stored.server_key, message, name))}".encode()


def _text(message: bytes) -> str:
    try:
        return message.decode()
    except UnicodeDecodeError:
        raise ScramError("a message is not UTF-8") from None


def _attributes(text: str) -> dict[str, str]:
    """Parse `n=x,r=y`, in order. If a name is repeated, the first one counts."""
    found: dict[str, str] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals or not name:
            raise ScramError("a message does not consist of attributes")
        found.setdefault(name, value)
    return found


def _escaped(name: str) -> str:
    return name.replace("=", "=3D").replace(",", "=2C")


def _unescaped(name: str) -> str:
    plain = name.replace("=2C", ",").replace("=3D", "\0")
    if "=" in plain:
        raise ScramError("a name has an unescaped '='")
    return plain.replace("\0", "=")


def _encoded(value: bytes) -> str:
    return b64encode(value).decode()


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (Base64Error, ValueError):
        raise ScramError("a message contains invalid base64") from None


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))
