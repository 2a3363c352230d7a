"""When the followed state is that of the cluster. Each test plays the controllers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kconf.client.calls.base import CallResult
from kconf.client.kraft.calls import FetchedLog, SnapshotPage, SnapshotPosition
from kconf.client.settings import Address, Bootstrap, ClientSettings
from kconf.client.transport.requests import NodeRequest, Reply
from kconf.protocol.records.metadata import NoOpRecord
from kconf.store.upstream.log_thread import LogThread
from tests.unit.client.kraft.log import batch, new_topic, snapshot, topic_config

SETTINGS = ClientSettings(Bootstrap((Address("controller", 1),), True))


class Controllers:
    """In place of connections: answers the next request by a function."""

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


def test_a_snapshot_alone_is_not_the_present() -> None:
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


def test_an_election_does_not_count_as_activity() -> None:
    not_leader = FetchedLog(18, 6, -1, 2)
    thread = played(lambda _: not_leader)
    thread._step()
    assert not thread.is_current
    thread._pool = Controllers(lambda _: log(NoOpRecord(), high_watermark=2))  # type: ignore[assignment]
    while not thread.is_current:
        thread._step()
    assert thread._is_ready()


def test_only_the_log_ends_the_wait_for_a_change() -> None:
    thread = played(lambda _: log(NoOpRecord(), high_watermark=2))
    thread._step()
    answered = thread._answered
    thread._pool = Controllers(lambda _: FetchedLog(18, 6, -1, 2))  # type: ignore[assignment]
    thread._step()
    assert thread._answered == answered


def test_the_image_and_what_led_to_it_are_taken_together() -> None:
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
