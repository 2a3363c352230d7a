"""The gate of a SASL listener: what a connection may say before anyone is known, and how a session is renewed.

Before a login only ApiVersions and SaslHandshake are answered; anything else closes the line. After a handshake of
version 0 the tokens travel bare, behind a length; after version 1 in SaslAuthenticate. A failed login is answered after
a pause, in one sentence that does not say whether the user exists, and ends the connection. A session with a lifetime
(`connections.max.reauth.ms`) may be renewed by the same user with the same mechanism; one that has run out is closed.
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
from kconf.server.api.error_responses import failed
from kconf.server.auth.mechanisms import LoginFailed, SaslConfig, SaslExchange, begin

SASL_HANDSHAKE: Final = 17
SASL_AUTHENTICATE: Final = 36
_RENEWAL: Final = b"\x00\x11\x00\x01"  # the head of SaslHandshake, version 1
_LEAST_BETWEEN: Final = 1.0  # seconds between two renewals


class AuthenticationStep(NamedTuple):
    """What comes of a frame. `answer` None: the frame is not for the gate. `refused`: say so after the pause, close."""

    answer: bytes | None
    refused: str | None = None


_NOT_OURS = AuthenticationStep(None)


class SaslServerAuthenticator:
    """One connection's. `welcome` is told the name of who has logged in."""

    def __init__(self, realm: SaslConfig, welcome: Callable[[str], None], now: Callable[[], float]) -> None:
        self._realm, self._welcome, self._now = realm, welcome, now
        self._exchange: SaslExchange | None = None
        self._bare = False  # tokens travel without a header
        self._mechanism: str | None = None
        self._user: str | None = None
        self._expires: float | None = None
        self._renewed: float | None = None  # when the last renewal began
        self.is_open = False  # frames pass

    @property
    def delay(self) -> float:
        return self._realm.delay

    def check_alive(self) -> None:
        if self._expires is not None and self._now() > self._expires:
            raise RemoteProtocolError("the session has run out and was not renewed")

    @property
    def is_final(self) -> bool:
        """Whether who is in stays in: there is nothing left for the gate to do."""
        return self.is_open and self._expires is None

    def wants(self, data: bytes, position: int) -> bool:
        """Whether the frame there, the gate being open, begins a renewal. What is out of place goes to dispatch."""
        if self._expires is None or data[position + 4 : position + 8] != _RENEWAL:
            return False
        return self._renewed is None or self._now() - self._renewed >= _LEAST_BETWEEN

    def frame(self, data: bytes, position: int) -> bytes | None:
        """The next frame, if all of it is there; refused by its size before that."""
        start = position + 4
        if len(data) < start:
            return None
        (size,) = LENGTH.unpack_from(data, position)
        least = 0 if self._exchange is not None and self._bare else HEAD.size
        if not least <= size <= self._realm.largest:
            raise RemoteProtocolError(f"a frame of {size} bytes before a login")
        return data[start : start + size] if len(data) >= start + size else None

    def take(self, frame: bytes) -> AuthenticationStep:
        """What to do with a frame before a login, during one, or with one that the gate `wants`."""
        if self._exchange is not None and self._bare:
            return self._bare_token(self._exchange, frame)
        key, version, _ = HEAD.unpack_from(frame, 0)
        if self._exchange is not None:
            return self._token(self._exchange, frame, key, version)
        if key == SASL_HANDSHAKE and APIS[key].serves(version):
            if self.is_open:
                self._renewed = self._now()
            return self._handshake(frame, version)
        if key == API_VERSIONS:
            return _NOT_OURS
        raise RemoteProtocolError(f"API {key} before a login")

    def _handshake(self, frame: bytes, version: int) -> AuthenticationStep:
        header, request = _read(frame)
        mechanisms = self._realm.mechanisms
        if request.mechanism not in mechanisms:
            answer = SaslHandshakeResponse(ErrorCode.UNSUPPORTED_SASL_MECHANISM, mechanisms)
            return AuthenticationStep(_written(header, answer), "an unsupported mechanism")
        exchange = begin(request.mechanism, self._realm)
        if self._mechanism not in (None, request.mechanism):
            exchange = _Changed()
        else:
            self._mechanism = request.mechanism
        self._exchange, self._bare, self.is_open = exchange, version == 0, False
        return AuthenticationStep(_written(header, SaslHandshakeResponse(0, mechanisms)))

    def _bare_token(self, exchange: SaslExchange, token: bytes) -> AuthenticationStep:
        try:
            said = exchange.step(token)
            self._settle(exchange)
        except LoginFailed as error:
            return AuthenticationStep(b"", str(error))
        return AuthenticationStep(LENGTH.pack(len(said)) + said)

    def _token(self, exchange: SaslExchange, frame: bytes, key: int, version: int) -> AuthenticationStep:
        api = APIS.get(key)
        if api is None or not api.serves(version):
            raise RemoteProtocolError(f"API {key} version {version} during a login")
        header, request = _read(frame)
        if key != SASL_AUTHENTICATE:
            return AuthenticationStep(
                _written(header, failed(api, request, ErrorCode.ILLEGAL_SASL_STATE)), "a request out of place"
            )
        try:
            said = exchange.step(request.auth_bytes)
            lifetime = self._settle(exchange)
        except LoginFailed as error:
            answer = SaslAuthenticateResponse(ErrorCode.SASL_AUTHENTICATION_FAILED, str(error), b"")
            return AuthenticationStep(_written(header, answer), str(error))
        return AuthenticationStep(_written(header, SaslAuthenticateResponse(0, None, said, lifetime)))

    def _settle(self, exchange: SaslExchange) -> int:
        """Let them in if the login is complete. The lifetime of their session in ms, 0 for none."""
        if exchange.user is None:
            return 0
        if self._user not in (None, exchange.user):
            raise LoginFailed("Authentication failed: a session cannot change its principal")
        assert self._mechanism is not None
        lifetime = self._realm.lifetimes.get(self._mechanism, 0)
        self._expires = self._now() + lifetime / 1000 if lifetime > 0 else None
        self._exchange, self.is_open = None, True
        self._user = exchange.user
        self._welcome(exchange.user)
        return max(lifetime, 0)


class _Changed:
    """A renewal by another mechanism, which fails at its first token."""

    user: str | None = None

    def step(self, token: bytes) -> bytes:
        raise LoginFailed("Authentication failed: a session cannot change its mechanism")


def _read(frame: bytes) -> tuple[Header, Any]:
    key, version, _ = HEAD.unpack_from(frame, 0)
    api = APIS[key]
    flexible = api.is_flexible(version)
    header = read_header(frame, flexible)
    return header, decode(api.request, version, flexible, frame, header.body)


def _written(header: Header, answer: Any) -> bytes:
    api, version = APIS[header.api_key], header.version
    return response(api, version, header.correlation, encode(answer, version, api.is_flexible(version)))
