"""The SASL authentication of one connection, and its re-authentication (KIP-368).

Before authentication, only ApiVersions and SaslHandshake are answered; any other request closes the connection. After
SaslHandshake version 0, tokens are sent without a request header, preceded by their length; after version 1, in
SaslAuthenticate requests. A failure is answered after a delay with a message that does not show whether the user
exists, and then the connection is closed. A session with a lifetime (`connections.max.reauth.ms`, or that of a bearer
token) can be re-authenticated by the same user with the same mechanism. An expired session is closed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from kconf.errors import ErrorCode, RemoteProtocolError
from kconf.protocol.apis import API_VERSIONS, APIS
from kconf.protocol.codec.serde import decode, encode
from kconf.protocol.headers import HEAD, LENGTH, Header, read_header, response
from kconf.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from kconf.protocol.messages.sasl_handshake import SaslHandshakeResponse
from kconf.server.auth.login_failed import LoginFailed
from kconf.server.auth.mechanisms import SaslConfig, ServerExchange, start_exchange
from kconf.server.error_responses import error_response

SASL_HANDSHAKE: Final = 17
SASL_AUTHENTICATE: Final = 36
_REAUTHENTICATION: Final = b"\x00\x11\x00\x01"  # API key and version of SaslHandshake, version 1
_MIN_INTERVAL: Final = 1.0  # minimum seconds between two re-authentications


class AuthenticationStep(NamedTuple):
    """The result of processing a frame.

    `response` is None if the router answers the frame. If `failure` is set, the response is sent after a delay, and the
    connection is closed.
    """

    response: bytes | None
    failure: str | None = None


_FOR_ROUTER = AuthenticationStep(None)


class SaslServerAuthenticator:
    """The authentication of one connection. `on_success` is called with the name of the authenticated user."""

    def __init__(self, config: SaslConfig, on_success: Callable[[str], None], now: Callable[[], float]) -> None:
        self._config, self._on_success, self._now = config, on_success, now
        self._exchange: ServerExchange | None = None
        self._bare = False  # tokens are sent without a request header
        self._mechanism: str | None = None
        self._user: str | None = None
        self._expires: float | None = None
        self._reauthenticated: float | None = None  # start of the last re-authentication
        self.is_authenticated = False

    @property
    def failure_delay(self) -> float:
        return self._config.failure_delay

    def check_session(self) -> None:
        if self._expires is not None and self._now() >= self._expires:  # uvloop counts milliseconds
            raise RemoteProtocolError("the session has expired and was not re-authenticated")

    @property
    def is_complete(self) -> bool:
        """Whether the client is authenticated and its session does not expire."""
        return self.is_authenticated and self._expires is None

    def begins_reauthentication(self, data: bytes, position: int) -> bool:
        """Whether the frame at `position` starts a re-authentication. The router answers all other frames."""
        if self._expires is None or data[position + 4 : position + 8] != _REAUTHENTICATION:
            return False
        return self._reauthenticated is None or self._now() - self._reauthenticated >= _MIN_INTERVAL

    def next_frame(self, data: bytes, position: int) -> bytes | None:
        """The next frame, or None if it is incomplete. A frame that is too large is refused at once."""
        start = position + 4
        if len(data) < start:
            return None
        (size,) = LENGTH.unpack_from(data, position)
        least = 0 if self._exchange is not None and self._bare else HEAD.size
        if not least <= size <= self._config.max_receive_size:
            raise RemoteProtocolError(f"invalid frame size before authentication: {size} bytes")
        return data[start : start + size] if len(data) >= start + size else None

    def process(self, frame: bytes) -> AuthenticationStep:
        """Answer a frame before or during authentication, or one that starts a re-authentication."""
        if self._exchange is not None and self._bare:
            return self._bare_token(self._exchange, frame)
        key, version, _ = HEAD.unpack_from(frame, 0)
        if self._exchange is not None:
            return self._token(self._exchange, frame, key, version)
        if key == SASL_HANDSHAKE and APIS[key].serves(version):
            if self.is_authenticated:
                self._reauthenticated = self._now()
            return self._handshake(frame, version)
        if key == API_VERSIONS:
            return _FOR_ROUTER
        raise RemoteProtocolError(f"request of API {key} before authentication")

    def _handshake(self, frame: bytes, version: int) -> AuthenticationStep:
        header, request = _read(frame)
        mechanisms = self._config.mechanisms
        if request.mechanism not in mechanisms:
            unsupported = SaslHandshakeResponse(ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms)
            return AuthenticationStep(_encoded(header, unsupported), "an unsupported SASL mechanism")
        exchange = start_exchange(request.mechanism, self._config)
        if self._mechanism not in (None, request.mechanism):
            exchange = _AnotherMechanism()
        else:
            self._mechanism = request.mechanism
        self._exchange, self._bare, self.is_authenticated = exchange, version == 0, False
        return AuthenticationStep(_encoded(header, SaslHandshakeResponse(0, mechanisms)))

    def _bare_token(self, exchange: ServerExchange, token: bytes) -> AuthenticationStep:
        try:
            answer = exchange.step(token)
            self._complete(exchange)
        except LoginFailed as error:
            return AuthenticationStep(b"", error.reason)
        return AuthenticationStep(LENGTH.pack(len(answer)) + answer)

    def _token(self, exchange: ServerExchange, frame: bytes, key: int, version: int) -> AuthenticationStep:
        api = APIS.get(key)
        if api is None or not api.serves(version):
            raise RemoteProtocolError(f"API {key} version {version} is not supported during authentication")
        header, request = _read(frame)
        if key != SASL_AUTHENTICATE:
            refused = error_response(api, request, ErrorCode.ILLEGAL_SASL_STATE)
            return AuthenticationStep(_encoded(header, refused), "a request other than SaslAuthenticate")
        try:
            answer = exchange.step(request.auth_bytes)
            lifetime = self._complete(exchange)
        except LoginFailed as error:
            failed = SaslAuthenticateResponse(ErrorCode.SASL_AUTHENTICATION_FAILED, str(error), b"")
            return AuthenticationStep(_encoded(header, failed), error.reason)
        return AuthenticationStep(_encoded(header, SaslAuthenticateResponse(0, "", answer, lifetime)))

    def _complete(self, exchange: ServerExchange) -> int:
        """Start the session if the exchange is complete. Returns its lifetime in ms, 0 for none."""
        if exchange.user is None:
            return 0
        if self._user not in (None, exchange.user):
            raise LoginFailed("Authentication failed: a session cannot change its principal")
        assert self._mechanism is not None
        lifetime, limit = exchange.lifetime_ms, self._config.lifetimes.get(self._mechanism, 0)
        if limit > 0:
            lifetime = limit if lifetime is None else min(lifetime, limit)
        self._expires = None if lifetime is None else self._now() + lifetime / 1000
        self._exchange, self.is_authenticated = None, True
        self._user = exchange.user
        self._on_success(exchange.user)
        return lifetime or 0


class _AnotherMechanism:
    """A re-authentication with another mechanism, which fails at its first token."""

    user: str | None = None
    lifetime_ms: int | None = None

    def step(self, token: bytes) -> bytes:
        raise LoginFailed("Authentication failed: a session cannot change its mechanism")


def _read(frame: bytes) -> tuple[Header, Any]:
    key, version, _ = HEAD.unpack_from(frame, 0)
    api = APIS[key]
    flexible = api.is_flexible(version)
    header = read_header(frame, flexible)
    return header, decode(api.request, version, flexible, frame, header.body)


def _encoded(header: Header, message: Any) -> bytes:
    api, version = APIS[header.api_key], header.version
    return response(api, version, header.correlation, encode(message, version, api.is_flexible(version)))
