"""DescribeUserScramCredentials (key 50), version 0, flexible (KIP-554): mechanisms and iterations of users."""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import I8, I16, I32, STRING, Array, f, struct


@struct
class ScramUserName:
    name: str = f(STRING)


@struct
class DescribeUserScramCredentialsRequest:
    users: Sequence[ScramUserName] | None = f(Array(ScramUserName), nullable=0, default=None)


@struct
class ScramCredentialInfo:
    mechanism: int = f(I8)
    iterations: int = f(I32)


@struct
class DescribedScramUser:
    user: str = f(STRING)
    error_code: int = f(I16, default=0)
    error_message: str | None = f(STRING, nullable=0, default=None)
    credential_infos: Sequence[ScramCredentialInfo] = f(Array(ScramCredentialInfo), default=())


@struct
class DescribeUserScramCredentialsResponse:
    throttle_time_ms: int = f(I32, default=0)
    error_code: int = f(I16, default=0)
    error_message: str | None = f(STRING, nullable=0, default=None)
    results: Sequence[DescribedScramUser] = f(Array(DescribedScramUser), default=())
