"""SaslHandshake (17) and SaslAuthenticate (36) outside of an authentication: ILLEGAL_SASL_STATE.

On a SASL listener, before and during authentication, auth/sasl_authenticator.py answers both.
"""

from __future__ import annotations

from kconf.errors import ErrorCode
from kconf.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kconf.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kconf.server.context import ApiRequest, ServerContext

_CODE = ErrorCode.ILLEGAL_SASL_STATE


def handle_handshake(
    _context: ServerContext, _request: SaslHandshakeRequest, _call: ApiRequest
) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(_CODE, ())


def handle_authenticate(
    _context: ServerContext, _request: SaslAuthenticateRequest, _call: ApiRequest
) -> SaslAuthenticateResponse:
    message = "SaslAuthenticate is accepted only after SaslHandshake, during authentication"
    return SaslAuthenticateResponse(_CODE, message, b"")
