"""The OAUTHBEARER exchange (RFC 7628) with extensions (KIP-342), as in Kafka.

The response to an invalid token is the JSON error of RFC 7628. The client acknowledges it with one byte, and then the
login fails with the same text. The log shows the reason, but no part of the token.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from kconf.server.auth.login_failed import LoginFailed
from kconf.server.auth.oauthbearer.jwt_validator import InvalidToken, TokenValidator

INVALID_TOKEN: Final = '{"status":"invalid_token"}'
_ACKNOWLEDGED: Final = b"\x01"
_AUTHZID: Final = re.compile(r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+")
_KEY: Final = re.compile(r"[A-Za-z]+")
_VALUE: Final = re.compile(r"[\x21-\x7e \t\r\n]+")
_AUTH: Final = re.compile(r"(\w+) +([-_.a-zA-Z0-9]+)", re.ASCII)
_MALFORMED: Final = (
    "Authentication failed during authentication due to invalid credentials with SASL mechanism OAUTHBEARER"
)


class ClientInitialResponse(NamedTuple):
    """The client's first message. `authorization_id` is empty if the client did not send one."""

    token: str
    authorization_id: str
    extensions: Mapping[str, str]

    def __repr__(self) -> str:
        return "ClientInitialResponse([hidden])"


def read_initial_response(data: bytes) -> ClientInitialResponse:
    """Parse the client's first message. Raises ValueError, without any part of the data in its message."""
    parts = data.decode("ascii").split("\x01")  # GS2 header, key-value pairs, two empty strings
    head, pairs = parts[0], parts[1:-2]
    if len(parts) < 3 or parts[-2:] != ["", ""] or not head.startswith("n,") or not head.endswith(","):
        raise ValueError("it does not have the format of RFC 7628")
    authzid = head[2:-1]
    if authzid and not (authzid.startswith("a=") and _AUTHZID.fullmatch(authzid[2:])):
        raise ValueError("its authorization id is not valid")
    found: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not _KEY.fullmatch(key) or not _VALUE.fullmatch(value):
            raise ValueError("its extensions are not key-value pairs")
        found[key] = value
    auth = _AUTH.fullmatch(found.pop("auth", ""))
    if auth is None or auth[1].lower() != "bearer":
        raise ValueError("it has no bearer token")
    return ClientInitialResponse(auth[2], authzid[2:].replace("=2C", ",").replace("=3D", "="), found)


class OAuthBearerExchange:
    """One login. Extensions are parsed but not used; all names are accepted, as in Kafka."""

    def __init__(self, validator: TokenValidator, now: Callable[[], float] = time.time) -> None:
        self.user: str | None = None
        self.lifetime_ms: int | None = None
        self._validator, self._now = validator, now
        self._refused: str | None = None

    def step(self, token: bytes) -> bytes:
        if self._refused is not None:
            raise LoginFailed(INVALID_TOKEN if token == _ACKNOWLEDGED else _MALFORMED, self._refused)
        try:
            first = read_initial_response(token)
        except ValueError as error:
            text = f"OAUTHBEARER: the client's first message is not valid: {_reason(error)}"
            raise LoginFailed(_MALFORMED, text) from None
        try:
            accepted = self._validator.validate(first.token)
        except InvalidToken as error:
            self._refused = f"OAUTHBEARER: the token is not valid: {error}"
            return INVALID_TOKEN.encode()
        if first.authorization_id not in ("", accepted.principal):
            raise LoginFailed("Authentication failed: the authorization id is not the principal of the token")
        self.lifetime_ms = max(0, int((accepted.expires - self._now()) * 1000))
        self.user = accepted.principal
        return b""


def _reason(error: ValueError) -> str:
    return "it is not ASCII" if isinstance(error, UnicodeDecodeError) else str(error)
