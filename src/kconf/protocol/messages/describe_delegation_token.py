"""DescribeDelegationToken (key 41), versions 0 to 3. v2 flexible · v3 the token's requester"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import BYTES, I16, I32, I64, STRING, Array, f, struct


@struct
class DescribeDelegationTokenOwner:
    principal_type: str = f(STRING)
    principal_name: str = f(STRING)


@struct
class DescribeDelegationTokenRequest:
    owners: Sequence[DescribeDelegationTokenOwner] | None = f(Array(DescribeDelegationTokenOwner), nullable=0)


@struct
class DescribedDelegationTokenRenewer:
    principal_type: str = f(STRING)
    principal_name: str = f(STRING)


@struct
class DescribedDelegationToken:
    principal_type: str = f(STRING)
    principal_name: str = f(STRING)
    token_requester_principal_type: str = f(STRING, since=3, default="")
    token_requester_principal_name: str = f(STRING, since=3, default="")
    issue_timestamp: int = f(I64, default=0)
    expiry_timestamp: int = f(I64, default=0)
    max_timestamp: int = f(I64, default=0)
    token_id: str = f(STRING, default="")
    hmac: bytes = f(BYTES, default=b"")
    renewers: Sequence[DescribedDelegationTokenRenewer] = f(Array(DescribedDelegationTokenRenewer), default=())


@struct
class DescribeDelegationTokenResponse:
    error_code: int = f(I16)
    tokens: Sequence[DescribedDelegationToken] = f(Array(DescribedDelegationToken))
    throttle_time_ms: int = f(I32, default=0)
