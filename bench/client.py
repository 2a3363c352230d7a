"""The AdminClient beside confluent-kafka, aiokafka and kafka-python: describe 10,000 topics of a real broker.

Everyone describes the same topics with all their keys, in requests of 500 (ours in its own), and ends with results in
memory. Rounds take turns, and every client is a fresh one in each; the figure is the median. `python -m bench.client`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from bench import machine
from kconf import AdminClient, Alteration, Op, Resource, SyncAdminClient, TopicWish
from lab.broker import KafkaBroker

SIZE = 500
GOALS = {"confluent-kafka": 2.0, "aiokafka": 1.5, "kafka-python": 4.0}

Describe = Callable[[str, Sequence[str]], float]
"""Describe these topics at this address; gives the seconds of the describe itself."""


def kconf_sync(address: str, topics: Sequence[str]) -> float:
    with SyncAdminClient(address) as admin:
        admin.describe_cluster()
        began = time.perf_counter()
        found = admin.describe_configs([Resource.topic(each) for each in topics])
        spent = time.perf_counter() - began
    _check(topics, len(found), found[Resource.topic(topics[-1])]["retention.ms"].value)
    return spent


def kconf_async(address: str, topics: Sequence[str]) -> float:
    async def run() -> float:
        async with AdminClient(address) as admin:
            await admin.describe_cluster()
            began = time.perf_counter()
            found = await admin.describe_configs([Resource.topic(each) for each in topics])
            spent = time.perf_counter() - began
        _check(topics, len(found), found[Resource.topic(topics[-1])]["retention.ms"].value)
        return spent

    return asyncio.run(run())


def confluent_kafka(address: str, topics: Sequence[str]) -> float:
    from confluent_kafka import admin as confluent

    library: Any = confluent
    admin = library.AdminClient({"bootstrap.servers": address})
    admin.list_topics(timeout=30)
    began = time.perf_counter()
    found: dict[Any, Any] = {}
    for part in _parts(topics):
        found.update(
            admin.describe_configs([library.ConfigResource(library.ResourceType.TOPIC, each) for each in part])
        )
    results = {resource.name: future.result() for resource, future in found.items()}
    spent = time.perf_counter() - began
    _check(topics, len(results), results[topics[-1]]["retention.ms"].value)
    return spent


def aiokafka(address: str, topics: Sequence[str]) -> float:
    from aiokafka.admin import AIOKafkaAdminClient
    from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

    async def run() -> float:
        admin: Any = AIOKafkaAdminClient(bootstrap_servers=address)
        await admin.start()
        try:
            began = time.perf_counter()
            asked = (
                admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, each) for each in part])
                for part in _parts(topics)
            )
            answers = [answer for answers in await asyncio.gather(*asked) for answer in answers]
            results = {row[3]: {entry[0]: entry for entry in row[4]} for each in answers for row in each.resources}
            spent = time.perf_counter() - began
        finally:
            await admin.close()
        _check(topics, len(results), results[topics[-1]]["retention.ms"][1])
        return spent

    return asyncio.run(run())


def kafka_python(address: str, topics: Sequence[str]) -> float:
    from kafka.admin import ConfigResource, KafkaAdminClient

    admin: Any = KafkaAdminClient(bootstrap_servers=address)
    try:
        began = time.perf_counter()
        results: dict[str, Any] = {}
        for part in _parts(topics):
            asked = [ConfigResource("topic", each) for each in part]
            results.update(admin.describe_configs(asked, config_filter="all")["topic"])
        spent = time.perf_counter() - began
    finally:
        admin.close()
    _check(topics, len(results), results[topics[-1]]["retention.ms"]["value"])
    return spent


def _parts(topics: Sequence[str]) -> list[Sequence[str]]:
    return [topics[start : start + SIZE] for start in range(0, len(topics), SIZE)]


def _check(topics: Sequence[str], count: int, retention: str | None) -> None:
    if count != len(topics) or retention != str(1000 + len(topics) - 1):
        raise RuntimeError(f"{count} of {len(topics)} topics were described, the last with {retention}")


CLIENTS: dict[str, Describe] = {
    "kconf, async": kconf_async,
    "kconf, sync": kconf_sync,
    "confluent-kafka": confluent_kafka,
    "aiokafka": aiokafka,
    "kafka-python": kafka_python,
}


def prepare(address: str, count: int) -> list[str]:
    """Topics of which no two have the same configuration: ours must not win by that."""
    names = [f"bench-{number:05d}" for number in range(count)]
    with SyncAdminClient(address, timeout=600) as admin:
        for part in _parts(names):
            admin.create_topics(TopicWish(each, 1, 1) for each in part).raise_for_failures()
        wishes = {
            Resource.topic(name): [Alteration(Op.SET, "retention.ms", str(1000 + number))]
            for number, name in enumerate(names)
        }
        admin.incremental_alter_configs(wishes).raise_for_failures()
        _wait_until_seen(admin, names)
    return names


def _wait_until_seen(admin: SyncAdminClient, names: Sequence[str]) -> None:
    """A broker learns of a change after the controller has answered it."""
    last, wanted = Resource.topic(names[-1]), str(1000 + len(names) - 1)
    for _ in range(600):
        found = admin.describe_configs([last])
        if not found.failures and found[last]["retention.ms"].value == wanted:
            return
        time.sleep(0.1)
    raise RuntimeError("the broker does not show the topics")


def main() -> None:
    parser = argparse.ArgumentParser(description="Describe topics of a real broker with several clients.")
    parser.add_argument("--topics", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    print(f"{machine.describe()}; load average {os.getloadavg()[0]:.2f}")
    with KafkaBroker() as broker:
        names = prepare(broker.bootstrap, asked.topics)
        print(f"Kafka {broker.version}, {asked.topics} topics, no two with the same configuration")
        for warm_up in (kconf_sync, aiokafka, kconf_sync):
            warm_up(broker.bootstrap, names)
        seconds: dict[str, list[float]] = {name: [] for name in CLIENTS}
        for _ in range(asked.rounds):
            for name, describe in CLIENTS.items():
                seconds[name].append(describe(broker.bootstrap, names))
    _print(seconds)


def _print(seconds: dict[str, list[float]]) -> None:
    medians = {name: statistics.median(each) for name, each in seconds.items()}
    print(f"\n{'client':<18}{'median':>9}{'best':>9}{'async is':>11}{'sync is':>10}   goal")
    for name, median in medians.items():
        ratios = [median / medians[ours] for ours in ("kconf, async", "kconf, sync")]
        goal = GOALS.get(name)
        verdict = "" if goal is None else f"≥ {goal:g}× {'reached' if min(ratios) >= goal else 'short'}"
        print(f"{name:<18}{median:>8.2f}s{min(seconds[name]):>8.2f}s{ratios[0]:>9.2f} ×{ratios[1]:>8.2f} ×   {verdict}")


if __name__ == "__main__":
    main()
