"""Administer from asyncio: python -m examples.asyncio_admin HOST:PORT

Sends all requests concurrently, with one connection per broker, then changes a topic only if it has not changed since.
"""

from __future__ import annotations

import asyncio
import sys

from kconf import AdminClient, AlterConfigOp, InvalidUpdateVersion, NewTopic, OpType, QuotaFilter, Resource, TopicExists

ORDERS = Resource.topic("orders")


async def main(bootstrap: str) -> None:
    async with AdminClient(bootstrap) as admin:
        await _make(admin)
        async with asyncio.TaskGroup() as group:
            cluster = group.create_task(admin.describe_cluster())
            topics = group.create_task(admin.list_topics())
            quotas = group.create_task(admin.describe_client_quotas(QuotaFilter()))
        names = [Resource.topic(name) for name in topics.result()]
        print(f"{cluster.result().cluster_id}: {len(names)} topics, {len(quotas.result())} entities with quotas")
        views = await admin.describe_configs(names)
        for resource, view in views.items():
            print(f"{resource}: {sum(not entry.is_default for entry in view.entries)} keys are not at their defaults")
        if views.revision is not None:  # a kconf server, which can compare and set
            await _change_if_unchanged(admin, views[ORDERS]["segment.ms"].value, views.revision)


async def _make(admin: AdminClient) -> None:
    made = await admin.create_topics([NewTopic("orders", 3, 1)])
    try:
        made.raise_for_failures()
    except* TopicExists:
        print("the topic orders already exists")


async def _change_if_unchanged(admin: AdminClient, value: str | None, seen: int) -> None:
    alteration = {ORDERS: [AlterConfigOp(OpType.SET, "segment.ms", "3600000" if value != "3600000" else "7200000")]}
    first = await admin.incremental_alter_configs(alteration, expected={ORDERS: seen}, reason="compare-and-set")
    first.raise_for_failures()
    second = await admin.incremental_alter_configs(alteration, expected={ORDERS: seen})
    try:
        second.raise_for_failures()
    except* InvalidUpdateVersion:
        print("a change with an outdated revision is refused")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "localhost:9092"))
