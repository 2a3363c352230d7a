"""Configs of the brokers behind a gateway: never those of another broker, and none if the broker cannot be asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import cast

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.configdef.releases.catalogs import catalog_of
from kconf.errors import ApiError, ConnectionFailed, ErrorCode, KconfError, LocalProtocolError, NotAuthorized
from kconf.model.acl import Authorize, allow_all
from kconf.model.entry import Entry, Source, Synonym, ValueType, View
from kconf.model.journal import Change, ChangeKind, RequestContext
from kconf.model.membership import ClusterMember, ClusterMembers
from kconf.model.resource import Resource, ResourceType
from kconf.protocol.apis import BY_NAME
from kconf.protocol.codec.serde import decode
from kconf.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from kconf.protocol.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from kconf.protocol.messages.describe_cluster import DescribeClusterRequest
from kconf.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kconf.protocol.messages.incremental_alter_configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
)
from kconf.server.api import (
    create_partitions,
    create_topics,
    describe_cluster,
    describe_configs,
    incremental_alter_configs,
)
from kconf.server.context import ApiRequest, ServerContext
from kconf.server.upstream.client import UpstreamClient
from kconf.service.service import Service
from kconf.store.base import UnknownParts
from kconf.store.memory import MemoryStore

THREADS, RETENTION = "num.io.threads", "log.retention.ms"
BROKER, LOGGER = 4, 8


def static(**values: str) -> View:
    named = {name.replace("_", "."): value for name, value in values.items()}
    return View(
        tuple(
            Entry(name, each, Source.STATIC, synonyms=(Synonym(name, each, Source.STATIC),))
            for name, each in named.items()
        )
    )


class Broker:
    """What one broker answers."""

    def __init__(self, view: View) -> None:
        self.view, self.failure = view, cast("KconfError | None", None)

    async def describe(self) -> View:
        if self.failure is not None:
            raise self.failure
        return self.view


def play(scene: Callable[[World], Awaitable[None]], release: str = "4.3") -> None:
    async def played() -> None:
        async with World(release) as world:
            await scene(world)

    asyncio.run(played())


class World:
    """A gateway in front of brokers 1 and 2, of which the first is described. Broker 3 is fenced."""

    def __init__(self, release: str) -> None:
        self.release = release
        self.brokers = {1: Broker(static(num_io_threads="40")), 2: Broker(static(num_io_threads="20"))}
        self.store = MemoryStore()
        self.describe(1)
        self.members(1, 2)

    def describe(self, number: int) -> None:
        self.store.described_broker = number
        self.store.brokers_static = {THREADS: "40" if number == 1 else "20"}

    def members(self, *numbers: int) -> None:
        made = {each: ClusterMember(each, {}, None, ("kafka", each)) for each in (1, 2, 3)}
        self.store.members = ClusterMembers({}, {each: made[each] for each in numbers}, {3: made[3]})

    async def __aenter__(self) -> World:
        self.upstream = SimpleNamespace(describe_configs=lambda node, *_, **__: self.brokers[node].describe())
        self.service = Service(
            self.store, node_id=1, catalog=kafka_43(), static={}, broker_catalog=lambda: catalog_of(self.release)
        )
        await self.service.start()
        self.context = ServerContext.over(self.service, lambda: 0.0, None, cast(UpstreamClient, self.upstream))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.context.feed.close()
        await self.service.stop()

    def request(self, authorize: Authorize = allow_all) -> ApiRequest:
        return ApiRequest(2, RequestContext("User:ada"), "gateway", 9092, authorize)

    async def describe_configs(
        self, name: str, kind: int = BROKER, keys: list[str] | None = None
    ) -> tuple[int, str | None, dict[str, str | None]]:
        api = BY_NAME["DescribeConfigs"]
        request = DescribeConfigsRequest([DescribeConfigsResource(kind, name, keys)])
        made = describe_configs.handle(self.context, request, self.request())
        body = made if isinstance(made, list) else await made
        (found,) = decode(api.response, 2, False, b"".join(body)).results
        return found.error_code, found.error_message, {each.name: each.value for each in found.configs}

    async def alter(self, name: str, key: str, value: str, authorize: Authorize = allow_all) -> tuple[int, str | None]:
        wanted = IncrementalAlterConfigsResource(BROKER, name, [IncrementalAlterableConfig(key, 0, value)])
        request = IncrementalAlterConfigsRequest([wanted], True)
        (found,) = (await incremental_alter_configs.handle(self.context, request, self.request(authorize))).responses
        return found.error_code, found.error_message


def test_a_change_of_a_broker_is_checked_with_its_own_static_configs() -> None:
    """The number of threads can at most be doubled. The broker has not been described before."""

    async def scene(world: World) -> None:
        assert await world.alter("2", THREADS, "40") == (0, None)
        code, message = await world.alter("2", THREADS, "41")
        assert code == ErrorCode.INVALID_REQUEST
        assert message is not None
        assert "num.io.threads is 20" in message

    play(scene)


@pytest.mark.parametrize("kind", [BROKER, LOGGER])
def test_a_broker_that_does_not_respond_is_not_described(kind: int) -> None:

    async def scene(world: World) -> None:
        world.brokers[2].failure = ConnectionFailed("refused")
        for name in ("2", "3"):
            code, message, configs = await world.describe_configs(name, kind)
            assert (code, configs) == (ErrorCode.REQUEST_TIMED_OUT, {})
            assert message == f"broker {name} does not respond, so its configs are unknown; try again later"
        assert (await world.describe_configs("1"))[2][THREADS] == "40"

    play(scene)


NOT_SHOWN = ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "the gateway may not read it")


@pytest.mark.parametrize(
    "unknown", [UnknownParts({ResourceType.BROKER: NOT_SHOWN}, {}), UnknownParts({}, {Resource.broker(2): NOT_SHOWN})]
)
def test_a_broker_that_the_cluster_does_not_show_is_neither_described_nor_changed(unknown: UnknownParts) -> None:

    async def scene(world: World) -> None:
        world.store.unknown = unknown
        assert await world.describe_configs("2") == (NOT_SHOWN.code, NOT_SHOWN.message, {})
        assert await world.alter("2", THREADS, "21") == (NOT_SHOWN.code, NOT_SHOWN.message)
        is_shown = ResourceType.BROKER not in unknown.kinds
        assert (await world.describe_configs("1"))[0] == (0 if is_shown else NOT_SHOWN.code)

    play(scene)


def test_a_broker_that_does_not_respond_is_not_changed() -> None:
    """Its change cannot be checked. Kafka's clients cannot reach it either."""

    async def scene(world: World) -> None:
        world.brokers[2].failure = ConnectionFailed("refused")
        for name in ("2", "02", "3"):
            code, message = await world.alter(name, THREADS, "9")
            assert (code, message) == (
                ErrorCode.REQUEST_TIMED_OUT,
                f"broker {int(name)} does not respond, so its configs are unknown; try again later",
            )
        assert await world.alter("1", THREADS, "41") == (0, None)

    play(scene)


