"""RenewDelegationToken (key 39), versions 1 to 2. v2 flexible"""

from __future__ import annotations

from kconf.protocol.codec.fields import BYTES, I16, I32, I64, f, struct


@struct
class RenewDelegationTokenRequest:
    hmac: bytes = f(BYTES, secret=True)
    renew_period_ms: int = f(I64, default=-1)


@struct
class RenewDelegationTokenResponse:
    error_code: int = f(I16)
    expiry_timestamp_ms: int = f(I64, default=0)
    throttle_time_ms: int = f(I32, default=0)
