"""A real broker with 10,000 topics, all with different configs, so that kconf's client gains nothing from caching.

Shared by the benchmarks of clients and commands; started on first use.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from bench.load import BenchError
from kconf import AlterConfigOp, NewTopic, OpType, Resource, SyncAdminClient
from lab.broker import AT_FULL_SPEED, KafkaBroker

SIZE = 500  # topics in a request
TOPICS = 10_000
FEW = 500  # in a quick round, to check that it works


class Crowd(NamedTuple):
    """The address of the broker, and its topic names."""

    address: str
    topics: Sequence[str]


@contextmanager
def crowd(count: int) -> Iterator[Crowd]:
    with KafkaBroker(jvm_options=AT_FULL_SPEED) as broker:
        yield Crowd(broker.bootstrap, prepare(broker.bootstrap, count))


def parts(topics: Sequence[str]) -> list[Sequence[str]]:
    return [topics[start : start + SIZE] for start in range(0, len(topics), SIZE)]


def retention(number: int) -> str:
    """The retention, which differs for each topic."""
    return str(1000 + number)


def prepare(address: str, count: int) -> list[str]:
    names = [f"bench-{number:05d}" for number in range(count)]
    with SyncAdminClient(address, timeout=600) as admin:
        for some in parts(names):
            admin.create_topics(NewTopic(each, 1, 1) for each in some).raise_for_failures()
        alterations = {
            Resource.topic(name): [AlterConfigOp(OpType.SET, "retention.ms", retention(number))]
            for number, name in enumerate(names)
        }
        admin.incremental_alter_configs(alterations).raise_for_failures()
        _wait_until_seen(admin, names)
    return names


def _wait_until_seen(admin: SyncAdminClient, names: Sequence[str]) -> None:
    """Wait: a broker learns of changes after the controller has responded; for 10,000 this may take minutes."""
    last, wanted = Resource.topic(names[-1]), retention(len(names) - 1)
    ends = time.monotonic() + 600
    while time.monotonic() < ends:
        found = admin.describe_configs([last])
        if not found.failures and found[last]["retention.ms"].value == wanted:
            return
        time.sleep(0.1)
    raise BenchError("The broker does not show its topics.")