def test_a_caller_without_rights_learns_nothing_about_brokers() -> None:

    async def scene(world: World) -> None:
        world.brokers[2].failure = ConnectionFailed("refused")
        for name in ("1", "2", "3"):
            found = await world.alter(name, THREADS, "9", lambda *_: False)
            assert found == (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, NotAuthorized.stock)

    play(scene)


def test_configs_of_two_brokers_are_never_mixed() -> None:
    """Broker 1 has left the cluster, so topics inherit from broker 2: its static and its dynamic configs."""

    async def scene(world: World) -> None:
        changes = [
            Change(ChangeKind.CONFIG, Resource.broker(number), RETENTION, None, value, "set")
            for number, value in ((1, "1111"), (2, "2222"))
        ]
        world.members(2)
        world.describe(2)
        state = world.service.state
        found = world.service._states.after(state, state.snapshot.apply(changes, 1))
        assert found.resolver.number(THREADS) == 20
        assert found.resolver.inherited_value(world.service.state.resolver.catalog.topic["retention.ms"]) == "2222"

        code, message, configs = await world.describe_configs("1")
        assert (code, configs) == (ErrorCode.INVALID_REQUEST, {})
        assert message is not None
        assert message.startswith("this is broker 2")
        assert (await world.alter("1", THREADS, "41"))[0] == ErrorCode.INVALID_REQUEST

    play(scene)


def test_a_topic_may_have_replicas_on_brokers_that_do_not_run() -> None:
    """As in Kafka, which creates it if one of them runs."""

    async def scene(world: World) -> None:
        topics = [
            CreatableTopic("three", 1, 3, [], []),
            CreatableTopic("four", 1, 4, [], []),
            CreatableTopic("assigned", -1, -1, [CreatableReplicaAssignment(0, [1, 3])], []),
            CreatableTopic("unknown", -1, -1, [CreatableReplicaAssignment(0, [1, 4])], []),
        ]
        found = await create_topics.handle(world.context, CreateTopicsRequest(topics), world.request())
        assert {each.name: each.error_code for each in found.topics} == {
            "three": 0,
            "four": ErrorCode.INVALID_REPLICATION_FACTOR,
            "assigned": 0,
            "unknown": ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        }
        wanted = CreatePartitionsRequest([CreatePartitionsTopic("three", 2, None)])
        grown = await create_partitions.handle(world.context, wanted, world.request())
        assert [each.error_code for each in grown.results] == [0]

    play(scene)


def test_loggers_are_not_changed_while_the_state_is_stale() -> None:
    """The ACLs that allow it may have changed. A dry run changes nothing."""

    async def scene(world: World) -> None:
        async def alter(*_: object, validate_only: bool) -> None:
            sent.append(validate_only)

        async def answer(*, validate_only: bool) -> tuple[int, str | None]:
            level = IncrementalAlterableConfig("kafka", 0, "DEBUG")
            wanted = IncrementalAlterConfigsResource(LOGGER, "1", [level])
            request = IncrementalAlterConfigsRequest([wanted], validate_only)
            (found,) = (await incremental_alter_configs.handle(world.context, request, world.request())).responses
            return found.error_code, found.error_message

        sent: list[bool] = []
        world.upstream.alter_loggers = alter
        assert await answer(validate_only=False) == (0, None)
        world.store.stale_reason = "the controllers are away"
        code, message = await answer(validate_only=False)
        assert code == ErrorCode.REQUEST_TIMED_OUT
        assert message == "the controllers are away; the request was not sent; try again later"
        assert await answer(validate_only=True) == (0, None)
        assert sent == [False, True]

    play(scene)


