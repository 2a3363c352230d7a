"""AlterUserScramCredentials (key 51), version 0, flexible (KIP-554).

The salted password is as sensitive as the password: the repr shows neither it nor the salt.
"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import BYTES, I8, I16, I32, STRING, Array, f, struct


@struct
class ScramCredentialDeletion:
    name: str = f(STRING)
    mechanism: int = f(I8)


@struct
class ScramCredentialUpsertion:
    name: str = f(STRING)
    mechanism: int = f(I8)
    iterations: int = f(I32)
    salt: bytes = f(BYTES, secret=True)
    salted_password: bytes = f(BYTES, secret=True)


@struct
class AlterUserScramCredentialsRequest:
    deletions: Sequence[ScramCredentialDeletion] = f(Array(ScramCredentialDeletion), default=())
    upsertions: Sequence[ScramCredentialUpsertion] = f(Array(ScramCredentialUpsertion), default=())
    reason: str | None = f(STRING, nullable=0, tag=40002, default=None)  # kconf: for the journal


@struct
class AlteredScramUser:
    user: str = f(STRING)
    error_code: int = f(I16, default=0)
    error_message: str | None = f(STRING, nullable=0, default=None)


@struct
class AlterUserScramCredentialsResponse:
    throttle_time_ms: int = f(I32, default=0)
    results: Sequence[AlteredScramUser] = f(Array(AlteredScramUser), default=())
