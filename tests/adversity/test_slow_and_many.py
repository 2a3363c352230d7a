"""Clients that do not read responses, send slowly, stop sending, disconnect early, or connect by the thousand."""

from __future__ import annotations

import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from kconf.protocol.messages.api_versions import ApiVersionsRequest
from tests.adversity.alterations import ALTER, BROKER, DESCRIBE, altering, create, describing, topic, values
from tests.adversity.lines import MB, Line, complaints, descriptors, frame, memory, read
from tests.support.process import KconfProcess


@pytest.fixture(scope="module")
def kconf() -> Iterator[KconfProcess]:
    with KconfProcess() as process:
        with Line(process) as line:
            create(line, "orders", *(f"many-{number}" for number in range(2000)))
        yield process
        assert complaints(process) == []


def _is_served(line: Line) -> bool:
    """Whether a well-behaved client gets its response within its socket timeout."""
    line.send(describing(topic("orders")))
    return read(*DESCRIBE, line.receive()).results[0].error_code in (0, 3)


def _send_until_full(line: Line, data: bytes) -> int:
    """Send until the server stops reading; returns how many bytes it and the socket buffers took."""
    line.socket.settimeout(0.5)
    sent = 0
    while sent < len(data):
        try:
            sent += line.socket.send(data[sent : sent + MB])
        except TimeoutError:
            break
    line.socket.settimeout(60)
    return sent


def test_a_client_that_reads_late_gets_every_response_and_costs_little_memory(kconf: KconfProcess) -> None:
    """10,000 describe requests for all broker configs produce 150 MB of responses."""
    wanted = 10_000
    with Line(kconf) as neighbor, Line(kconf) as slow:
        _is_served(neighbor)
        before = memory(kconf)
        asked = b"".join(describing(BROKER, correlation=number) for number in range(wanted))
        sent = _send_until_full(slow, asked)

        assert all(_is_served(neighbor) for _ in range(20))
        assert memory(kconf) < before + 16 * MB

        size = None
        for number in range(wanted):
            answer = slow.receive()
            assert int.from_bytes(answer[:4], "big") == number
            assert size in (None, len(answer))
            size = len(answer)
            if sent < len(asked):
                sent += slow.socket.send(asked[sent : sent + MB])
    assert memory(kconf) < before + 16 * MB


def test_clients_that_do_not_read_share_the_memory_of_equal_responses(kconf: KconfProcess) -> None:
    """A response with 2,000 topics is 3 MB; fifty clients request it ten times each."""
    asked = describing(*(topic(f"many-{number}") for number in range(2000)))
    with Line(kconf) as first:
        first.send(asked)
        size = len(first.receive())
    before = memory(kconf)
    with ExitStack() as stack:
        lines = [stack.enter_context(Line(kconf)) for _ in range(50)]
        for line in lines:
            line.socket.setblocking(False)
            assert line.socket.send(asked * 10) > len(asked)
        with Line(kconf) as neighbor:
            _is_served(neighbor)  # socket buffers also take a few responses
            assert all(_is_served(neighbor) for _ in range(20))
        assert size > 2 * MB
        assert memory(kconf) < before + 150 * MB  # one response, its parts, and a megabyte per client: not 1.5 GB


def test_alters_and_describes_in_one_pipeline_are_answered_in_order(kconf: KconfProcess) -> None:
    """Each describe sees the alteration before it, but not the one after it."""
    with Line(kconf) as line:
        for number in range(1, 101):
            line.send(altering({topic("orders"): {"retention.ms": str(number)}}, correlation=2 * number))
            line.send(describing(topic("orders"), keys=["retention.ms"], correlation=2 * number + 1))
        for number in range(1, 101):
            (altered,) = read(*ALTER, line.receive(), correlation=2 * number).responses
            assert altered.error_code == 0
            described = read(*DESCRIBE, line.receive(), correlation=2 * number + 1)
            assert values(described) == {"retention.ms": str(number)}


def test_a_client_that_sends_one_byte_at_a_time_is_answered(kconf: KconfProcess) -> None:
    asked = describing(topic("orders"), correlation=1) + altering({topic("orders"): {"flush.ms": "7"}}, correlation=2)
    with Line(kconf) as line:
        for byte in asked:
            line.send(bytes([byte]))
        read(*DESCRIBE, line.receive(), correlation=1)
        assert read(*ALTER, line.receive(), correlation=2).responses[0].error_code == 0


