"""CreateDelegationToken (key 38), versions 1 to 3. v2 flexible · v3 a token for another owner (KIP-373)"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import BYTES, I16, I32, I64, STRING, Array, f, struct


@struct
class CreatableRenewers:
    principal_type: str = f(STRING)
    principal_name: str = f(STRING)


@struct
class CreateDelegationTokenRequest:
    owner_principal_type: str | None = f(STRING, since=3, nullable=3, default=None)
    owner_principal_name: str | None = f(STRING, since=3, nullable=3, default=None)
    renewers: Sequence[CreatableRenewers] = f(Array(CreatableRenewers), default=())
    max_lifetime_ms: int = f(I64, default=-1)


@struct
class CreateDelegationTokenResponse:
    error_code: int = f(I16)
    principal_type: str = f(STRING, default="")
    principal_name: str = f(STRING, default="")
    token_requester_principal_type: str = f(STRING, since=3, default="")
    token_requester_principal_name: str = f(STRING, since=3, default="")
    issue_timestamp_ms: int = f(I64, default=0)
    expiry_timestamp_ms: int = f(I64, default=0)
    max_timestamp_ms: int = f(I64, default=0)
    token_id: str = f(STRING, default="")
    hmac: bytes = f(BYTES, default=b"", secret=True)
    throttle_time_ms: int = f(I32, default=0)
