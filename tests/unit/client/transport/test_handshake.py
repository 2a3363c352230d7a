"""The first requests on a connection: ApiVersions in a version that both sides know, then SASL."""

from __future__ import annotations

from typing import Any

import pytest

from kconf import AuthenticationFailed, Plain, UnsupportedSaslMechanism
from kconf.client.calls.base import NodeVersions
from kconf.client.settings import Address
from kconf.client.transport.handshake import Login, NodeSession, handshake
from kconf.errors import MismatchedEndpointType
from kconf.protocol.apis import API_VERSIONS, APIS
from kconf.protocol.headers import read_header
from kconf.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from kconf.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from kconf.protocol.messages.sasl_handshake import SaslHandshakeResponse
from tests.unit.client.transport.responses import frame

HOME = Address("home", 9092)
KAFKA_20 = {3: (0, 6), 18: (0, 2), 19: (0, 3), 32: (0, 2), 33: (0, 1)}


def versions(known: dict[int, tuple[int, int]], code: int = 0) -> ApiVersionsResponse:
    return ApiVersionsResponse(code, [ApiVersion(key, *each) for key, each in known.items()])


def version_of(sent: bytes) -> int:
    return read_header(sent[4:], False).version


def ends(steps: Any, response: bytes) -> NodeSession:
    with pytest.raises(StopIteration) as stopped:
        steps.send(response)
    session: NodeSession = stopped.value.value
    return session


def test_the_newest_version_without_an_identity_is_tried_first() -> None:
    steps = handshake("me", HOME, None)

    assert version_of(next(steps)) == APIS[API_VERSIONS].max - 1
    session = ends(steps, frame("ApiVersions", 4, 0, versions({3: (0, 13), 9999: (0, 99)})))

    assert session.node == NodeVersions("home:9092", {3: (0, 13), 9999: (0, 99)})
    assert session.lifetime == 0


@pytest.mark.parametrize(("named", "then"), [({}, 0), ({18: (0, 2)}, 2), ({18: (0, 3)}, 3)])
def test_an_older_broker_is_asked_again_in_a_version_that_it_supports(
    named: dict[int, tuple[int, int]], then: int
) -> None:
    steps = handshake("me", HOME, None)
    next(steps)

    again = steps.send(frame("ApiVersions", 0, 0, versions(named, code=35)))

    assert version_of(again) == then
    assert ends(steps, frame("ApiVersions", then, 0, versions(KAFKA_20))).node.versions == KAFKA_20


def test_connecting_to_a_controller_port_is_refused_unless_requested() -> None:
    """The relevant API keys of a Kafka 4.3.1 controller."""
    response = frame("ApiVersions", 4, 0, versions({18: (0, 4), 32: (1, 4), 52: (0, 2), 62: (0, 4)}))
    steps = handshake("me", HOME, None)
    next(steps)

    with pytest.raises(MismatchedEndpointType, match="home:9092 is a KRaft controller"):
        steps.send(response)
    steps = handshake("me", HOME, None, controllers=True)
    next(steps)
    assert 62 in ends(steps, response).node.versions


def test_a_login_sends_a_handshake_and_then_tokens() -> None:
    steps = handshake("me", HOME, Login.start(Plain("alice", "secret"), "home"))
    next(steps)

    shake = steps.send(frame("ApiVersions", 4, 0, versions({17: (0, 1), 36: (0, 2)})))
    token = steps.send(frame("SaslHandshake", 1, 1, SaslHandshakeResponse(0, ["PLAIN"])))
    session = ends(steps, frame("SaslAuthenticate", 2, 2, SaslAuthenticateResponse(0, None, b"", 3000)))

    assert shake.endswith(b"PLAIN")
    assert b"\0alice\0secret" in token
    assert session.lifetime == 3


def test_a_mechanism_that_the_broker_does_not_offer_is_refused() -> None:
    steps = handshake("me", HOME, Login.start(Plain("a", "b"), "home"))
    next(steps)
    steps.send(frame("ApiVersions", 4, 0, versions({17: (0, 1), 36: (0, 2)})))

    with pytest.raises(UnsupportedSaslMechanism, match="does not support PLAIN; it supports X, Y"):
        steps.send(frame("SaslHandshake", 1, 1, SaslHandshakeResponse(33, ["X", "Y"])))


def test_a_refused_login_gives_the_brokers_reason() -> None:
    steps = handshake("me", HOME, Login.start(Plain("a", "b"), "home"))
    next(steps)
    steps.send(frame("ApiVersions", 4, 0, versions({17: (0, 1), 36: (0, 2)})))
    steps.send(frame("SaslHandshake", 1, 1, SaslHandshakeResponse(0, ["PLAIN"])))

    with pytest.raises(AuthenticationFailed, match="home:9092 refused the login: no"):
        steps.send(frame("SaslAuthenticate", 2, 2, SaslAuthenticateResponse(58, "no", b"")))
