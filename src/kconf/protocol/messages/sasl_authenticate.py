"""SaslAuthenticate (key 36), versions 0 to 2: exchanges one token. v1 session lifetime (KIP-368) · v2 flexible."""

from __future__ import annotations

from kconf.protocol.codec.fields import BYTES, I16, I64, STRING, f, struct


@struct
class SaslAuthenticateRequest:
    auth_bytes: bytes = f(BYTES, secret=True)


@struct
class SaslAuthenticateResponse:
    error_code: int = f(I16)
    error_message: str | None = f(STRING, nullable=0)
    auth_bytes: bytes = f(BYTES, secret=True)
    session_lifetime_ms: int = f(I64, since=1, default=0)
