"""SaslHandshake (17) and SaslAuthenticate (36) out of place: where nobody logs in, or who has done so already.

In their place they never come here: the gate of a SASL listener takes them (gate.py).
"""

from __future__ import annotations

from kconf.errors import ErrorCode
from kconf.server.context import Call, Context
from kconf.wire.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kconf.wire.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

_CODE = ErrorCode.ILLEGAL_SASL_STATE


def handle_handshake(_context: Context, _request: SaslHandshakeRequest, _call: Call) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(_CODE, ())


def handle_authenticate(_context: Context, _request: SaslAuthenticateRequest, _call: Call) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(_CODE, "SaslAuthenticate comes after SaslHandshake, and once", b"")
