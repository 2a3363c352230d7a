"""A very large request does not delay others."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from kconf.errors import ErrorCode
from kconf.protocol.apis import BY_NAME
from kconf.protocol.headers import read_response, request
from kconf.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kconf.protocol.messages.incremental_alter_configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsResource,
)
from tests.support.process import KconfProcess
from tests.support.wire import Wire

GROUP, TOPIC, BROKER = 32, 2, 4
API = BY_NAME["DescribeConfigs"]


@pytest.fixture(scope="module")
def server() -> Iterator[KconfProcess]:
    with KconfProcess() as process:
        yield process


def test_a_small_request_is_answered_while_a_large_one_is_processed(server: KconfProcess) -> None:
    """Checked by order: the small request is sent last, and its response arrives before the first byte of the large
    one.
    """
    many = [DescribeConfigsResource(GROUP, f"group-{number}") for number in range(30_000)]
    with socket.create_connection((server.host, server.port), timeout=60) as busy, Wire(server.bootstrap) as other:
        other.ask("ApiVersions", 0)
        busy.sendall(request(API, 4, 7, "busy", DescribeConfigsRequest(many)))

        answered = 0
        busy.setblocking(False)
        while True:
            try:
                if busy.recv(1, socket.MSG_PEEK):
                    break
            except BlockingIOError:
                other.ask("ApiVersions", 0)
                answered += 1

    assert answered > 1


def test_one_large_describe_equals_many_small_ones(server: KconfProcess) -> None:
    wanted = [DescribeConfigsResource(kind, f"name-{number}") for kind in (GROUP, TOPIC) for number in range(700)]
    with Wire(server.bootstrap) as wire:
        large = wire.ask("DescribeConfigs", 4, resources=wanted, include_synonyms=True)
        small = [
            each
            for first in range(0, len(wanted), 100)
            for each in wire.ask(
                "DescribeConfigs", 4, resources=wanted[first : first + 100], include_synonyms=True
            ).results
        ]

    assert len(large.results) == 1400
    assert large.results == small


def test_a_request_with_two_spellings_of_a_broker_is_refused_for_both(server: KconfProcess) -> None:
    requests = [
        IncrementalAlterConfigsResource(BROKER, name, [IncrementalAlterableConfig("log.retention.ms", 0, "5000")])
        for name in ("1", "01")
    ]
    with Wire(server.bootstrap) as wire:
        answer = wire.ask("IncrementalAlterConfigs", 1, resources=requests)

    assert [each.error_code for each in answer.responses] == [ErrorCode.INVALID_REQUEST] * 2


def test_a_slow_reader_gets_the_complete_large_response(server: KconfProcess) -> None:
    many = [DescribeConfigsResource(GROUP, f"group-{number}") for number in range(5_000)]
    with socket.create_connection((server.host, server.port), timeout=60) as slow:
        slow.sendall(request(API, 4, 7, "slow", DescribeConfigsRequest(many)))
        size = int.from_bytes(slow.recv(4, socket.MSG_WAITALL), "big")
        frame = bytearray()
        while len(frame) < size:
            frame += slow.recv(min(65536, size - len(frame)))

    correlation, answer = read_response(API, 4, bytes(frame))

    assert correlation == 7
    assert [each.resource_name for each in answer.results] == [each.resource_name for each in many]
