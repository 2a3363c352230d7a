"""The AdminClient compared with confluent-kafka, aiokafka and kafka-python: describe 10,000 topics of a real broker.

All clients describe the same topics with all their keys, in requests of 500 (kconf chooses its own size), and end with
results in memory. Rounds alternate with a new client in each; the figure is the median, for kconf that of the slower of
its two clients. In the table `kafka` is the other client. Also, on kconf: 10,000 topics altered by one call.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bench.arena import Arena, Watch, main
from bench.crowd import crowd, parts, prepare, retention
from bench.load import BenchError
from bench.peers import Kconf
from bench.table import Goal, Row
from kconf import AdminClient, AlterConfigOp, OpType, Resource, SyncAdminClient

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
    for some in parts(topics):
        found.update(
            admin.describe_configs([library.ConfigResource(library.ResourceType.TOPIC, each) for each in some])
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
                admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, each) for each in some])
                for some in parts(topics)
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
        for some in parts(topics):
            asked = [ConfigResource("topic", each) for each in some]
            results.update(admin.describe_configs(asked, config_filter="all")["topic"])
        spent = time.perf_counter() - began
    finally:
        admin.close()
    _check(topics, len(results), results[topics[-1]]["retention.ms"]["value"])
    return spent


def _check(topics: Sequence[str], count: int, found: str | None) -> None:
    if count != len(topics) or found != retention(len(topics) - 1):
        raise BenchError(f"{count} of {len(topics)} topics were described; retention.ms of the last is {found}.")


CLIENTS: dict[str, Describe] = {
    "kconf, async": kconf_async,
    "kconf, sync": kconf_sync,
    "confluent-kafka": confluent_kafka,
    "aiokafka": aiokafka,
    "kafka-python": kafka_python,
}


OURS = ("kconf, async", "kconf, sync")


def rows(arena: Arena) -> Iterator[Row]:
    if "kafka" in arena.names:
        yield from _describe(arena)
    if "kconf" in arena.names:
        yield _alter(arena)


def _describe(arena: Arena) -> Iterator[Row]:
    address, topics = arena.keep(crowd, arena.settings.topics)
    for warm_up in (kconf_sync, aiokafka, kconf_sync):
        warm_up(address, topics)
    seconds: dict[str, list[float]] = {name: [] for name in CLIENTS}
    with Watch([]) as watch:
        for _ in range(arena.settings.rounds):
            for name, describe in CLIENTS.items():
                seconds[name].append(describe(address, topics))
    slower = max(OURS, key=lambda name: statistics.median(seconds[name]))
    for name, times in GOALS.items():
        work = f"describe {len(topics):,} topics of a real broker, compared with {name}"
        series = {"kafka": seconds[name], "kconf": seconds[slower]}
        goal = Goal("part", times, f"≥ {times:g}× faster")
        # The broker's work counts as other load: it is not a server of the arena.
        yield Row(work, "s", series, [goal], less_is_better=True, notes={"others": watch.others, "rounds": seconds})


def _alter(arena: Arena) -> Row:
    """One call of the client, durable in kconf; only measured on kconf."""
    seconds = []
    for _ in range(arena.settings.rounds):
        with Kconf() as server:
            names = prepare(server.address, arena.settings.topics)
            alterations = {Resource.topic(each): [AlterConfigOp(OpType.SET, "segment.ms", "60000")] for each in names}
            with SyncAdminClient(server.address) as admin:
                admin.describe_cluster()
                began = time.perf_counter()
                admin.incremental_alter_configs(alterations).raise_for_failures()
                seconds.append(time.perf_counter() - began)
    goal = Goal("most", 1.0, "≤ 1 s")
    return Row(f"alter {arena.settings.topics:,} topics with one call", "s", {"kconf": seconds}, [goal], True)


if __name__ == "__main__":
    main(rows)
