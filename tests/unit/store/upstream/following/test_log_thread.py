"""When the followed state is current. Each test simulates the controllers."""

from __future__ import annotations

import http.client
from collections.abc import Callable, Sequence
from threading import Thread
from typing import Any

import pytest

from kconf.client.calls.base import CallResult
from kconf.client.kraft.calls import FetchedLog, SnapshotPage, SnapshotPosition
from kconf.client.settings import Address, Bootstrap, ClientSettings
from kconf.client.transport.requests import NodeRequest, Reply
from kconf.errors import ConfigurationError, ConnectionFailed, StoreUnavailable
from kconf.model.journal import Change, ChangeKind, RequestContext
from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource
from kconf.protocol.records.metadata import NoOpRecord
from kconf.store.upstream.authors.in_flight import NOTHING_IN_FLIGHT
from kconf.store.upstream.authors.matching import ExpectedChanges
from kconf.store.upstream.following import log_thread
from kconf.store.upstream.following.log_thread import STALE, LogThread
from kconf.store.upstream.source import Shown
from kconf.util.threads.awake_clock import TICK, AwakeClock
from tests.unit.client.kraft.log import batch, new_topic, snapshot, topic_config

SETTINGS = ClientSettings(Bootstrap((Address("controller", 1),), True))


class Controllers:
    """Replaces connections: a function responds to the next request."""

    def __init__(self, answer: Callable[[Any], object]) -> None:
        self.answer = answer

    def send_batch(self, requests: Sequence[NodeRequest], _deadline: float) -> list[Reply]:
        return [CallResult({None: self.answer(requests[0].call)})]

    def close(self) -> None:
        """Nothing is open."""


def played(answer: Callable[[Any], object]) -> LogThread:
    thread = LogThread(SETTINGS, "cluster", None)
    thread._pool = Controllers(answer)  # type: ignore[assignment]
    return thread


def log(*records: Any, first: int = 1, high_watermark: int) -> FetchedLog:
    return FetchedLog(18, 0, 1, 1, {}, high_watermark, 0, records=batch(first, list(records)) if records else b"")


def test_the_state_is_not_ready_with_a_snapshot_alone() -> None:
    data = snapshot([*new_topic("orders", 1), topic_config("orders", "retention.ms", "1")])
    answers = iter(
        [
            FetchedLog(18, 0, 1, 1, snapshot=SnapshotPosition(100, 1)),
            SnapshotPage(0, len(data), 0, data),
            log(topic_config("orders", "retention.ms", "2"), first=100, high_watermark=101),
        ]
    )
    thread = played(lambda _: next(answers))
    ready = []
    for _ in range(3):
        thread._step()
        ready.append(thread._is_ready())
    assert ready == [False, False, True]
    found, _ = thread.take_all()
    assert [dict(values) for values in found.configs.values()] == [{"retention.ms": "2"}]


def test_an_election_does_not_make_the_state_current() -> None:
    not_leader = FetchedLog(18, 6, -1, 2)
    thread = played(lambda _: not_leader)
    thread._step()
    assert not thread.is_current
    thread._pool = Controllers(lambda _: log(NoOpRecord(), high_watermark=2))  # type: ignore[assignment]
    while not thread.is_current:
        thread._step()
    assert thread._is_ready()


def test_a_response_without_log_data_does_not_end_the_wait_for_a_change() -> None:
    thread = played(lambda _: log(NoOpRecord(), high_watermark=2))
    thread._step()
    answered = thread._answered
    thread._pool = Controllers(lambda _: FetchedLog(18, 6, -1, 2))  # type: ignore[assignment]
    thread._step()
    assert thread._answered == answered


