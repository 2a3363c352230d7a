"""Wrong lengths, truncated frames, unknown keys and versions, frames of 100 MB: a correct response or a clean close."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator

import pytest

from kconf.protocol.apis import APIS, BY_NAME
from kconf.protocol.headers import LENGTH
from kconf.protocol.messages.api_versions import ApiVersionsRequest
from tests.adversity.alterations import BROKER, DESCRIBE, create, describing, topic, values
from tests.adversity.lines import MB, Line, complaints, frame, memory, read
from tests.support.process import KconfProcess

LARGEST = 104857600  # socket.request.max.bytes, Kafka's default
HEAD = struct.Struct(">hhih")


@pytest.fixture(scope="module")
def kconf() -> Iterator[KconfProcess]:
    """A server that must still work, without unexpected errors in its log, after all tests."""
    with KconfProcess() as process:
        with Line(process) as line:
            create(line, "orders")
        yield process
        with Line(process) as line:
            line.send(describing(topic("orders")))
            assert values(read(*DESCRIBE, line.receive()))["cleanup.policy"] == "delete"
        assert complaints(process) == []


@pytest.fixture
def line(kconf: KconfProcess) -> Iterator[Line]:
    with Line(kconf) as opened:
        yield opened


@pytest.mark.parametrize("size", [-1, -(2**31), 0, 1, 7, LARGEST + 1, 2**31 - 1])
def test_an_impossible_size_closes_the_connection(line: Line, size: int) -> None:
    line.send(LENGTH.pack(size))

    assert line.is_closed()


@pytest.mark.parametrize(
    ("key", "version"),
    [
        (0, 14),
        (1, 19),
        (8, 2),
        (-1, 0),
        (32767, 0),
        (71, 0),
        (32, BY_NAME["DescribeConfigs"].max + 1),
        (32, -1),
        (3, 14),
        (44, 2),
        (2102, 0),
    ],
)
def test_an_unknown_key_or_version_closes_the_connection_before_the_body_arrives(
    line: Line, key: int, version: int
) -> None:
    line.send(LENGTH.pack(LARGEST))
    line.send(struct.pack(">hh", key, version))

    assert line.is_closed()


def test_an_invalid_header_that_arrives_byte_by_byte_is_refused(line: Line) -> None:
    for byte in LENGTH.pack(LARGEST) + struct.pack(">hh", 8, 0):
        line.send(bytes([byte]))
        time.sleep(0.002)

    assert line.is_closed()


@pytest.mark.parametrize("version", [6, 127, 32767, -1])
def test_api_versions_of_an_unknown_version_is_answered_in_version_0(line: Line, version: int) -> None:
    line.send(LENGTH.pack(30) + HEAD.pack(18, version, 7, -1) + bytes(20))

    answer = read("ApiVersions", 0, line.receive(), correlation=7)

    assert answer.error_code == 35
    assert [(each.api_key, each.min_version, each.max_version) for each in answer.api_keys] == [(18, 0, 5)]
    assert line.ask("ApiVersions", 4, ApiVersionsRequest("test", "1")).error_code == 0


@pytest.mark.parametrize("size", [-1, -2, -32768], ids=str)
def test_a_client_id_of_negative_length_is_read_as_null(line: Line, size: int) -> None:
    """As in Kafka. Two different requests of such a client must not get the same cached response."""
    for keys in (["retention.ms"], ["segment.ms"], ["retention.ms"]):
        asked = frame(*DESCRIBE, _describe(keys), client_id=None)[14:]
        line.send(LENGTH.pack(10 + len(asked)) + HEAD.pack(32, 4, 1, size) + asked)
        assert set(values(read(*DESCRIBE, line.receive()))) == set(keys)


def _describe(keys: list[str]) -> object:
    from kconf.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource

    return DescribeConfigsRequest([DescribeConfigsResource(2, "orders", keys)])


@pytest.mark.parametrize("size", [1, 300, 32767])
def test_a_client_id_longer_than_its_frame_closes_the_connection(line: Line, size: int) -> None:
    line.send(describing(topic("orders")))  # so that a response is cached
    line.receive()
    line.send(LENGTH.pack(10) + HEAD.pack(32, 4, 1, size))

    assert line.is_closed()


def test_unknown_tags_are_skipped(line: Line) -> None:
    """In the header, in the body and in every struct of it."""
    tags = b"\x02" + b"\x05\x03abc" + b"\xa1\x8d\x06\x00"
    body = b"\x02" + b"\x02" + b"\x07orders" + b"\x00" + tags + b"\x00\x00" + tags
    request = HEAD.pack(32, 4, 9, 2) + b"me" + tags + body
    line.send(LENGTH.pack(len(request)) + request)

    assert values(read(*DESCRIBE, line.receive(), correlation=9))["cleanup.policy"] == "delete"


def test_surplus_bytes_after_a_request_body_are_ignored(line: Line) -> None:
    asked = describing(topic("orders"))[4:] + b"surplus"
    line.send(LENGTH.pack(len(asked)) + asked)

    assert values(read(*DESCRIBE, line.receive()))["cleanup.policy"] == "delete"


@pytest.mark.parametrize(
    "body",
    [b"\xff\xff\xff\xff\x07", b"\xff" * 10, b"\x80" * 4 + b"\x08", b"\x02\x02" + b"\xff\xff\xff\xff\x07"],
    ids=["2 billion elements", "a number without end", "a number too large", "2 billion letters"],
)
def test_hostile_lengths_in_a_request_close_the_connection_and_allocate_nothing(
    kconf: KconfProcess, line: Line, body: bytes
) -> None:
    before = memory(kconf)
    request = HEAD.pack(32, 4, 1, -1) + b"\x00" + body + bytes(20)
    line.send(LENGTH.pack(len(request)) + request)

    assert line.is_closed()
    assert memory(kconf) < before + 8 * MB


def test_a_request_with_too_many_elements_closes_the_connection(kconf: KconfProcess, line: Line) -> None:
    before = memory(kconf)
    body = struct.pack(">i", 2_000_000) + b"\x02\x00\x00\xff\xff\xff\xff" * 2_000_000
    line.send(LENGTH.pack(10 + len(body)) + HEAD.pack(32, 0, 1, -1) + body)

    assert line.is_closed()
    assert _settles(kconf, before + 16 * MB)


@pytest.mark.parametrize("byte", [b"\x00", b"\x01", b"\xff"], ids=["zeros", "ones", "255s"])
def test_a_frame_of_100_mb_of_zeros_closes_the_connection_and_its_memory_is_freed(
    kconf: KconfProcess, line: Line, byte: bytes
) -> None:
    before = memory(kconf)
    head = HEAD.pack(44, 0, 1, 3) + b"big" + (b"\x7f" if byte != b"\x01" else b"")
    chunk = byte * MB

    line.send(LENGTH.pack(LARGEST) + head)
    left = LARGEST - len(head)
    while left > 0:
        line.send(chunk[:left])
        left -= len(chunk)

    assert line.is_closed()
    assert _settles(kconf, before + 16 * MB)


def test_a_valid_frame_of_almost_100_mb_is_answered(kconf: KconfProcess, line: Line) -> None:
    """Surplus bytes are ignored, as in Kafka, and the memory is released."""
    before = memory(kconf)
    asked = describing(topic("orders"))[4:]
    line.send(LENGTH.pack(LARGEST), asked)
    for _ in range(LARGEST // MB - 1):
        line.send(bytes(MB))
    line.send(bytes(MB - len(asked)))

    assert values(read(*DESCRIBE, line.receive()))["cleanup.policy"] == "delete"
    assert _settles(kconf, before + 16 * MB)


def test_other_clients_are_served_while_100_mb_arrive(kconf: KconfProcess, line: Line) -> None:
    line.send(LENGTH.pack(LARGEST), HEAD.pack(33, 0, 1, -1))
    with Line(kconf) as other:
        for _ in range(90):
            line.send(bytes(MB))
            other.send(describing(BROKER))
            assert len(values(read(*DESCRIBE, other.receive()))) > 300


def test_socket_request_max_bytes_limits_the_size_of_a_frame() -> None:
    with KconfProcess(args=["--override", "socket.request.max.bytes=1000"]) as kconf:
        asked = describing(topic("orders"))[4:]
        with Line(kconf) as line:
            line.send(LENGTH.pack(1000) + asked + bytes(1000 - len(asked)))
            assert read(*DESCRIBE, line.receive()).results[0].error_code == 3
            line.send(LENGTH.pack(1001))
            assert line.is_closed()


def test_every_truncated_request_waits_for_the_rest_until_its_connection_closes(kconf: KconfProcess) -> None:
    """A client that disconnects in the middle of a frame, at every position."""
    asked = describing(topic("orders"), keys=["retention.ms"])
    for cut in range(len(asked)):
        with Line(kconf) as gone:
            gone.send(asked[:cut])
            gone.end()
            assert gone.is_closed()


def test_http_is_not_answered(line: Line) -> None:
    line.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")

    assert line.is_closed()


def test_tls_is_not_answered(line: Line) -> None:
    line.send(bytes.fromhex("16030100c8010000c40303"))

    assert line.is_closed()


def test_every_server_api_is_advertised_and_other_keys_close_the_connection(kconf: KconfProcess, line: Line) -> None:
    served = {each.api_key for each in line.ask("ApiVersions", 4, ApiVersionsRequest("test", "1")).api_keys}

    tokens = "CreateDelegationToken", "RenewDelegationToken", "ExpireDelegationToken"
    of_the_client = "DescribeQuorum", "FetchSnapshot", *tokens
    assert served == set(APIS) - {BY_NAME[name].key for name in of_the_client}
    for key in sorted(set(range(100)) - served):
        with Line(kconf) as other:
            other.send(LENGTH.pack(100) + struct.pack(">hh", key, 0))
            assert other.is_closed(), key


def test_reset_connections_do_not_affect_later_ones(kconf: KconfProcess) -> None:
    for _ in range(50):
        with Line(kconf) as rude:
            rude.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            rude.send(describing(BROKER) * 20)

    with Line(kconf) as line:
        line.send(describing(BROKER))
        assert len(values(read(*DESCRIBE, line.receive()))) > 300
    assert complaints(kconf) == []


def _settles(kconf: KconfProcess, most: int) -> bool:
    """Whether memory usage falls to this value within a while."""
    deadline = time.monotonic() + 60
    while memory(kconf) > most and time.monotonic() < deadline:
        time.sleep(0.02)
    return memory(kconf) <= most
