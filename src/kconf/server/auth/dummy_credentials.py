"""What a user that does not exist is shown by SCRAM: a salt and iterations that could be anyone's.

They are the same each time, and on every server of a store, since they follow from its key and the name. Their kind is
drawn from those of the credentials that are there, as often as these have it: were the kind always the same, whoever
has another would be known to exist. A name keeps its kind while others come and go, as far as the shares allow; when it
changes, the salt is another one too, as after a change of password.
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
_MOST: Final = 16  # kinds that are told apart; rarer ones are left out
_DIGITS: Final = b"0123456789abcdefghijklmnopqrstuvwxyz"


class Kind(NamedTuple):
    """What a challenge shows of a credential. `size` 0: a salt as Java's clients make it, a number in base 36."""

    size: int
    iterations: int


_OURS: Final = Kind(20, MIN_ITERATIONS)  # as kconf's own clients make them


class DummyCredentials:
    """Follows the credentials that there are, and makes up those that there are not."""

    def __init__(self, key: bytes | None = None, snapshot: Snapshot = Snapshot.EMPTY) -> None:
        self._key = token_bytes(32) if key is None else key
        self._kinds: dict[str, Counter[Kind]] = {}
        self._drawn: dict[str, list[tuple[Kind, int]]] = {}
        for user in snapshot.names(ResourceType.SCRAM):
            for word, text in snapshot.overrides(user_resource(user)).items():
                self._count(word, text, 1)

    def __repr__(self) -> str:
        return "Decoys([hidden])"

    def follow(self, revisions: Sequence[Revision]) -> None:
        for revision in revisions:
            for change in revision.changes:
                if change.resource.type == ResourceType.SCRAM:
                    self._changed(change)

    def credential(self, mechanism: Mechanism, user: str) -> Credential:
        """One that no password fits."""
        kind = self._kind(mechanism.word, user)
        seed = self._seed(user, mechanism.word, kind)
        salt = shake_256(seed).digest(kind.size) if kind.size else _java_salt(seed)
        return credential(mechanism, token_bytes(32), salt, kind.iterations)

    def _changed(self, change: Change) -> None:
        for text, count in ((change.before, -1), (change.after, 1)):
            if text is not None:
                self._count(change.key, text, count)

    def _count(self, word: str, text: str, count: int) -> None:
        try:
            kept = from_text(text)
        except ScramError:
            return
        if kept.iterations >= MIN_ITERATIONS:
            kinds = self._kinds.setdefault(word, Counter())
            size = 0 if _JAVA.fullmatch(kept.salt) else len(kept.salt)
            kinds[Kind(size, kept.iterations)] += count
            self._drawn[word] = [each for each in kinds.most_common(_MOST) if each[1] > 0]

    def _kind(self, word: str, user: str) -> Kind:
        """Each kind bids with its share; a name goes to the highest bidder (weighted rendezvous)."""
        there = self._drawn.get(word) or [(_OURS, 1)]
        return min(there, key=lambda each: -log(self._chance(user, word, each[0])) / each[1])[0]

    def _chance(self, user: str, word: str, kind: Kind) -> float:
        """A number above 0 and up to 1 that nobody else can foretell."""
        return (int.from_bytes(self._seed(user, word, kind, "draw")[:7], "big") + 1) / 2**56

    def _seed(self, *parts: object) -> bytes:
        return digest(self._key, "\0".join(map(str, parts)).encode(), sha256)


def _java_salt(seed: bytes) -> bytes:
    """A number of 130 bits in base 36, as Kafka's clients write it."""
    number = int.from_bytes(shake_256(seed).digest(17), "big") >> (17 * 8 - _JAVA_BITS)
    digits = bytearray()
    while number:
        number, digit = divmod(number, 36)
        digits.append(_DIGITS[digit])
    return bytes(reversed(digits)) or b"0"
