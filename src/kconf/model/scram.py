"""SCRAM credentials, and requests to change them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple


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
