"""What a gateway reads from the brokers itself: few connections, shared fairly, and few requests."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest

from kconf.client.settings import Address, Bootstrap, ClientSettings
from kconf.errors import (
    BrokerNotAvailable,
    ErrorCode,
    InvalidRequest,
    KafkaError,
    RequestTimedOut,
    UpstreamUnavailable,
)
from kconf.model.alteration import AlterConfigOp, OpType
from kconf.model.entry import View
from kconf.model.membership import ClusterMember, ClusterMembers
from kconf.model.resource import ResourceType
from kconf.protocol.messages.alter_configs import AlterConfigsResourceResponse
from kconf.protocol.messages.describe_acls import DescribeAclsResponse
from kconf.protocol.messages.describe_configs import (
    DescribeConfigsEntry,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kconf.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsResponse
from kconf.protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from kconf.protocol.messages.metadata import MetadataBroker, MetadataPartition, MetadataResponse, MetadataTopic
from kconf.server.broker_proxy import BrokerProxy
from kconf.server.connection_context import Origin
from kconf.server.upstream.brokers import BrokerPools
from kconf.server.upstream.client import UpstreamClient
from kconf.server.upstream.pool import PoolLimits, RawRequest
from tests.unit.client.fake import CLOSE, SILENCE, FakeBroker

ADA, BEN = Origin("ada"), Origin("ben")
DEBUG = [AlterConfigOp(OpType.SET, "kafka", "DEBUG")]


class World:
    """A gateway in front of brokers 1 and 2, which it has probed. All loggers of a broker have the same level."""

    def __init__(self, brokers: list[FakeBroker]) -> None:
        self.brokers, self.level = {each.node_id: each for each in brokers}, "INFO"
        for each in brokers:
            each.handlers["Metadata"] = lambda asked, _: self.metadata(asked)
            each.handlers["DescribeConfigs"] = lambda asked, _: self._described(asked)
            each.handlers["IncrementalAlterConfigs"] = lambda asked, _: self._altered(asked)
            each.handlers["DescribeAcls"] = lambda *_: DescribeAclsResponse(0, ErrorCode.SECURITY_DISABLED)
            each.handlers["ListGroups"] = lambda *_, node=each.node_id: ListGroupsResponse(
                groups=[ListedGroup(f"of {node}", "consumer")]
            )
        self.members = self._members(*self.brokers)
        service: Any = SimpleNamespace(store=self)
        settings = ClientSettings(Bootstrap(tuple(Address("127.0.0.1", each.port) for each in brokers)))
        self.pools = BrokerPools(settings, "fake", lambda: self.members, PoolLimits())
        self.client = UpstreamClient(settings, self.pools)
        self.proxy = BrokerProxy(service, self.client)

    def leave(self, *nodes: int) -> None:
        self.members = self._members(*(self.brokers.keys() - nodes))

    def asked(self, node: int, name: str) -> int:
        """The requests of an API, without those for the cluster ID on new connections."""
        broker = self.brokers[node]
        return sum(
            each == name and getattr(request, "topics", None) != []
            for (each, _), request in zip(broker.asked, broker.requests, strict=True)
        )

    def _members(self, *nodes: int) -> ClusterMembers:
        return ClusterMembers(
            {}, {each: ClusterMember(each, {}, None, ("127.0.0.1", self.brokers[each].port)) for each in nodes}
        )

    def metadata(self, asked: Any) -> MetadataResponse:
        topics = [MetadataTopic(0, each.name, partitions=[MetadataPartition(0, 0, 2)]) for each in asked.topics]
        return MetadataResponse(0, [MetadataBroker(1, "127.0.0.1", 1)], "fake", 1, topics)

    def _described(self, asked: Any) -> DescribeConfigsResponse:
        entries = [DescribeConfigsEntry("kafka", self.level, False, config_source=6)]
        (wanted,) = asked.resources
        found = DescribeConfigsResult(0, None, wanted.resource_type, wanted.resource_name, entries)
        return DescribeConfigsResponse(0, [found])

    def _altered(self, asked: Any) -> IncrementalAlterConfigsResponse:
        (resource,) = asked.resources
        self.level = resource.configs[0].value
        done = AlterConfigsResourceResponse(0, None, resource.resource_type, resource.resource_name)
        return IncrementalAlterConfigsResponse(0, [done])


@pytest.fixture
def brokers() -> Iterator[list[FakeBroker]]:
    with ExitStack() as stack:
        yield [stack.enter_context(FakeBroker(node_id=node)) for node in (1, 2)]


def play(brokers: list[FakeBroker], scene: Callable[[World], Awaitable[None]]) -> None:
    async def run() -> None:
        world = World(brokers)
        await world.pools.refresh()
        try:
            await scene(world)
        finally:
            world.client.close()

    asyncio.run(run())


def level(view: View) -> str | None:
    return view["kafka"].value


def test_loggers_are_read_once_for_many_concurrent_requests(brokers: list[FakeBroker]) -> None:
    async def scene(world: World) -> None:
        before = brokers[0].connections
        views = await asyncio.gather(*(world.proxy.describe_loggers(1) for _ in range(100)))
        assert {level(each) for each in views} == {"INFO"}
        assert level(await world.proxy.describe_loggers(1)) == "INFO"
        assert world.asked(1, "DescribeConfigs") == 1
        assert brokers[0].connections - before <= 4

    play(brokers, scene)


def test_a_change_through_the_gateway_is_visible_in_the_next_response(brokers: list[FakeBroker]) -> None:
    async def scene(world: World) -> None:
        assert level(await world.proxy.describe_loggers(1)) == "INFO"
        await world.proxy.alter_loggers("User:ada", 1, DEBUG, ADA, validate_only=False)
        assert level(await world.proxy.describe_loggers(1)) == "DEBUG"

    play(brokers, scene)


def test_logger_levels_are_read_again_when_the_cache_expires(
    brokers: list[FakeBroker], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kconf.server.broker_proxy._LOGGERS", 0.0)

    async def scene(world: World) -> None:
        assert level(await world.proxy.describe_loggers(1)) == "INFO"
        world.level = "WARN"
        assert level(await world.proxy.describe_loggers(1)) == "WARN"

    play(brokers, scene)


def test_a_failure_is_not_cached(brokers: list[FakeBroker]) -> None:
    async def scene(world: World) -> None:
        described = brokers[0].handlers["DescribeConfigs"]
        brokers[0].handlers["DescribeConfigs"] = lambda *_: CLOSE
        failed = await asyncio.gather(*(world.proxy.describe_loggers(1) for _ in range(5)), return_exceptions=True)
        assert {type(each) for each in failed} == {RequestTimedOut}
        assert world.asked(1, "DescribeConfigs") == 1
        brokers[0].handlers["DescribeConfigs"] = described
        assert level(await world.proxy.describe_loggers(1)) == "INFO"

    play(brokers, scene)


def test_a_change_without_a_response_may_have_been_made(brokers: list[FakeBroker]) -> None:
    async def scene(world: World) -> None:
        brokers[0].handlers["IncrementalAlterConfigs"] = lambda *_: CLOSE
        with pytest.raises(RequestTimedOut, match="broker 1 did not respond, so the log levels may have been changed"):
            await world.proxy.alter_loggers("User:ada", 1, DEBUG, ADA, validate_only=False)

    play(brokers, scene)


def test_the_client_gets_the_error_of_a_broker_that_refuses_to_change_loggers(brokers: list[FakeBroker]) -> None:
    refused = AlterConfigsResourceResponse(
        ErrorCode.INVALID_REQUEST, "unable to delete", ResourceType.BROKER_LOGGER, "1"
    )

    async def scene(world: World) -> None:
        brokers[0].handlers["IncrementalAlterConfigs"] = lambda *_: IncrementalAlterConfigsResponse(0, [refused])
        with pytest.raises(InvalidRequest, match="unable to delete"):
            await world.proxy.alter_loggers("User:ada", 1, DEBUG, ADA, validate_only=False)

    play(brokers, scene)


def test_static_configs_are_read_once_for_many_concurrent_requests(brokers: list[FakeBroker]) -> None:
    async def scene(world: World) -> None:
        found = await asyncio.gather(*(world.proxy.load_static([1, 2]) for _ in range(50)))
        assert found == [{}] * 50
        assert [world.asked(node, "DescribeConfigs") for node in (1, 2)] == [1, 1]
        world.leave(2)
        await world.proxy.load_static([1])
        assert world.proxy._static.keys() == {1}

    play(brokers, scene)


def test_leaders_for_many_clients_use_few_connections(brokers: list[FakeBroker]) -> None:
    async def scene(world: World) -> None:
        before = brokers[0].connections
        found = await asyncio.gather(*(world.client.partitions(["t"], ADA) for _ in range(100)))
        assert {each["t"][0].leader_id for each in found} == {2}
        assert brokers[0].connections - before <= 4
        clients = [Origin(number) for number in range(100)]
        await asyncio.gather(*(world.client.partitions(["t"], each) for each in clients))
        assert brokers[0].connections <= 16
        assert brokers[1].connections == 1  # its probe

    play(brokers, scene)


def test_a_broker_that_answered_instead_of_another_is_asked_first_afterwards(brokers: list[FakeBroker]) -> None:
    async def scene(world: World) -> None:
        brokers[0].handlers["Metadata"] = lambda asked, _: CLOSE if asked.topics else world.metadata(asked)
        for _ in range(3):
            assert (await world.client.partitions(["t"], ADA))["t"][0].leader_id == 2
        assert [world.asked(node, "Metadata") for node in (1, 2)] == [1, 3]
        for each in brokers:
            each.handlers["Metadata"] = lambda *_: CLOSE
        with pytest.raises(UpstreamUnavailable):
            await world.client.partitions(["t"], ADA)
        world.leave(1, 2)
        with pytest.raises(UpstreamUnavailable, match="no brokers"):
            await world.client.partitions(["t"], BEN)
        with pytest.raises(KafkaError, match="does not respond"):
            await world.proxy.describe_loggers(1)

    play(brokers, scene)


def test_groups_of_all_brokers_are_listed_or_the_request_fails(brokers: list[FakeBroker]) -> None:
    async def scene(world: World) -> None:
        assert [each.name for each in await world.client.groups(ADA)] == ["of 1", "of 2"]
        brokers[1].handlers["ListGroups"] = lambda *_: ListGroupsResponse(error_code=BrokerNotAvailable.code)
        with pytest.raises(BrokerNotAvailable):
            await world.client.groups(ADA)
        brokers[1].handlers["ListGroups"] = lambda *_: CLOSE
        with pytest.raises(UpstreamUnavailable):
            await world.client.groups(ADA)

    play(brokers, scene)


def test_changes_of_loggers_use_the_share_of_their_client(brokers: list[FakeBroker]) -> None:
    """So one client with many slow changes does not delay the changes and reads of others."""
    release = threading.Event()

    def altered(world: World, asked: Any) -> object:
        if asked.resources[0].configs[0].value == "TRACE":
            assert release.wait(60)
        return world._altered(asked)

    async def scene(world: World) -> None:
        brokers[0].handlers["IncrementalAlterConfigs"] = lambda asked, _: altered(world, asked)
        trace = [AlterConfigOp(OpType.SET, "kafka", "TRACE")]

        async def alter(alterations: list[AlterConfigOp], origin: Origin) -> None:
            await world.proxy.alter_loggers("User:ada", 1, alterations, origin, validate_only=False)

        slow = [asyncio.create_task(alter(trace, ADA)) for _ in range(8)]
        try:
            async with asyncio.timeout(60):
                while world.asked(1, "IncrementalAlterConfigs") < 4:
                    await asyncio.sleep(0.01)
                await alter(DEBUG, BEN)
                await world.proxy.describe_loggers(1)
                assert not any(each.done() for each in slow)
        finally:
            release.set()
        await asyncio.gather(*slow)

    play(brokers, scene)


def test_a_probe_that_fails_unexpectedly_does_not_end_those_of_other_brokers(
    brokers: list[FakeBroker], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("kconf.server.upstream.brokers._FOLLOW", 0.0)
    monkeypatch.setattr("kconf.server.upstream.brokers._PROBE", 0.0)

    async def scene(world: World) -> None:
        answered = 0

        async def fail(request: RawRequest) -> bytes:
            raise ValueError("unexpected")

        async def count(request: RawRequest) -> bytes:
            nonlocal answered
            answered += 1
            return await send(request)

        send = world.pools.own_pool(2).send
        world.pools.own_pool(1).send = fail  # type: ignore[method-assign]
        world.pools.own_pool(2).send = count  # type: ignore[method-assign]
        following = asyncio.create_task(world.pools.follow())
        async with asyncio.timeout(60):
            while answered < 3:
                await asyncio.sleep(0.001)
        assert not following.done()
        following.cancel()
        assert {each.exc_info[0] for each in caplog.records if each.exc_info} == {ValueError}

    play(brokers, scene)


def test_a_broker_that_hangs_is_the_last_one_that_is_asked(
    brokers: list[FakeBroker], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kconf.server.upstream.client._OF_ANY", 0.05)

    async def scene(world: World) -> None:
        assert world.pools.nodes == [1, 2]
        brokers[0].handlers["Metadata"] = lambda asked, _: SILENCE if asked.topics else world.metadata(asked)
        assert (await world.client.partitions(["t"], ADA))["t"][0].leader_id == 2
        assert world.pools.nodes == [2, 1]

    play(brokers, scene)
