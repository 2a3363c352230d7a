"""One connection without its socket: frames out of bytes, which version to speak, which answer belongs to what.

`hello` is the talk that opens a line: ApiVersions, stepping down where the broker is older, then SASL. It is a
generator of frames, so that both clients share it.
"""

from __future__ import annotations

import os
import struct
from collections import deque
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from kconf.client.calls.base import Call, CallResult, NodeVersions
from kconf.client.settings import Address, ClientSettings
from kconf.errors import (
    AuthenticationFailed,
    ErrorCode,
    KafkaError,
    RemoteProtocolError,
    UnsupportedSaslMechanism,
    UnsupportedVersion,
)
from kconf.protocol.apis import API_VERSIONS, APIS, BY_NAME, Api
from kconf.protocol.codec.varint import Malformed, skip_tags
from kconf.protocol.headers import LENGTH, read_response, request
from kconf.version import __version__

if TYPE_CHECKING:
    from kconf.client.transport.call_runner import NodeRequest

_CODE = struct.Struct(">h")
_TLS_ALERT = b"\x15\x03"

Tokens = Generator[bytes, bytes, None]
"""A SASL talk: yields what we say, is sent what the broker says, and ends when we believe it."""


class Opened(NamedTuple):
    """What the opening talk brought; `lifetime` is the session's, in seconds, 0 where it has no end (KIP-368)."""

    peer: NodeVersions
    lifetime: float


def hello(settings: ClientSettings, address: Address, tokens: Tokens | None) -> Generator[bytes, bytes, Opened]:
    """Yields frames to send, is sent the frames that answer them."""
    api = APIS[API_VERSIONS]
    version = api.max
    while True:
        from kconf.protocol.messages.api_versions import ApiVersionsRequest

        frame = yield request(api, version, 0, settings.client_id, ApiVersionsRequest("kconf", __version__))
        code = _error_code(frame)
        if code != ErrorCode.UNSUPPORTED_VERSION or version == 0:
            break
        version = _step_down(api, version, frame)
    if code:
        raise KafkaError.of(code, f"{address} refused ApiVersions v{version}")
    _, body = read_response(api, version, frame)
    peer = NodeVersions(str(address), {each.api_key: (each.min_version, each.max_version) for each in body.api_keys})
    lifetime = 0.0
    if settings.sasl is not None and tokens is not None:
        lifetime = yield from _log_in(settings, peer, settings.sasl.mechanism, tokens)
    return Opened(peer, lifetime)


def _error_code(frame: bytes) -> int:
    """The error code stands first in every version, behind a header that never has tags."""
    try:
        return int(_CODE.unpack_from(frame, 4)[0])
    except struct.error:
        raise RemoteProtocolError("an answer to ApiVersions is cut off") from None


def _step_down(api: Api, version: int, frame: bytes) -> int:
    """An older broker answers in version 0 and may tell the newest that it has; if not, that is the one to use."""
    _, body = read_response(api, 0, frame)
    told = [each.max_version for each in body.api_keys if each.api_key == API_VERSIONS]
    return max(0, min(told[0], version - 1)) if told else 0


def _log_in(
    settings: ClientSettings, peer: NodeVersions, mechanism: str, tokens: Tokens
) -> Generator[bytes, bytes, float]:
    from kconf.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
    from kconf.protocol.messages.sasl_handshake import SaslHandshakeRequest

    shake, _ = BY_NAME["SaslHandshake"], needed(peer, BY_NAME["SaslHandshake"], 1)
    frame = yield request(shake, 1, 1, settings.client_id, SaslHandshakeRequest(mechanism))
    _, body = read_response(shake, 1, frame)
    if body.error_code:
        offers = f"it offers {', '.join(body.mechanisms)}" if body.mechanisms else "it offers none"
        if body.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
            raise UnsupportedSaslMechanism(f"{peer.name} does not take {mechanism}; {offers}")
        raise AuthenticationFailed(f"{peer.name} takes no login here ({body.error_code}): is it a SASL listener?")
    api = BY_NAME["SaslAuthenticate"]
    version = needed(peer, api, 0)
    lifetime, token = 0, next(tokens)
    while True:
        frame = yield request(api, version, 2, settings.client_id, SaslAuthenticateRequest(token))
        _, body = read_response(api, version, frame)
        if body.error_code:
            raise AuthenticationFailed(f"{peer.name} refused the login: {body.error_message or 'no reason given'}")
        lifetime = body.session_lifetime_ms or lifetime
        try:
            token = tokens.send(body.auth_bytes)
        except StopIteration:
            return lifetime / 1000


