"""controller_mutation_rate on a real broker and on kconf: the same topics are created and refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kconf.protocol.messages.create_partitions import CreatePartitionsTopic
from kconf.protocol.messages.delete_topics import DeleteTopicState
from lab.broker import KafkaBroker
from tests.support.admin import new_topic
from tests.support.process import KconfProcess
from tests.support.quotas import QuotaAdmin

RATE = 1.0  # eleven tokens at most
TOLERANCE_MS = 1500  # time passes between two requests


@pytest.fixture(scope="module")
def kconf() -> Iterator[KconfProcess]:
    with KconfProcess() as process:
        yield process


class Limited:
    """A separate client with its own quota, on one of the two servers."""

    def __init__(self, address: str, name: str) -> None:
        self._address, self._name = address, name
        with QuotaAdmin(address) as admin:
            assert admin.set_quotas({"client-id": name}, controller_mutation_rate=RATE) == 0
            self._wait(admin)

    def _wait(self, admin: QuotaAdmin) -> None:
        while not admin.quotas(("client-id", 0, self._name)):
            pass  # a real broker describes it after its controller has acknowledged it

    def ask(self, api: str, version: int, **fields: Any) -> Any:
        """Send a request on its own connection, so that other requests are not delayed."""
        with QuotaAdmin(self._address, client_id=self._name) as line:
            return line.ask(api, version, **fields)


def told(answer: Any, field: str) -> list[tuple[int, bool]]:
    return [(each.error_code, bool(getattr(each, "error_message", None))) for each in getattr(answer, field)]


def asked(limited: Limited, name: str) -> list[tuple[list[tuple[int, bool]], int]]:
    """Send requests one after the other; returns codes and throttle times."""
    answers = []

    def note(answer: Any, field: str = "topics") -> None:
        answers.append((told(answer, field), answer.throttle_time_ms))

    topics = [new_topic(f"{name}-{letter}", 15, 1) for letter in "abcdef"]
    note(limited.ask("CreateTopics", 7, topics=topics[:1], validate_only=True))
    note(limited.ask("CreateTopics", 5, topics=topics[:2]))
    note(limited.ask("CreateTopics", 7, topics=[topics[2], new_topic(f"{name}-a", 1, 1)]))
    note(limited.ask("CreateTopics", 4, topics=topics[3:4]))
    note(limited.ask("CreatePartitions", 3, topics=[CreatePartitionsTopic(f"{name}-a", 16)]), "results")
    note(limited.ask("CreatePartitions", 2, topics=[CreatePartitionsTopic(f"{name}-a", 16)]), "results")
    note(limited.ask("DeleteTopics", 6, topics=[DeleteTopicState(f"{name}-a")]), "responses")
    note(limited.ask("DeleteTopics", 4, topic_names=[f"{name}-a"]), "responses")
    note(limited.ask("DeleteTopics", 6, topics=[DeleteTopicState(f"{name}-nothing")]), "responses")
    return answers


def test_kafka_and_kconf_refuse_and_throttle_alike(kafka_431: KafkaBroker, kconf: KconfProcess) -> None:
    theirs = asked(Limited(kafka_431.bootstrap, "mutation-limited"), "mutation")
    ours = asked(Limited(kconf.bootstrap, "mutation-limited"), "mutation")

    for number, (kafka, own) in enumerate(zip(theirs, ours, strict=True)):
        assert kafka[0] == own[0], number
        assert abs(kafka[1] - own[1]) < TOLERANCE_MS, (number, kafka, own)
        assert bool(kafka[1]) == bool(own[1]), (number, kafka, own)
    assert any(code == 89 for codes, _ in ours for code, _ in codes)
