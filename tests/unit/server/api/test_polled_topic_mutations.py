"""Topics that a gateway without controllers would refuse to delete or extend because of an outdated state."""

from __future__ import annotations

import asyncio
from uuid import UUID

from kconf.model.journal import Change, ChangeKind
from kconf.model.resource import Resource, Topic
from kconf.model.snapshot import topic_to_json
from kconf.protocol.messages.create_partitions import CreatePartitionsTopic
from kconf.protocol.messages.delete_topics import DeleteTopicState
from tests.unit.server.api.test_freshness import running
from tests.unit.server.api.test_polled_topics import PAYMENTS, UNKNOWN, PolledStore

ORDERS = Resource.topic("orders")
INVALID_PARTITIONS = 37


def created(resource: Resource) -> list[Change]:
    topic = topic_to_json(Topic(resource.name, UUID(int=7), ((1,),)))
    return [Change(ChangeKind.TOPIC, resource, "", None, topic, "create")]


def test_a_topic_that_was_created_since_the_last_poll_is_deleted() -> None:
    store = PolledStore()

    async def scene() -> None:
        async with running({}, store) as server:

            async def delete(name: str) -> int:
                _, answer = await server.ask("DeleteTopics", 6, topics=[DeleteTopicState(name)])
                return int(answer.responses[0].error_code)

            assert await delete("payments") == UNKNOWN
            store.outside = [created(PAYMENTS)]
            assert await delete("payments") == 0
            assert [list(each) for each in store.refreshed] == [[PAYMENTS], [PAYMENTS]]
            assert await delete("orders") == 0
            assert len(store.refreshed) == 2

    asyncio.run(scene())


def test_a_topic_that_was_created_or_replaced_since_the_last_poll_gets_partitions() -> None:
    store = PolledStore()

    async def scene() -> None:
        async with running({}, store) as server:

            async def grow(name: str, count: int) -> int:
                topic = CreatePartitionsTopic(name, count, None)
                _, answer = await server.ask("CreatePartitions", 3, topics=[topic])
                return int(answer.results[0].error_code)

            assert await grow("payments", 2) == UNKNOWN
            store.outside = [created(PAYMENTS)]
            assert await grow("payments", 2) == 0
            assert [list(each) for each in store.refreshed] == [[PAYMENTS], [PAYMENTS]]
            assert await grow("orders", 2) == 0
            assert len(store.refreshed) == 2
            assert await grow("orders", 2) == INVALID_PARTITIONS
            existing = topic_to_json(server.service.state.snapshot.topics["orders"])
            store.outside = [[Change(ChangeKind.TOPIC, ORDERS, "", existing, None, "delete")], created(ORDERS)]
            assert await grow("orders", 2) == 0
            assert [list(each) for each in store.refreshed[2:]] == [[ORDERS], [ORDERS]]

    asyncio.run(scene())
