"""One connection without its socket: frames, versions, the opening talk, whose answer is whose."""

from __future__ import annotations

from typing import Any

import pytest

from kconf import (
    AlterConfigOp,
    AuthenticationFailed,
    OpType,
    Plain,
    Resource,
    UnsupportedSaslMechanism,
    UnsupportedVersion,
)
from kconf.client.calls.base import NodeVersions
from kconf.client.calls.cluster import DescribeCluster
from kconf.client.calls.configs import DescribeConfigs, IncrementalAlterConfigs
from kconf.client.calls.topics import CreateTopics
from kconf.client.settings import Address, ClientSettings
from kconf.client.transport.call_runner import NodeRequest
from kconf.client.transport.in_flight import Frames, InFlightRequests, Opened, hello, pick
from kconf.errors import RemoteProtocolError
from kconf.protocol.apis import API_VERSIONS, APIS, BY_NAME
from kconf.protocol.codec.serde import encode
from kconf.protocol.headers import read_header, response
from kconf.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from kconf.protocol.messages.describe_configs import DescribeConfigsResponse, DescribeConfigsResult
from kconf.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from kconf.protocol.messages.sasl_handshake import SaslHandshakeResponse

HOME = Address("home", 9092)
SETTINGS = ClientSettings((HOME,))
KAFKA_20 = {3: (0, 6), 18: (0, 2), 19: (0, 3), 32: (0, 2), 33: (0, 1)}
ORDERS = Resource.topic("orders")


def frame(name: str, version: int, correlation: int, body: object) -> bytes:
    """A response frame without its length."""
    api = BY_NAME[name]
    return response(api, version, correlation, encode(body, version, api.is_flexible(version)))[4:]


def versions(known: dict[int, tuple[int, int]], code: int = 0) -> ApiVersionsResponse:
    return ApiVersionsResponse(code, [ApiVersion(key, *each) for key, each in known.items()])


def version_of(sent: bytes) -> int:
    return read_header(sent[4:], False).version


def ends(talk: Any, answer: bytes) -> Opened:
    with pytest.raises(StopIteration) as stopped:
        talk.send(answer)
    opened: Opened = stopped.value.value
    return opened


def test_frames_come_out_whole_however_they_were_cut() -> None:
    bodies = [b"abcd", b"x" * 300, b"last"]
    stream = b"".join(len(each).to_bytes(4, "big") + each for each in bodies)

    for size in range(1, len(stream) + 1):
        frames = Frames(1000)
        found = [each for at in range(0, len(stream), size) for each in frames.feed(stream[at : at + size])]
        assert found == bodies


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\x15\x03\x03\x00\x02\x02\x46", "speaks TLS"),
        (b"HTTP/1.1 400", "a web server answers here"),
        (b"SSH-2.0-OpenSSH", "is it Kafka"),
        (b"\xff\xff\xff\xff", "is it Kafka"),
        (b"\x00\x00\x00\x02ab", "is it Kafka"),
    ],
)
def test_what_is_no_kafka_is_told(data: bytes, says: str) -> None:
    with pytest.raises(RemoteProtocolError, match=says):
        Frames(1000).feed(data)


def test_the_newest_version_is_tried_first() -> None:
    talk = hello(SETTINGS, HOME, None)

    assert version_of(next(talk)) == APIS[API_VERSIONS].max
    opened = ends(talk, frame("ApiVersions", 4, 0, versions({3: (0, 13), 9999: (0, 99)})))

    assert opened.peer == NodeVersions("home:9092", {3: (0, 13), 9999: (0, 99)})
    assert opened.lifetime == 0


@pytest.mark.parametrize(("told", "then"), [({}, 0), ({18: (0, 2)}, 2), ({18: (0, 3)}, 3)])
def test_an_older_broker_is_asked_in_its_own_version(told: dict[int, tuple[int, int]], then: int) -> None:
    talk = hello(SETTINGS, HOME, None)
    next(talk)

    again = talk.send(frame("ApiVersions", 0, 0, versions(told, code=35)))

    assert version_of(again) == then
    assert ends(talk, frame("ApiVersions", then, 0, versions(KAFKA_20))).peer.versions == KAFKA_20