@pytest.mark.parametrize(("end", "is_enough"), [(2, True), (3, False), (None, False)])
def test_catching_up_waits_for_the_end_of_the_log_or_a_later_fetch(
    end: int | None, is_enough: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = played(lambda _: log(NoOpRecord(), high_watermark=2))
    thread._step()
    waits: list[Callable[[], bool]] = []
    monkeypatch.setattr(thread._changed, "wait_for", lambda is_done, _timeout: waits.append(is_done))
    thread.catch_up(end, ExpectedChanges([]))
    (is_done,) = waits
    assert is_done() is is_enough
    thread._pool = Controllers(lambda _: log(NoOpRecord(), first=2, high_watermark=3))  # type: ignore[assignment]
    thread._step()
    assert is_done()


def test_the_image_is_taken_together_with_the_changes_that_led_to_it() -> None:
    thread = played(lambda _: log(*new_topic("orders", 1), high_watermark=3))
    thread._step()
    offset, image, _ = thread.take_image()
    assert (offset, list(image["topics"])) == (3, ["orders"])
    thread._pool = Controllers(  # type: ignore[assignment]
        lambda _: log(topic_config("orders", "retention.ms", "1"), first=3, high_watermark=4)
    )
    thread._step()
    assert image["configs"] == []
    offset, image, found = thread.take_image()
    assert (offset, [each.number for each in found]) == (4, [3])
    assert image["configs"] == [["topic", "orders", {"retention.ms": "1"}]]
    assert thread.take() == []


class Time:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_silence_makes_the_state_stale_and_a_pause_of_this_process_does_not() -> None:
    time = Time()
    thread = played(lambda _: log(NoOpRecord(), high_watermark=2))
    thread._clock = AwakeClock(time)
    thread._step()
    time.now += 3600  # no thread of this process has run meanwhile
    thread._clock.tick()
    assert thread.is_current
    for _ in range(int(STALE / TICK)):
        time.now += TICK
        thread._clock.tick()
    assert not thread.is_current
    thread._step()
    assert thread.is_current


def test_after_a_pause_a_change_waits_for_a_fetch_that_is_sent_then(monkeypatch: pytest.MonkeyPatch) -> None:
    thread = played(lambda _: log(NoOpRecord(), high_watermark=2))
    thread._step()
    thread.begin_requests(NOTHING_IN_FLIGHT)  # at once
    thread._read_at -= 3600
    thread._sent += 1  # a fetch that was under way during the pause
    waiter = Thread(target=thread.begin_requests, args=(NOTHING_IN_FLIGHT,), daemon=True)
    waiter.start()
    with thread._changed:
        thread._answered += 1  # its answer may be from before the pause
        thread._changed.notify_all()
    waiter.join(0.05)
    assert waiter.is_alive()
    while waiter.is_alive():
        thread._step()
    thread._read_at -= 3600
    monkeypatch.setattr(log_thread, "STALE", 0.01)
    with pytest.raises(StoreUnavailable):
        thread.begin_requests(NOTHING_IN_FLIGHT)


class Unreachable:
    """Controllers of which some refuse connections: answers one after the other, None for a refused one."""

    def __init__(self, *answers: object) -> None:
        self._answers = iter(answers)

    def send_batch(self, _requests: Sequence[NodeRequest], _deadline: float) -> list[Reply]:
        answer = next(self._answers)
        return [ConnectionFailed("refused") if answer is None else CallResult({None: answer})]


def test_controllers_that_all_refuse_connections_make_the_state_stale_at_once() -> None:
    here, election = log(NoOpRecord(), high_watermark=2), FetchedLog(18, 6, -1, 2)
    addresses = tuple(Address("controller", each) for each in (1, 2, 3))
    thread = LogThread(ClientSettings(Bootstrap(addresses, True)), "cluster", None)
    thread._pool = Unreachable(here, None, None, election, None, None, None, here)  # type: ignore[assignment]
    found: list[bool] = []
    while len(found) < 8:
        sent = thread._sent
        thread._step()
        if thread._sent > sent:
            found.append(thread.is_current)
    assert found == [True, True, True, True, True, True, False, True]


def test_the_end_of_the_log_is_unknown_until_a_new_leader_has_committed() -> None:
    """Until then, a response does not show that a change is missing."""
    thread = played(lambda _: log(NoOpRecord(), high_watermark=2))
    thread._step()
    answered = thread._answered
    thread._pool = Controllers(lambda _: log(high_watermark=-1))  # type: ignore[assignment]
    thread._step()
    assert thread._answered == answered
    assert thread.wait_for(ExpectedChanges([setting()]), 0.0) is Shown.UNREAD


def after_an_outage(*answers: FetchedLog) -> LogThread:
    """It has read up to offset 2 before, and gets these answers after it."""
    thread = played(lambda _: log(NoOpRecord(), high_watermark=2))
    thread._step()
    thread._answered_at, thread._read_at = None, 0.0
    found = iter(answers)
    thread._pool = Controllers(lambda _: next(found))  # type: ignore[assignment]
    return thread


def test_the_state_is_stale_until_a_backlog_is_read() -> None:
    pages = [log(NoOpRecord(), NoOpRecord(), first=first, high_watermark=7) for first in (2, 4)]
    thread = after_an_outage(*pages, log(NoOpRecord(), first=6, high_watermark=7))
    for offset in (4, 6):
        thread._step()
        assert not thread.is_current
        assert not thread.is_read
        assert f"it is still reading the metadata log, at offset {offset} of 7" in str(thread.stale_reason)
    thread._step()
    assert thread.is_current
    assert thread.is_read
    assert thread.stale_reason is None


def test_a_change_is_not_sent_while_a_backlog_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    thread = after_an_outage(log(NoOpRecord(), first=2, high_watermark=4), log(NoOpRecord(), first=3, high_watermark=4))
    thread._step()
    monkeypatch.setattr(thread._changed, "wait_for", lambda is_done, _timeout: is_done())
    with pytest.raises(StoreUnavailable):
        thread.begin_requests(NOTHING_IN_FLIGHT)
    thread._step()
    thread.begin_requests(NOTHING_IN_FLIGHT)  # at once


def test_a_steady_stream_of_changes_does_not_make_the_state_stale() -> None:
    """The leader also serves records that are not committed yet. They are not missing."""
    stream = [
        FetchedLog(18, 0, 1, 1, {}, first, 0, records=batch(first, [NoOpRecord()]) + batch(first + 1, [NoOpRecord()]))
        for first in range(3, 21, 2)
    ]
    thread = after_an_outage(log(NoOpRecord(), first=2, high_watermark=3), *stream)
    found = []
    for _ in range(len(stream) + 1):
        thread._step()
        found.append((thread.is_read, thread.applied))
        thread._answered_at = None
    assert found == [(True, 3), *((True, first) for first in range(3, 21, 2))]


def test_a_change_is_not_missing_while_a_backlog_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    thread = after_an_outage(
        log(NoOpRecord(), first=2, high_watermark=4),
        log(topic_config("orders", "retention.ms", "7"), first=3, high_watermark=4),
    )

    def step(is_done: Callable[[], bool], _timeout: float) -> bool:
        thread._step()
        return is_done()

    monkeypatch.setattr(thread._changed, "wait_for", step)
    assert thread.wait_for(ExpectedChanges([setting()]), 0.0) is Shown.UNREAD
    assert thread.wait_for(ExpectedChanges([setting()]), 0.0) is Shown.SHOWN


def test_controllers_in_an_older_epoch_are_named_as_the_reason() -> None:
    thread = played(lambda _: log(NoOpRecord(), high_watermark=2))
    thread._step()
    thread.follower._leader_epoch = 5
    thread._pool = Controllers(lambda _: FetchedLog(18, 75, 1, 3))  # type: ignore[assignment]
    thread._step()
    thread._answered_at = None
    assert "the controllers are in leader epoch 3, but this gateway has read the metadata log up to epoch 5" in str(
        thread.stale_reason
    )


def test_a_controller_of_another_cluster_is_named_as_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_thread, "_RETRY", 0.0)
    thread = played(lambda _: FetchedLog(18, 104))
    with pytest.raises(ConfigurationError) as raised:
        thread._step()
    thread._failed(raised.value)
    assert "controller:1 is a controller of another cluster, not cluster" in str(thread.stale_reason)


