"""Long polling: a waiting reader is answered by a matching change, at its timeout, or when the server must free it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from kconf.protocol.headers import LENGTH, read_response
from tests.feed.reading import API, changes, question, set_key, until, waiting
from tests.support.admin import GROUP, TOPIC, Admin
from tests.support.process import KconfProcess
from tests.support.wire import Wire

LONG = 240_000  # milliseconds; clients give up sooner, so a test that waited this long would fail


def beside(work: Callable[[], Any]) -> Future[Any]:
    """Run a waiting call in its own thread."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def test_a_waiting_reader_is_answered_when_a_matching_change_commits(own_server: KconfProcess) -> None:
    with Admin(own_server.bootstrap) as reader, Admin(own_server.bootstrap) as writer:
        writer.create("mine", "other")
        answer = beside(lambda: changes(reader, 1, wait=LONG, filters=[(TOPIC, "mine")]))
        until(lambda: waiting(own_server) == 1)
        for n in range(20):
            set_key(writer, "other", str(1000 + n))
        assert not answer.done()
        set_key(writer, "mine", "1000")

        found = answer.result(60)

    assert [each.revision for each in found.revisions] == [22]
    assert (found.next_after, found.current) == (22, 22)
    assert waiting(own_server) == 0


def test_a_reader_of_one_type_is_not_woken_by_changes_of_another(own_server: KconfProcess) -> None:
    with Admin(own_server.bootstrap) as reader, Admin(own_server.bootstrap) as writer:
        writer.create("t")
        answer = beside(lambda: changes(reader, 1, wait=LONG, filters=[(GROUP, None)]))
        until(lambda: waiting(own_server) == 1)
        set_key(writer, "t", "1000")
        assert not answer.done()
        set_key(writer, "g", "50000", key="consumer.session.timeout.ms", kind=GROUP)

        assert [each.revision for each in answer.result(60).revisions] == [3]


def test_a_timeout_returns_an_empty_page_and_the_next_position(own_server: KconfProcess) -> None:
    with Admin(own_server.bootstrap) as reader, Admin(own_server.bootstrap) as writer:
        writer.create("t")
        began = time.monotonic()
        answer = beside(lambda: changes(reader, 1, wait=700, filters=[(TOPIC, "none")]))
        until(lambda: waiting(own_server) == 1)
        set_key(writer, "t", "1000")
        found = answer.result(60)

    assert time.monotonic() - began >= 0.7
    assert (found.error_code, list(found.revisions), found.next_after, found.current) == (0, [], 2, 2)


def test_existing_changes_are_returned_immediately(admin: Admin, topic: str) -> None:
    admin.create(topic)

    assert changes(admin, 0, wait=LONG).revisions


@pytest.mark.parametrize("manner", ["closed", "half closed", "reset"])
def test_a_client_that_disconnects_is_removed_at_once(own_server: KconfProcess, manner: str) -> None:
    """Not only at its timeout: otherwise a reader that reconnects often would leave hundreds of waiting requests."""
    line = own_server.connect()
    line.sendall(question(0, wait=LONG, filters=[(TOPIC, "a"), (TOPIC, "b"), (GROUP, None)]))
    until(lambda: waiting(own_server) == 3)
    match manner:
        case "closed":
            line.close()
        case "half closed":
            line.shutdown(1)
        case "reset":
            line.setsockopt(1, 13, b"\x01\x00\x00\x00\x00\x00\x00\x00")  # SO_LINGER 0
            line.close()

    until(lambda: waiting(own_server) == 0)
    if manner == "half closed":
        (size,) = LENGTH.unpack(line.recv(4))
        _, answer = read_response(API, 0, line.recv(size))
        assert (answer.error_code, list(answer.revisions)) == (0, [])
        assert line.recv(1) == b""
        line.close()


def test_a_request_after_a_long_poll_ends_its_wait(server: KconfProcess) -> None:
    """Responses are in order, so the second would wait for the first; an empty page is always valid."""
    with Wire(server.bootstrap) as wire:
        current = changes(wire, -1).current
        wire._socket.sendall(question(current, wait=LONG, correlation=7) + question(current, wait=1, correlation=8))
        first, second = (read_response(API, 0, wire.receive()) for _ in range(2))
        wire._socket.sendall(question(current, wait=LONG, correlation=9))
        until(lambda: waiting(server) == 1)
        wire._socket.sendall(question(current, wait=1, correlation=10))
        third, fourth = (read_response(API, 0, wire.receive()) for _ in range(2))

    assert [each[0] for each in (first, second, third, fourth)] == [7, 8, 9, 10]
    assert all(each[1].error_code == 0 and not each[1].revisions for each in (first, second, third, fourth))


def test_a_long_poll_after_the_end_of_stream_does_not_wait(server: KconfProcess) -> None:
    """Two requests and end of stream in one write: the second request is the long poll."""
    with server.connect() as line:
        line.sendall(question(0, wait=0, correlation=1) + question(2**40, wait=LONG, correlation=2))
        line.sendall(question(changes_now(server), wait=LONG, correlation=3))
        line.shutdown(1)
        while line.recv(65536):
            pass


def changes_now(server: KconfProcess) -> int:
    with Wire(server.bootstrap) as wire:
        current: int = changes(wire, -1).current
        return current


def test_a_stopping_server_answers_waiting_clients(own_server: KconfProcess) -> None:
    with Wire(own_server.bootstrap) as wire:
        answer = beside(lambda: changes(wire, 0, wait=LONG))
        until(lambda: waiting(own_server) == 1)
        assert own_server.stop() == 0
        found = answer.result(60)

    assert (found.error_code, list(found.revisions), found.next_after) == (0, [], 0)
    assert "Traceback" not in own_server.log()


def test_one_commit_answers_many_waiting_readers(own_server: KconfProcess) -> None:
    lines = [own_server.connect() for _ in range(200)]
    for line in lines:
        line.sendall(question(0, wait=LONG))
    until(lambda: waiting(own_server) == len(lines))
    with Admin(own_server.bootstrap) as admin:
        admin.create("t")
    for line in lines:
        (size,) = LENGTH.unpack(line.recv(4))
        data = line.recv(size)
        assert [each.revision for each in read_response(API, 0, data)[1].revisions] == [1]
        line.close()
