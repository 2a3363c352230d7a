"""The first requests on a connection: ApiVersions, in an older version if necessary, SASL, and a check if there is one.

`handshake` is a generator of frames without I/O, so that both clients share it.
"""

from __future__ import annotations

import struct
from collections.abc import Generator
from typing import TYPE_CHECKING, NamedTuple

from kconf.client.auth.sasl import ClientExchange, Sasl
from kconf.client.calls.base import NodeVersions
from kconf.client.settings import Address, ConnectionCheck
from kconf.client.transport.versions import highest_common_version
from kconf.errors import (
    AuthenticationFailed,
    ErrorCode,
    KafkaError,
    MismatchedEndpointType,
    RemoteProtocolError,
    UnsupportedSaslMechanism,
)
from kconf.protocol.apis import API_VERSIONS, APIS, BY_NAME, Api
from kconf.protocol.headers import read_response, request
from kconf.version import __version__

if TYPE_CHECKING:
    from concurrent.futures import Future

_ERROR_CODE = struct.Struct(">h")
_FIRST_VERSION = 4  # v5 only adds the expected cluster and node, and costs another round trip up to Kafka 4.3
_METADATA, _BROKER_REGISTRATION = 3, 62
_RENEW_AFTER = 0.85  # fraction of a session's lifetime


class NodeSession(NamedTuple):
    """The result of a handshake. `lifetime` is in seconds, 0 if the session does not expire (KIP-368)."""

    node: NodeVersions
    lifetime: float

    def expires_at(self, now: float) -> float:
        """When to replace the connection, before the broker closes it."""
        return now + _RENEW_AFTER * self.lifetime if self.lifetime else float("inf")


class Login(NamedTuple):
    """A SASL mechanism, and an exchange for one connection."""

    mechanism: str
    exchange: ClientExchange

    @classmethod
    def start(cls, sasl: Sasl, host: str) -> Login:
        """Start an exchange. May block to fetch a token (`Sasl.blocks`)."""
        return cls(sasl.mechanism, sasl.exchange(host))

    @classmethod
    def in_thread(cls, sasl: Sasl, host: str) -> Future[Login]:
        """Start in a daemon thread, so that the caller's deadline applies and the process can exit."""
        from concurrent.futures import Future
        from threading import Thread

        future: Future[Login] = Future()

        def run() -> None:
            try:
                login = cls.start(sasl, host)
            except BaseException as error:  # errors of a token callable are raised to the caller
                if future.set_running_or_notify_cancel():
                    future.set_exception(error)
            else:
                if future.set_running_or_notify_cancel():
                    future.set_result(login)

        Thread(target=run, name="kconf-login", daemon=True).start()
        return future


def handshake(
    client_id: str,
    address: Address,
    login: Login | None,
    *,
    controllers: bool = False,
    check: ConnectionCheck | None = None,
) -> Generator[bytes, bytes, NodeSession]:
    """Yields frames to send and receives the response frames. `controllers`: the node may be a controller."""
    from kconf.protocol.messages.api_versions import ApiVersionsRequest

    api = APIS[API_VERSIONS]
    version = _FIRST_VERSION
    while True:
        frame = yield request(api, version, 0, client_id, ApiVersionsRequest("kconf", __version__))
        code = _error_code(frame)
        if code != ErrorCode.UNSUPPORTED_VERSION or version == 0:
            break
        version = _older_version(api, version, frame)
    if code:
        raise KafkaError.of(code, f"{address} refused ApiVersions v{version}")
    _, body = read_response(api, version, frame)
    node = NodeVersions(
        str(address),
        {each.api_key: (each.min_version, each.max_version) for each in body.api_keys},
        {each.name: (each.min_version, each.max_version) for each in body.supported_features},
    )
    if not controllers and _is_controller(node):
        raise MismatchedEndpointType(f"{address} is a KRaft controller; use a broker listener")
    lifetime = 0.0 if login is None else (yield from _authenticate(client_id, node, login))
    if check is not None:
        yield from check.requests(client_id, node.versions)
    return NodeSession(node, lifetime)


def _is_controller(node: NodeVersions) -> bool:
    """Whether a node is a controller: it registers brokers and has no Metadata (checked with 3.9.2 and 4.3.1)."""
    return _METADATA not in node.versions and _BROKER_REGISTRATION in node.versions


def _error_code(frame: bytes) -> int:
    """The error code of an ApiVersions response.

    It is the first field in every version, after a header without tags.
    """
    try:
        return int(_ERROR_CODE.unpack_from(frame, 4)[0])
    except struct.error:
        raise RemoteProtocolError("an ApiVersions response is truncated") from None


def _older_version(api: Api, version: int, frame: bytes) -> int:
    """The version for an older broker: it responds in version 0 and may include its newest version, otherwise 0."""
    _, body = read_response(api, 0, frame)
    named = [each.max_version for each in body.api_keys if each.api_key == API_VERSIONS]
    return max(0, min(named[0], version - 1)) if named else 0


def _authenticate(client_id: str, node: NodeVersions, login: Login) -> Generator[bytes, bytes, float]:
    """Send SaslHandshake, then SaslAuthenticate until the login is complete.

    Returns the session lifetime in seconds.
    """
    from kconf.protocol.messages.sasl_authenticate import SaslAuthenticateRequest

    yield from _choose_mechanism(client_id, node, login.mechanism)
    api = BY_NAME["SaslAuthenticate"]
    version = highest_common_version(node, api, 0)
    lifetime_ms, token = 0, next(login.exchange)
    while True:
        frame = yield request(api, version, 2, client_id, SaslAuthenticateRequest(token))
        _, body = read_response(api, version, frame)
        if body.error_code:
            raise AuthenticationFailed(f"{node.name} refused the login: {body.error_message or 'no reason given'}")
        lifetime_ms = body.session_lifetime_ms or lifetime_ms
        try:
            token = login.exchange.send(body.auth_bytes)
        except StopIteration:
            return lifetime_ms / 1000


def _choose_mechanism(client_id: str, node: NodeVersions, mechanism: str) -> Generator[bytes, bytes, None]:
    from kconf.protocol.messages.sasl_handshake import SaslHandshakeRequest

    api = BY_NAME["SaslHandshake"]
    highest_common_version(node, api, 1)
    frame = yield request(api, 1, 1, client_id, SaslHandshakeRequest(mechanism))
    _, body = read_response(api, 1, frame)
    if body.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        offers = f"it supports {', '.join(body.mechanisms)}" if body.mechanisms else "it supports none"
        raise UnsupportedSaslMechanism(f"{node.name} does not support {mechanism}; {offers}")
    if body.error_code:
        raise AuthenticationFailed(
            f"{node.name} refused the SASL handshake ({body.error_code}); is it a SASL listener?"
        )
