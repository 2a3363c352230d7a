"""Salts and iterations that SCRAM returns for users that do not exist, so that they look like existing users.

They are derived from the store's key and the user name, so they are the same each time and on every server of a store.
Their shapes have the same frequencies as those of existing credentials: with a single shape, a user with any other
shape would be known to exist. A user name keeps its shape while other users are added and removed, as far as the
frequencies allow. If the shape changes, the salt changes too, as after a password change.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256, shake_256
from hmac import digest
from math import log
from secrets import token_bytes
from typing import Final, NamedTuple

from kconf.engine.access.scram_credentials import user_resource
from kconf.model.journal import Change, Revision
from kconf.model.resource import ResourceType
from kconf.model.scram import Credential, Mechanism
from kconf.model.snapshot import Snapshot
from kconf.security.scram import MIN_ITERATIONS, ScramError, credential, from_text

_JAVA: Final = re.compile(rb"[0-9a-z]{22,26}")
_JAVA_BITS: Final = 130
_MOST: Final = 16  # the most frequent shapes; others are ignored
_DIGITS: Final = b"0123456789abcdefghijklmnopqrstuvwxyz"


class CredentialShape(NamedTuple):
    """What a SCRAM challenge shows of a credential: iterations and salt size.

    `size` 0 is a salt in the format of Java's clients: a number in base 36.
    """

    size: int
    iterations: int

    def __str__(self) -> str:
        """Part of a salt's seed. Must never change, because a salt that changes shows that its user does not exist."""
        return f"Kind(size={self.size}, iterations={self.iterations})"


_DEFAULT_SHAPE: Final = CredentialShape(20, MIN_ITERATIONS)  # as kconf's own clients create them


class DummyCredentials:
    """Creates credentials for users that do not exist, with the shapes of existing credentials."""

    def __init__(self, key: bytes | None = None, snapshot: Snapshot = Snapshot.EMPTY) -> None:
        self._key = token_bytes(32) if key is None else key
        self._shapes: dict[str, Counter[CredentialShape]] = {}
        self._common: dict[str, list[tuple[CredentialShape, int]]] = {}
        for user in snapshot.names(ResourceType.SCRAM):
            for word, text in snapshot.overrides(user_resource(user)).items():
                self._count(word, text, 1)

    def __repr__(self) -> str:
        return "DummyCredentials([hidden])"

    def on_commit(self, revisions: Sequence[Revision]) -> None:
        for revision in revisions:
            for change in revision.changes:
                if change.resource.type == ResourceType.SCRAM:
                    self._changed(change)

    def credential(self, mechanism: Mechanism, user: str) -> Credential:
        """A credential that no password matches."""
        shape = self._shape(mechanism.word, user)
        seed = self._seed(user, mechanism.word, shape)
        salt = shake_256(seed).digest(shape.size) if shape.size else _java_salt(seed)
        return credential(mechanism, token_bytes(32), salt, shape.iterations)

    def _changed(self, change: Change) -> None:
        for text, count in ((change.before, -1), (change.after, 1)):
            if text is not None:
                self._count(change.key, text, count)

    def _count(self, word: str, text: str, count: int) -> None:
        try:
            stored = from_text(text)
        except ScramError:
            return
        if stored.iterations >= MIN_ITERATIONS:
            shapes = self._shapes.setdefault(word, Counter())
            size = 0 if _JAVA.fullmatch(stored.salt) else len(stored.salt)
            shapes[CredentialShape(size, stored.iterations)] += count
            self._common[word] = [each for each in shapes.most_common(_MOST) if each[1] > 0]

    def _shape(self, word: str, user: str) -> CredentialShape:
        """Choose the shape of a user: rendezvous hashing, weighted by the number of credentials with each shape."""
        there = self._common.get(word) or [(_DEFAULT_SHAPE, 1)]
        return min(there, key=lambda each: -log(self._chance(user, word, each[0])) / each[1])[0]

    def _chance(self, user: str, word: str, shape: CredentialShape) -> float:
        """A number in (0, 1] that clients cannot predict."""
        return (int.from_bytes(self._seed(user, word, shape, "draw")[:7], "big") + 1) / 2**56

    def _seed(self, *parts: object) -> bytes:
        return digest(self._key, "\0".join(map(str, parts)).encode(), sha256)


def _java_salt(seed: bytes) -> bytes:
    """A 130-bit number in base 36, the salt format of Kafka's clients."""
    number = int.from_bytes(shake_256(seed).digest(17), "big") >> (17 * 8 - _JAVA_BITS)
    digits = bytearray()
    while number:
        number, digit = divmod(number, 36)
        digits.append(_DIGITS[digit])
    return bytes(reversed(digits)) or b"0"