def needed(peer: NodeVersions, api: Api, least: int, advice: str = "") -> int:
    """The newest version that both sides speak, from `least` on."""
    there = peer.versions.get(api.key)
    what = f"{api.name} (API {api.key})"
    if there is None:
        raise UnsupportedVersion(_sentence(f"{peer.name} does not have {what}", advice))
    low, high = max(there[0], api.min, least), min(there[1], api.max)
    if low > high:
        wanted = f"{max(api.min, least)} to {api.max}"
        have = f"{peer.name} has versions {there[0]} to {there[1]} of {what}, and {wanted} are needed here"
        raise UnsupportedVersion(_sentence(have, advice))
    return high


def is_tls(error: BaseException | None) -> bool:
    """Whether it is one of TLS's own, without loading TLS to know."""
    return error is not None and any(each.__module__ == "ssl" for each in type(error).__mro__)


def reason(error: OSError) -> str:
    """Why the system did not do it, in its own words."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if is_tls(error):
        return str(getattr(error, "reason", None) or error)  # its number is none of the system's
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)  # asyncio puts other words into the error
    return error.strerror or str(error)


def hint(settings: ClientSettings) -> str:
    """What may be wrong where a broker hangs up without a word."""
    if settings.tls is None:
        return " (does this listener expect TLS, or is it no Kafka?)"
    return " (does it ask for a certificate?)" if settings.tls.certificate is None else ""


def _sentence(fact: str, advice: str) -> str:
    return f"{fact}; {advice}" if advice else fact


def pick(peer: NodeVersions, call: Call[Any, Any, Any]) -> tuple[Call[Any, Any, Any], int]:
    """The call in the form and version that this broker understands."""
    try:
        return call, needed(peer, call.api, call.least, call.advice)
    except UnsupportedVersion:
        other = call.otherwise()
        if other is None:
            raise
        return pick(peer, other)


class Frames:
    """Cuts a stream into frames, and joins each but once."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._wanted = -1  # the length of the frame that has begun

    def feed(self, data: bytes) -> list[bytes]:
        self._parts.append(data)
        self._size += len(data)
        found: list[bytes] = []
        while self._size >= (4 if self._wanted < 0 else self._wanted):
            held = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
            if self._wanted < 0:
                self._wanted = self._length(held)
                held = held[4:]
            else:
                found.append(held[: self._wanted])
                held = held[self._wanted :]
                self._wanted = -1
            self._parts, self._size = ([held] if held else []), len(held)
        return found

    def _length(self, data: bytes) -> int:
        (size,) = LENGTH.unpack_from(data)
        if data[:2] == _TLS_ALERT:
            raise RemoteProtocolError("the broker speaks TLS here: use SSL or SASL_SSL")
        if data.startswith(b"HTTP"):
            raise RemoteProtocolError("a web server answers here, not Kafka: is the port the right one?")
        if not 4 <= size <= self._limit:
            raise RemoteProtocolError(f"the broker announces an answer of {size} bytes: is it Kafka at all?")
        return int(size)


W = TypeVar("W")


class _Waiting(NamedTuple, Generic[W]):
    correlation: int
    call: Call[Any, Any, Any]
    version: int
    ask: NodeRequest
    whom: W


class InFlightRequests(Generic[W]):
    """Requests that were sent and not yet answered, in order; `whom` is whatever the client finds its way back by."""

    def __init__(self, peer: NodeVersions, client_id: str) -> None:
        self.peer = peer
        self._client_id = client_id
        self._correlation = 2
        self.waiting: deque[_Waiting[W]] = deque()

    def send(self, ask: NodeRequest, whom: W) -> bytes:
        """The frame for an ask, which counts as sent from now on."""
        call, version = pick(self.peer, ask.call)
        message = call.write(self.peer, version, ask.items)
        self._correlation = self._correlation + 1 & 0x7FFFFFFF
        frame = request(call.api, version, self._correlation, self._client_id, message)
        self.waiting.append(_Waiting(self._correlation, call, version, ask, whom))
        return frame

    def answered(self, frame: bytes) -> tuple[W, CallResult]:
        """Whose answer a frame is, and what it says."""
        if not self.waiting:
            raise RemoteProtocolError(f"{self.peer.name} answers what was not asked")
        waiting = self.waiting[0]
        call, version = waiting.call, waiting.version
        try:
            (correlation,) = LENGTH.unpack_from(frame)
            start = skip_tags(frame, 4) if call.api.is_flexible(version) else 4
        except (struct.error, IndexError, Malformed):
            raise RemoteProtocolError(f"the header of a {call.name} answer is cut off") from None
        if correlation != waiting.correlation:
            raise RemoteProtocolError(f"{self.peer.name} answers {correlation} in place of {waiting.correlation}")
        answer = call.read(version, frame, start, waiting.ask.items)
        self.waiting.popleft()
        return waiting.whom, answer