def test_a_logger_that_cannot_be_sent_to_a_broker_fails_only_its_resource() -> None:

    async def scene(world: World) -> None:
        async def alter(*_: object, **__: object) -> None:
            raise LocalProtocolError("a string of 60000 bytes is too long")

        world.upstream.alter_loggers = alter
        wanted = [
            IncrementalAlterConfigsResource(kind, "1", [IncrementalAlterableConfig(key, 0, value)])
            for kind, key, value in ((LOGGER, "kafka", "DEBUG"), (BROKER, THREADS, "41"))
        ]
        request = IncrementalAlterConfigsRequest(wanted, True)
        found = (await incremental_alter_configs.handle(world.context, request, world.request())).responses
        assert [each.error_code for each in found] == [ErrorCode.INVALID_REQUEST, 0]

    play(scene)


def test_fenced_brokers_are_listed_on_request() -> None:

    async def scene(world: World) -> None:
        world.context.addresses.add("PLAINTEXT", 3, 9195)
        listed = []
        for is_wanted in (False, True):
            request = DescribeClusterRequest(False, include_fenced_brokers=is_wanted)
            found = describe_cluster.handle(world.context, request, world.request())
            listed.append([(each.broker_id, each.host, each.is_fenced) for each in found.brokers])
        running = [(1, "gateway", False), (2, "gateway", False)]
        assert listed == [running, [*running, (3, "gateway", True)]]

    play(scene)


@pytest.mark.parametrize(
    ("release", "has_groups", "has_defaults"), [("3.9", False, False), ("4.0", True, False), ("4.1", True, True)]
)
def test_configs_of_groups_and_client_metrics_depend_on_the_release(
    release: str, has_groups: bool, has_defaults: bool
) -> None:
    """As in Kafka: groups have configs since 4.0, and unset keys of client metrics are described since 4.1."""

    async def scene(world: World) -> None:
        code, _, configs = await world.describe_configs("g", ResourceType.GROUP)
        assert (code, bool(configs)) == ((0, True) if has_groups else (ErrorCode.INVALID_REQUEST, False))
        wanted = IncrementalAlterableConfig("consumer.session.timeout.ms", 0, "46000")
        request = IncrementalAlterConfigsRequest(
            [IncrementalAlterConfigsResource(ResourceType.GROUP, "g", [wanted])], True
        )
        (altered,) = (await incremental_alter_configs.handle(world.context, request, world.request())).responses
        assert altered.error_code == (0 if has_groups else ErrorCode.INVALID_REQUEST)

        code, _, configs = await world.describe_configs("m", ResourceType.CLIENT_METRICS)
        assert (code, bool(configs)) == (0, has_defaults)
        resolver = world.service.state.resolver
        entries = resolver.client_metrics({"interval.ms": "1000"}).entries
        assert [each.name for each in entries if each.source is Source.CLIENT_METRICS] == ["interval.ms"]
        assert {each.type for each in entries} >= ({ValueType.INT} if has_defaults else {ValueType.UNKNOWN})
        assert ("" in {each.documentation for each in entries}) is not has_defaults

        metrics = Resource.client_metrics("m")
        state = world.service.state
        changes = [Change(ChangeKind.CONFIG, metrics, "interval.ms", None, "1000", "set")]
        world.service._current.state = world.service._states.after(state, state.snapshot.apply(changes, 1))
        code, _, configs = await world.describe_configs("m", ResourceType.CLIENT_METRICS, ["match"])
        assert (code, list(configs)) == (0, ["match"] if has_defaults else ["interval.ms"])

    play(scene, release)


def test_a_broker_that_is_fenced_while_others_are_read_gets_an_error_of_its_own() -> None:

    async def scene(world: World) -> None:
        async def fence() -> View:
            world.members(1)
            world.store.members = world.store.members._replace(
                fenced={number: ClusterMember(number, {}, None, ("kafka", number)) for number in (2, 3)}
            )
            return static(num_io_threads="40")

        world.brokers[1].describe = fence  # type: ignore[method-assign]
        api = BY_NAME["DescribeConfigs"]
        request = DescribeConfigsRequest([DescribeConfigsResource(BROKER, name, None) for name in ("1", "2")])
        made = describe_configs.handle(world.context, request, world.request())
        assert not isinstance(made, list)
        found = decode(api.response, 2, False, b"".join(await made)).results
        assert {each.resource_name: each.error_code for each in found} == {"1": 0, "2": ErrorCode.REQUEST_TIMED_OUT}

    play(scene)
