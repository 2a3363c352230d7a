"""SCRAM credentials, and requests to change them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, NamedTuple

_ITERATIONS: Final = re.compile(r"(?:^|,)iterations=(\d+)(?: |$)")


class Mechanism(IntEnum):
    """SCRAM mechanisms, with their numbers in the protocol."""

    UNKNOWN = 0
    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def word(self) -> str:
        """The name of the SASL mechanism."""
        return self.name.replace("_", "-")


class CredentialInfo(NamedTuple):
    """What describing a credential returns."""

    mechanism: Mechanism
    iterations: int


@dataclass(frozen=True, slots=True)
class Credential:
    """What a server stores: enough to verify a password, not enough to log in elsewhere."""

    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int


def shown_iterations(text: str | None) -> int | None:
    """The iterations in a text about a credential; None if it has none.

    A journal has `iterations=4096 hmac:…`, a stored credential `salt=…,iterations=4096`.
    """
    found = _ITERATIONS.search(text or "")
    return None if found is None else int(found[1])


@dataclass(frozen=True, slots=True)
class UserScramCredentialUpsertion:
    """A credential to be set: the client salts the password, and the server never sees it."""

    user: str
    mechanism: int
    iterations: int
    salt: bytes = field(repr=False)
    salted_password: bytes = field(repr=False)


class UserScramCredentialDeletion(NamedTuple):
    """A credential to be removed."""

    user: str
    mechanism: int
