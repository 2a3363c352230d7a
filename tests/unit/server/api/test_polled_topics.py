"""Topics that a gateway without controllers would refuse to create or alter because of an outdated state."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

import pytest

from kconf.model.journal import Change, ChangeKind, RequestContext
from kconf.model.plan import PendingCommit
from kconf.model.resource import Resource, Topic
from kconf.model.snapshot import topic_to_json
from kconf.protocol.messages.alter_configs import AlterableConfig, AlterConfigsResource
from kconf.protocol.messages.create_topics import CreatableTopic
from kconf.protocol.messages.incremental_alter_configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsResource,
)
from kconf.server.api.topic_mutations import MAX_DOUBTFUL, doubtful_topics, refresh
from kconf.store.base import Polling, Publish
from kconf.store.memory import MemoryStore
from tests.unit.server.api.test_freshness import running

EXISTS, UNKNOWN = 36, 3
PAYMENTS = Resource.topic("payments")


class PolledStore(MemoryStore):
    """`outside` are changes in the cluster that were not polled yet."""

    polling = Polling(10.0, 1, None, None)

    def __init__(self) -> None:
        super().__init__()
        self.outside: list[Sequence[Change]] = []
        self.refreshed: list[Collection[Resource]] = []

    def publish_to(self, publish: Publish) -> None:
        self._publish = publish

    def refresh(self, resources: Collection[Resource]) -> None:
        self.refreshed.append(resources)
        for changes in self.outside:
            self._publish([self._commit(PendingCommit(RequestContext(), 0, changes, {}))])  # type: ignore[list-item]
        self.outside = []


def a_topic(resource: Resource) -> str:
    return topic_to_json(Topic(resource.name, UUID(int=7), ((1,),)))


def test_a_topic_that_was_deleted_since_the_last_poll_is_created() -> None:
    store = PolledStore()
    orders = Resource.topic("orders")

    async def scene() -> None:
        async with running({}, store) as server:

            async def create() -> int:
                topic = CreatableTopic("orders", 1, 1, (), ())
                _, answer = await server.ask("CreateTopics", 7, topics=[topic])
                return int(answer.topics[0].error_code)

            assert await create() == EXISTS
            existing = topic_to_json(server.service.state.snapshot.topics["orders"])
            store.outside = [[Change(ChangeKind.TOPIC, orders, "", existing, None, "delete")]]
            assert await create() == 0
            assert store.refreshed == [[orders], [orders]]

    asyncio.run(scene())


@pytest.mark.parametrize("api", ["AlterConfigs", "IncrementalAlterConfigs"])
def test_a_topic_that_was_created_since_the_last_poll_is_altered(api: str) -> None:
    store = PolledStore()

    async def scene() -> None:
        async with running({}, store) as server:

            async def alter(name: str) -> int:
                version: int = 2
                resource: Any = AlterConfigsResource(2, name, [AlterableConfig("retention.ms", "5")])
                if api == "IncrementalAlterConfigs":
                    altered = [IncrementalAlterableConfig("retention.ms", 0, "5")]
                    version, resource = 1, IncrementalAlterConfigsResource(2, name, altered)
                _, answer = await server.ask(api, version, resources=[resource])
                return int(answer.responses[0].error_code)

            assert await alter("orders") == 0
            assert store.refreshed == []
            assert await alter("payments") == UNKNOWN
            store.outside = [[Change(ChangeKind.TOPIC, PAYMENTS, "", None, a_topic(PAYMENTS), "create")]]
            assert await alter("payments") == 0
            assert store.refreshed == [[PAYMENTS], [PAYMENTS]]
            assert server.service.state.snapshot.overrides(PAYMENTS) == {"retention.ms": "5"}

    asyncio.run(scene())


def test_topics_are_read_only_for_callers_with_the_right_and_on_a_polling_gateway() -> None:
    async def found(store: MemoryStore) -> list[Resource]:
        async with running({}, store) as server:
            names = ["orders", "payments", "returns"]
            return doubtful_topics(server.context, names, lambda name: name != "returns", existing=False)

    assert asyncio.run(found(PolledStore())) == [PAYMENTS]
    assert asyncio.run(found(MemoryStore())) == []


def test_only_possible_topics_are_read_and_a_limited_number() -> None:
    """Their names come from clients: reading one that no cluster has could fail for all."""

    async def scene() -> None:
        async with running({}, PolledStore()) as server:
            named = ["\ufffd" * 12_000, "not!valid", "", ".", "payments", "payments"]
            assert doubtful_topics(server.context, named, lambda _: True, existing=False) == [PAYMENTS]
            many = [f"t{number}" for number in range(MAX_DOUBTFUL + 100)]
            assert len(doubtful_topics(server.context, many, lambda _: True, existing=False)) == MAX_DOUBTFUL

    asyncio.run(scene())


def test_many_topics_are_read_in_parts_between_which_others_commit() -> None:
    store = PolledStore()
    topics = [Resource.topic(f"t{number}") for number in range(250)]
    order: list[object] = []

    async def scene() -> None:
        async with running({}, store) as server:
            reading = asyncio.create_task(refresh(server.context, topics))
            await asyncio.sleep(0)
            await server.service.in_store(lambda store: order.append(len(store.refreshed)))  # type: ignore[attr-defined]
            await reading
            assert order == [1]
            assert [list(each) for each in store.refreshed] == [topics[:100], topics[100:200], topics[200:]]

    asyncio.run(scene())