def test_frames_split_at_every_place_are_answered(kconf: KconfProcess) -> None:
    asked = describing(topic("orders"), correlation=1) + frame(
        "ApiVersions", 3, ApiVersionsRequest("test", "1"), correlation=2
    )
    with Line(kconf) as line:
        for cut in range(1, len(asked)):
            line.send(asked[:cut])
            time.sleep(0.001)  # so that the two halves arrive separately
            line.send(asked[cut:])
            read(*DESCRIBE, line.receive(), correlation=1)
            read("ApiVersions", 3, line.receive(), correlation=2)


@pytest.mark.parametrize("change", [False, True], ids=["a describe", "an alter"])
def test_a_client_that_closes_its_sending_side_still_gets_its_responses(kconf: KconfProcess, change: bool) -> None:
    alter = altering({topic("orders"): {"flush.messages": "9"}})
    with Line(kconf) as line:
        line.send((alter if change else describing(topic("orders"))) * 20)
        line.end()

        assert len(line.rest()) == 20


def test_a_change_that_was_received_is_made_even_if_the_client_disconnects(kconf: KconfProcess) -> None:
    with Line(kconf) as gone:
        gone.send(describing(topic("orders")))
        gone.receive()
        gone.send(altering({topic("orders"): {"segment.ms": "4711"}}))
        time.sleep(0.02)
    with Line(kconf) as line:
        deadline = time.monotonic() + 60
        while True:
            line.send(describing(topic("orders"), keys=["segment.ms"]))
            if values(read(*DESCRIBE, line.receive())) == {"segment.ms": "4711"}:
                break
            assert time.monotonic() < deadline


def test_idle_connections_are_closed_and_busy_ones_are_not() -> None:
    with KconfProcess(args=["--override", "connections.max.idle.ms=4000"]) as kconf, ExitStack() as stack:
        busy = stack.enter_context(Line(kconf))
        _is_served(busy)  # the first stream opens a file that stays open
        open_before = descriptors(kconf)
        silent, half, unread = (stack.enter_context(Line(kconf)) for _ in range(3))
        half.send(describing(BROKER)[:9])
        _send_until_full(unread, describing(BROKER) * 10_000)
        for _ in range(50):
            _is_served(busy)
            time.sleep(0.1)

        assert silent.is_closed()
        assert half.is_closed()
        assert _is_served(busy)
        while not _settled(kconf, open_before, within=0.1):
            assert _is_served(busy)


@pytest.fixture
def plenty_of_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4096 if hard == resource.RLIM_INFINITY else min(hard, 4096)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("plenty_of_files")
def test_2000_concurrent_clients_are_served_and_their_descriptors_are_closed(kconf: KconfProcess) -> None:
    open_before, before = descriptors(kconf), memory(kconf)
    with ExitStack() as stack:
        lines = [stack.enter_context(Line(kconf)) for _ in range(2000)]
        for line in lines:
            line.send(describing(topic("orders")))
        for line in lines:
            assert line.receive()
        assert descriptors(kconf) >= 2000
        assert memory(kconf) < before + 64 * MB

    assert _settled(kconf, open_before)


def test_many_short_connections_leak_no_file_descriptors(kconf: KconfProcess) -> None:
    """They disconnect without sending, in the middle of a request, and without waiting for the response."""
    open_before = descriptors(kconf)
    asked = describing(BROKER)
    for number in range(3000):
        with Line(kconf) as line:
            if number % 3:
                line.send(asked[: len(asked) if number % 3 == 1 else 13])
    assert _settled(kconf, open_before)
    with Line(kconf) as line:
        assert _is_served(line)


def _settled(kconf: KconfProcess, most: int, *, within: float = 60) -> bool:
    """Whether the number of open files falls to this value within a while."""
    deadline = time.monotonic() + within
    while descriptors(kconf) > most and time.monotonic() < deadline:
        time.sleep(0.05)
    return descriptors(kconf) <= most


def test_a_server_raises_its_limit_of_open_files_to_the_hard_limit() -> None:
    """A shell usually sets a soft limit of 1,024 files, which is too few for a server."""

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        with KconfProcess() as kconf, ExitStack() as stack:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            lines = [stack.enter_context(Line(kconf)) for _ in range(400)]
            assert all(_is_served(line) for line in lines)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_client_with_a_small_receive_window_gets_long_responses(kconf: KconfProcess) -> None:
    """A client that reads long responses slowly gets all of them, and then the next."""
    asked = describing(*(topic(f"many-{number}") for number in range(2000)))
    with Line(kconf) as line:
        line.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        line.send(asked * 2, describing(topic("orders"), correlation=5))
        first, second = line.receive(), line.receive()

        assert first == second
        read(*DESCRIBE, line.receive(), correlation=5)