def setting() -> PendingCommit:
    change = Change(ChangeKind.CONFIG, Resource.topic("orders"), "retention.ms", None, "7", "set")
    return PendingCommit(RequestContext("User:alice"), 0, [change], {})


def test_an_unexpected_error_makes_the_state_stale_until_the_log_is_read_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(log_thread, "_RETRY", 0.0)
    thread = played(lambda _: log(NoOpRecord(), high_watermark=2))
    reasons: list[str | None] = []

    class Failing(Controllers):
        def send_batch(self, requests: Sequence[NodeRequest], deadline: float) -> list[Reply]:
            reasons.append(thread.stale_reason)
            if len(reasons) in (2, 3):
                raise http.client.BadStatusLine("from an HTTP server")
            thread._closed = len(reasons) == 4
            return super().send_batch(requests, deadline)

    thread._pool = Failing(thread._pool.answer)  # type: ignore[assignment, attr-defined]
    thread._run()
    assert reasons[1] is None
    assert all("internal error, BadStatusLine; see the log" in str(each) for each in reasons[2:])
    assert thread.stale_reason is None
    assert {each.exc_info[0] for each in caplog.records if each.exc_info} == {http.client.BadStatusLine}


def test_records_that_cannot_be_applied_are_not_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Part of them may have been applied, so the gateway must be restarted."""
    thread = played(lambda _: log(NoOpRecord(), high_watermark=2))
    thread._step()
    assert thread.stale_reason is None

    def fail(*_: object, **__: object) -> object:
        raise LookupError("unexpected")

    monkeypatch.setattr(type(thread.follower.image), "apply", fail)
    thread._pool = Controllers(lambda _: log(*new_topic("orders", 1), first=2, high_watermark=4))  # type: ignore[assignment]
    thread._run()
    assert "could not be applied because of an internal error" in str(thread.stale_reason)
    assert thread.problem is not None
