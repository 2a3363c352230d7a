"""SCRAM credentials: what is kept of a password, and what is told of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple


class Mechanism(IntEnum):
    """The wire numbers of SCRAM mechanisms."""

    UNKNOWN = 0
    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def word(self) -> str:
        """As SASL spells it."""
        return self.name.replace("_", "-")


class CredentialInfo(NamedTuple):
    """What anyone with the right may be told."""

    mechanism: Mechanism
    iterations: int


@dataclass(frozen=True, slots=True)
class Credential:
    """What a server keeps: enough to check a password, not enough to log in elsewhere."""

    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int


@dataclass(frozen=True, slots=True)
class UserScramCredentialUpsertion:
    """A credential to be set: the client salts the password, the server never sees it."""

    user: str
    mechanism: int
    iterations: int
    salt: bytes = field(repr=False)
    salted_password: bytes = field(repr=False)


class UserScramCredentialDeletion(NamedTuple):
    """A credential to be removed."""

    user: str
    mechanism: int
