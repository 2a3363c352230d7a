"""ExpireDelegationToken (key 40), versions 0 to 2. v2 flexible"""

from __future__ import annotations

from kconf.protocol.codec.fields import BYTES, I16, I32, I64, f, struct


@struct
class ExpireDelegationTokenRequest:
    hmac: bytes = f(BYTES, secret=True)
    expiry_time_period_ms: int = f(I64)


@struct
class ExpireDelegationTokenResponse:
    error_code: int = f(I16)
    expiry_timestamp_ms: int = f(I64, default=0)
    throttle_time_ms: int = f(I32, default=0)
