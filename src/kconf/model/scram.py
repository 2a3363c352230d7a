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
    """A credential as described to clients."""

    mechanism: Mechanism
    iterations: int


@dataclass(frozen=True, slots=True)
class Credential:
    """A credential as stored by a server. It can verify a password, but not be used to log in elsewhere."""

    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int


def shown_iterations(text: str | None) -> int | None:
    """The iterations in the text of a credential, or None.

    In a journal: `iterations=4096 hmac:…`. In a stored credential: `salt=…,iterations=4096`.
    """
    found = _ITERATIONS.search(text or "")
    return None if found is None else int(found[1])


@dataclass(frozen=True, slots=True)
class UserScramCredentialUpsertion:
    """A credential to set. The client salts the password; the server never sees it."""

    user: str
    mechanism: int
    iterations: int
    salt: bytes = field(repr=False)
    salted_password: bytes = field(repr=False)


class UserScramCredentialDeletion(NamedTuple):
    """A credential to remove."""

    user: str
    mechanism: int