def test_a_login_is_a_handshake_and_tokens() -> None:
    settings = SETTINGS._replace(sasl=Plain("alice", "secret"))
    talk = hello(settings, HOME, Plain("alice", "secret").talk("home"))
    next(talk)

    shake = talk.send(frame("ApiVersions", 4, 0, versions({17: (0, 1), 36: (0, 2)})))
    token = talk.send(frame("SaslHandshake", 1, 1, SaslHandshakeResponse(0, ["PLAIN"])))
    opened = ends(talk, frame("SaslAuthenticate", 2, 2, SaslAuthenticateResponse(0, None, b"", 3000)))

    assert shake.endswith(b"PLAIN")
    assert b"\0alice\0secret" in token
    assert opened.lifetime == 3


def test_a_mechanism_that_is_not_offered() -> None:
    talk = hello(SETTINGS._replace(sasl=Plain("a", "b")), HOME, Plain("a", "b").talk("home"))
    next(talk)
    talk.send(frame("ApiVersions", 4, 0, versions({17: (0, 1), 36: (0, 2)})))

    with pytest.raises(UnsupportedSaslMechanism, match="does not take PLAIN; it offers X, Y"):
        talk.send(frame("SaslHandshake", 1, 1, SaslHandshakeResponse(33, ["X", "Y"])))


def test_a_refused_login_gives_the_brokers_reason() -> None:
    talk = hello(SETTINGS._replace(sasl=Plain("a", "b")), HOME, Plain("a", "b").talk("home"))
    next(talk)
    talk.send(frame("ApiVersions", 4, 0, versions({17: (0, 1), 36: (0, 2)})))
    talk.send(frame("SaslHandshake", 1, 1, SaslHandshakeResponse(0, ["PLAIN"])))

    with pytest.raises(AuthenticationFailed, match="home:9092 refused the login: no"):
        talk.send(frame("SaslAuthenticate", 2, 2, SaslAuthenticateResponse(58, "no", b"")))


def test_the_highest_common_version_is_spoken() -> None:
    describe = DescribeConfigs([ORDERS])

    assert pick(NodeVersions("old", KAFKA_20), describe) == (describe, 2)
    assert pick(NodeVersions("future", {32: (3, 99)}), describe) == (describe, 4)


@pytest.mark.parametrize(
    ("there", "says"),
    [
        (KAFKA_20, r"old does not have IncrementalAlterConfigs \(API 44\); before Kafka 2.3 only alter_configs"),
        ({44: (5, 9)}, r"old has versions 5 to 9 of IncrementalAlterConfigs \(API 44\), and 0 to 1 are needed"),
    ],
)
def test_an_old_or_far_newer_broker_gets_a_clear_error(there: dict[int, tuple[int, int]], says: str) -> None:
    with pytest.raises(UnsupportedVersion, match=says):
        pick(NodeVersions("old", there), IncrementalAlterConfigs({ORDERS: [AlterConfigOp(OpType.SET, "a", "b")]}))


def test_a_version_that_would_mean_something_else_is_not_used() -> None:
    """CreateTopics 0 has no validate_only: it would create."""
    with pytest.raises(UnsupportedVersion):
        pick(NodeVersions("old", {19: (0, 0)}), CreateTopics(["t"], timeout_ms=1, validate_only=True))
    with pytest.raises(UnsupportedVersion, match=r"before Kafka 2\.4"):
        pick(NodeVersions("old", KAFKA_20), CreateTopics(["t"], timeout_ms=1))


def test_an_api_that_is_not_there_is_replaced_where_another_tells_the_same() -> None:
    call, version = pick(
        NodeVersions("old", KAFKA_20), DescribeCluster(authorized_operations=False, fenced=False, controllers=False)
    )

    assert (call.name, version) == ("Metadata", 6)


def test_answers_are_matched_in_order() -> None:
    line: InFlightRequests[str] = InFlightRequests(NodeVersions("home", {32: (1, 4)}), "me")
    for number, whom in enumerate(["first", "second"]):
        line.send(
            NodeRequest(HOME, DescribeConfigs([Resource.topic(f"t{number}")]), [Resource.topic(f"t{number}")]), whom
        )
    correlations = [each.correlation for each in line.waiting]

    def answer(number: int) -> bytes:
        body = DescribeConfigsResponse(0, [DescribeConfigsResult(3, None, 2, f"t{number}")])
        return frame("DescribeConfigs", 4, correlations[number], body)

    whom, told = line.answered(answer(0))
    assert whom == "first"
    assert list(told.outcomes) == [Resource.topic("t0")]
    with pytest.raises(RemoteProtocolError, match="in place of"):
        line.answered(answer(0))
    assert line.answered(answer(1))[0] == "second"
    with pytest.raises(RemoteProtocolError, match="not asked"):
        line.answered(answer(1))
