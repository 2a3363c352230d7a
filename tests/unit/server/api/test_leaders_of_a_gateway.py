"""Leaders and in-sync replicas in the responses of a gateway: those of the brokers, or unknown, but never invented."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import cast
from uuid import UUID

import pytest
from immutables import Map

from kconf.configdef.catalog import kafka_43
from kconf.errors import ErrorCode, KconfError, RequestTimedOut, UpstreamUnavailable
from kconf.model.acl import allow_all
from kconf.model.journal import RequestContext
from kconf.model.membership import ClusterMember, ClusterMembers
from kconf.model.resource import Topic
from kconf.model.snapshot import Snapshot
from kconf.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    TopicPartition,
    TopicRequest,
)
from kconf.protocol.messages.metadata import MetadataPartition, MetadataRequest, MetadataRequestTopic
from kconf.server.api import gateway
from kconf.server.context import ApiRequest, ServerContext
from kconf.server.upstream.client import UpstreamClient
from kconf.service.service import Service
from kconf.store.memory import MemoryStore

LOST = "no broker of the cluster responds"
Shown = tuple[int, list[tuple[int, int, Sequence[int]]]]
"""The error of a topic, and the error, leader and in-sync replicas of its partitions."""


class Brokers:
    """The leader of partition 0 is broker 2, and both replicas are in sync."""

    def __init__(self) -> None:
        self.failure: KconfError | None = None
        self.asked = 0
        self.on_ask: Callable[[], object] = lambda: None

    async def partitions(self, *_: object) -> Mapping[str, Sequence[MetadataPartition]]:
        self._ask()
        return {"t": [MetadataPartition(0, 0, 2, 7, (1, 2), (2, 1))]}

    async def described_partitions(self, *_: object) -> Mapping[tuple[str, int], TopicPartition]:
        self._ask()
        return {("t", 0): TopicPartition(0, 0, 2, 7, (1, 2), (2, 1))}

    def _ask(self) -> None:
        self.asked += 1
        self.on_ask()
        if self.failure is not None:
            raise self.failure


class Store(MemoryStore):
    def load(self) -> Snapshot:
        topic = Topic("t", UUID(int=1), ((1, 2), (2, 1)))
        return Snapshot.of(0, Map({"t": topic}), Map(), Map())


class World:
    def __init__(self) -> None:
        self.brokers, self.store = Brokers(), Store()
        made = {each: ClusterMember(each, {}, None, ("kafka", each)) for each in (1, 2)}
        self.store.members = ClusterMembers({}, made)

    def shown(self, name: str) -> Shown:
        return asyncio.run(self._shown(name))

    async def _shown(self, name: str) -> Shown:
        service = Service(self.store, node_id=1, catalog=kafka_43(), static={})
        await service.start()
        upstream = cast(UpstreamClient, self.brokers)
        context = ServerContext.over(service, lambda: 0.0, None, upstream)
        call = ApiRequest(0, RequestContext("User:ada"), "gateway", 9092, allow_all)
        try:
            return await ASK[name](context, call)
        finally:
            await context.feed.close()
            await service.stop()


async def metadata(context: ServerContext, call: ApiRequest) -> Shown:
    request = MetadataRequest([MetadataRequestTopic(name="t")], False)
    (topic,) = (await gateway.handle_metadata(context, request, call)).topics
    return topic.error_code, [(each.error_code, each.leader_id, each.isr_nodes) for each in topic.partitions]


async def described(context: ServerContext, call: ApiRequest) -> Shown:
    request = DescribeTopicPartitionsRequest([TopicRequest("t")])
    (topic,) = (await gateway.handle_describe_topic_partitions(context, request, call)).topics
    return topic.error_code, [(each.error_code, each.leader_id, each.isr_nodes) for each in topic.partitions]


ASK: dict[str, Callable[[ServerContext, ApiRequest], Awaitable[Shown]]] = {
    "Metadata": metadata,
    "DescribeTopicPartitions": described,
}
NO_LEADER = (ErrorCode.LEADER_NOT_AVAILABLE, -1, ())
both = pytest.mark.parametrize("name", ASK)


@both
@pytest.mark.parametrize("reason", [None, "this gateway cannot write its journal now", "the controllers are away"])
def test_leaders_are_those_of_the_brokers_even_while_the_state_is_stale(name: str, reason: str | None) -> None:
    """The brokers do not know partition 1 yet."""
    world = World()
    world.store.stale_reason = reason
    assert world.shown(name) == (0, [(0, 2, (2, 1)), NO_LEADER])


@both
def test_lost_brokers_are_not_asked_and_lead_no_partition(name: str) -> None:
    world = World()
    world.store.brokers_problem = world.store.stale_reason = LOST
    assert world.shown(name) == (0, [NO_LEADER, NO_LEADER])
    assert world.brokers.asked == 0


@both
@pytest.mark.parametrize("failure", [RequestTimedOut(), UpstreamUnavailable("too many requests are waiting")])
def test_without_a_response_the_leaders_are_unknown(name: str, failure: KconfError) -> None:
    world = World()
    world.brokers.failure = failure
    assert world.shown(name) == (ErrorCode.REQUEST_TIMED_OUT, [])


@both
def test_brokers_that_are_lost_while_they_are_asked_lead_no_partition(name: str) -> None:
    world = World()
    world.brokers.failure = UpstreamUnavailable("refused")
    world.brokers.on_ask = lambda: setattr(world.store, "brokers_problem", LOST)
    assert world.shown(name) == (0, [NO_LEADER, NO_LEADER])
