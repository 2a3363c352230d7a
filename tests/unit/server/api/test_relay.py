"""Which requests a gateway forwards, to which broker, in which versions, and the few bytes that it changes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.errors import ErrorCode, ProtocolError, RemoteProtocolError, UpstreamUnavailable
from kconf.model.acl import AclType, Operation
from kconf.model.cluster import GroupListing
from kconf.model.membership import ClusterMember, ClusterMembers
from kconf.protocol.apis import BY_NAME
from kconf.protocol.codec.serde import encode, uvarint
from kconf.protocol.headers import HEAD, read_response, request
from kconf.protocol.messages.api_versions import ApiVersionsRequest
from kconf.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from kconf.protocol.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse
from kconf.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kconf.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    QuorumListener,
    QuorumNode,
)
from kconf.protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from kconf.protocol.messages.list_groups import ListGroupsRequest
from kconf.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kconf.server.api import relay, relay_checks, router
from kconf.server.api.request_pipeline import RequestPipeline
from kconf.server.connection_context import ConnectionContext
from kconf.server.context import ServerContext
from kconf.server.upstream.client import UpstreamClient
from kconf.server.upstream.pool import RawRequest
from kconf.service.service import Service
from kconf.store.memory import MemoryStore

OFFSET_COMMIT, UPDATE_FEATURES = 8, 57
VERSIONS = {
    1: {2: (1, 99), 8: (2, 99), 15: (0, 6), 19: (2, 5), 35: (1, 99), 10: (0, 99), 43: (0, 99), 57: (0, 9), 55: (0, 9)},
    2: {2: (1, 50), 8: (2, 60), 15: (0, 6), 19: (2, 6), 35: (1, 50), 10: (0, 99), 43: (0, 40), 57: (0, 9), 55: (0, 9)},
}
AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


class Brokers:
    """The brokers behind the gateway: they send `answers` unchanged."""

    acts_as_users = False

    def __init__(self, nodes: tuple[int, ...]) -> None:
        self.nodes = nodes
        self.asked: list[tuple[int, bytes]] = []
        self.answer: Callable[[bytes], bytes] = lambda frame: frame[4:8] + b"the answer"
        self.unreachable: set[int] = set()
        self.have_no_authorizer = True

    def pool_for(self, principal: str, node: int) -> Any:
        async def send(raw: RawRequest) -> bytes:
            if node in self.unreachable:
                raise UpstreamUnavailable(f"broker {node} is unreachable")
            self.asked.append((node, raw.frame))
            response = self.answer(raw.frame)
            raw.throttle_of(response)
            return response

        return SimpleNamespace(send=send)

    def versions(self, node: int | None) -> Mapping[int, tuple[int, int]]:
        if node is not None:
            return VERSIONS[node]
        both = VERSIONS[1], VERSIONS[2]
        return {key: (both[0][key][0], min(each[key][1] for each in both)) for key in both[0]}

    def is_unreachable(self, node: int) -> bool:
        return node in self.unreachable

    def described(self) -> None:
        return None


class World:
    def __init__(self, nodes: tuple[int, ...], static: Mapping[str, str]) -> None:
        self.brokers = Brokers(nodes)
        self.store = MemoryStore()
        members = {each: ClusterMember(each, {}, None, ("kafka", 9092)) for each in nodes}
        self.store.members = ClusterMembers({}, members)
        self.store.brokers_static = static
        self.service = Service(self.store, node_id=1, catalog=kafka_43(), static={}, broker_catalog=kafka_43)

    async def __aenter__(self) -> World:
        await self.service.start()
        upstream = cast(UpstreamClient, SimpleNamespace(brokers=self.brokers))
        self.context = ServerContext.over(self.service, lambda: 0.0, None, upstream)
        self.pipeline = RequestPipeline(self.context)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.context.feed.close()
        await self.service.stop()

    async def send(self, frame: bytes, connection: ConnectionContext) -> bytes:
        """Send a frame and return its response, both without their length."""
        made = self.pipeline.handle(connection, frame, 0, len(frame))
        _, parts = await made if isinstance(made, Awaitable) else made
        return b"".join(parts)[4:]

    async def ask(self, name: str, version: int, message: Any, connection: ConnectionContext) -> Any:
        api = BY_NAME[name]
        answer = await self.send(request(api, version, 7, "client", message)[4:], connection)
        return read_response(api, version, answer)[1]

    async def served(self, connection: ConnectionContext) -> dict[int, tuple[int, int]]:
        answer = await self.ask("ApiVersions", 4, ApiVersionsRequest("test", "1"), connection)
        return {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}

    def answers(self, name: str, version: int, message: Any) -> None:
        api = BY_NAME[name]
        flexible = api.is_flexible(version)
        tags = b"\x00" if flexible else b""
        self.brokers.answer = lambda frame: frame[4:8] + tags + encode(message, version, flexible)


def connection(node: int | None = None) -> ConnectionContext:
    return ConnectionContext("127.0.0.1", "gateway", 9192, node=node)


def frame_of(key: int, version: int, body: bytes = b"whatever this release has") -> bytes:
    return HEAD.pack(key, version, 77) + b"\x00\x02me" + body


def play(
    scene: Callable[[World], Coroutine[Any, Any, None]],
    nodes: tuple[int, ...] = (1, 2),
    static: Mapping[str, str] | None = None,
) -> None:
    async def run() -> None:
        async with World(nodes, static or {}) as world:
            await scene(world)

    asyncio.run(run())


@pytest.mark.parametrize("node", [1, 2])
def test_a_frame_of_an_unknown_version_is_forwarded_unchanged(node: int) -> None:
    async def scene(world: World) -> None:
        frame = frame_of(OFFSET_COMMIT, 60)
        assert await world.send(frame, connection(node)) == frame[4:8] + b"the answer"
        assert world.brokers.asked == [(node, frame)]
        assert world.context.counters.by_api() == {"OffsetCommit": 1}

    play(scene)


def test_a_large_frame_is_forwarded_too() -> None:
    async def scene(world: World) -> None:
        frame = frame_of(OFFSET_COMMIT, 60, b"x" * 100_000)
        assert await world.send(frame, connection(1)) == frame[4:8] + b"the answer"
        assert world.pipeline.is_served(OFFSET_COMMIT, 60)

    play(scene)


def test_a_version_that_the_broker_does_not_have_is_refused() -> None:
    async def scene(world: World) -> None:
        for node, key, version in ((2, OFFSET_COMMIT, 61), (2, OFFSET_COMMIT, 1), (None, OFFSET_COMMIT, 5)):
            with pytest.raises(RemoteProtocolError, match="not supported"):
                await world.send(frame_of(key, version), connection(node))
        assert world.brokers.asked == []

    play(scene)


def test_an_api_that_is_not_listed_is_not_forwarded() -> None:
    async def scene(world: World) -> None:
        with pytest.raises(RemoteProtocolError, match="not supported"):
            await world.send(frame_of(UPDATE_FEATURES, 0), connection(1))
        assert UPDATE_FEATURES not in await world.served(connection(1))
        assert world.brokers.asked == []

    play(scene)


def test_forwarded_apis_have_the_versions_of_the_broker_and_others_common_ones() -> None:
    async def scene(world: World) -> None:
        found = await world.served(connection(1))
        assert (found[2], found[8], found[35]) == ((1, 99), (2, 99), (1, 99))
        assert (found[19], found[10], found[18]) == ((2, 5), (0, 6), (0, 5))
        assert 30000 in found
        nobody = await world.served(connection())
        assert (nobody[2], nobody[35], nobody[43]) == ((1, 11), (1, 5), (0, 40))
        assert 8 not in nobody

    play(scene)


def test_with_an_authorizer_only_apis_and_versions_that_kconf_decodes_are_served() -> None:
    async def scene(world: World) -> None:
        found = await world.served(connection(1))
        assert (found[2], found[35], found[43]) == ((1, 11), (1, 5), (0, 2))
        assert 8 not in found
        with pytest.raises(RemoteProtocolError, match="not supported"):
            await world.send(frame_of(OFFSET_COMMIT, 3), connection(1))

    play(scene, static={"authorizer.class.name": AUTHORIZER})


def test_a_gateway_with_its_own_acls_checks_them_also_if_it_acts_as_its_users() -> None:
    """The brokers know only the rights of the user on the cluster."""

    async def scene(world: World) -> None:
        world.brokers.acts_as_users = True
        assert (await world.served(connection(1)))[8] == (2, 99)

        world.context = replace(world.context, has_own_acls=True)
        world.pipeline = RequestPipeline(world.context)
        caller = connection(1)
        caller.authorize = lambda *_: False
        found = await world.served(caller)
        assert (found[15], 8 in found) == ((0, 6), False)
        with pytest.raises(RemoteProtocolError, match="not supported"):
            await world.send(frame_of(OFFSET_COMMIT, 3), caller)
        answer = await world.ask("DescribeGroups", 5, DescribeGroupsRequest(["g"], False), caller)
        assert [each.error_code for each in answer.groups] == [ErrorCode.GROUP_AUTHORIZATION_FAILED]
        assert world.brokers.asked == []

    play(scene, static={"authorizer.class.name": AUTHORIZER})


@pytest.mark.parametrize(
    ("rights", "has_own_acls", "acts_as_users", "is_forwarded"),
    [
        ("some", False, False, False),
        ("all", False, False, True),  # such as a super user
        ("some", True, False, True),
        ("some", False, True, True),
    ],
)
def test_no_request_is_authorized_by_acls_that_are_not_current(
    monkeypatch: pytest.MonkeyPatch, rights: str, has_own_acls: bool, acts_as_users: bool, is_forwarded: bool
) -> None:
    async def scene(world: World) -> None:
        world.brokers.acts_as_users = acts_as_users
        world.context = replace(world.context, has_own_acls=has_own_acls)
        world.pipeline = RequestPipeline(world.context)
        monkeypatch.setattr(MemoryStore, "can_be_stale", True)
        monkeypatch.setattr(MemoryStore, "is_reachable", False)
        caller = connection(1)
        if rights == "some":
            caller.authorize = lambda *_: True
        world.answers("FindCoordinator", 4, FindCoordinatorResponse(coordinators=[]))
        wanted = FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])
        if is_forwarded:
            await world.ask("FindCoordinator", 4, wanted, caller)
        else:
            with pytest.raises(UpstreamUnavailable, match="the ACLs of the cluster are unknown"):
                await world.ask("FindCoordinator", 4, wanted, caller)
        assert len(world.brokers.asked) == is_forwarded

    play(scene, static={"authorizer.class.name": AUTHORIZER})


def all_versions(_node: int | None) -> Mapping[int, tuple[int, int]]:
    return dict.fromkeys(range(100), (0, 99))


@pytest.mark.parametrize("is_stale", [False, True])
def test_groups_of_all_brokers_need_current_acls_also_if_the_gateway_acts_as_its_users(
    monkeypatch: pytest.MonkeyPatch, is_stale: bool
) -> None:
    """They are read with the gateway's own account, so the brokers do not check the caller."""

    async def scene(world: World) -> None:
        world.brokers.acts_as_users = True
        monkeypatch.setattr(MemoryStore, "can_be_stale", True)
        monkeypatch.setattr(MemoryStore, "is_reachable", not is_stale)

        async def groups(_origin: Any) -> list[GroupListing]:
            return [GroupListing("payments", "consumer", "Stable", "consumer")]

        monkeypatch.setattr(world.brokers, "versions", all_versions)
        monkeypatch.setattr(world.context.upstream, "groups", groups, raising=False)
        caller = connection()
        caller.authorize = lambda *_: True
        if is_stale:
            with pytest.raises(UpstreamUnavailable, match="the ACLs of the cluster are unknown"):
                await world.ask("ListGroups", 4, ListGroupsRequest(), caller)
        else:
            answer = await world.ask("ListGroups", 4, ListGroupsRequest(), caller)
            assert [each.group_id for each in answer.groups] == ["payments"]

    play(scene, static={"authorizer.class.name": AUTHORIZER})


def test_apis_that_are_always_refused_are_not_advertised_except_those_that_old_clients_need(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scene(world: World) -> None:
        caller = connection(1)
        monkeypatch.setattr(world.brokers, "versions", all_versions)
        refused = router.DATA_PLANE.keys() - relay_checks.HANDLERS.keys() - relay.RELAYED
        assert (await world.served(caller)).keys() & refused == {0, 1}  # Produce and Fetch
        topics = [DeleteRecordsTopic("orders", [DeleteRecordsPartition(0, 0)])]
        answer = await world.ask("DeleteRecords", 2, DeleteRecordsRequest(topics, 1000), caller)
        assert [each.error_code for each in answer.topics[0].partitions] == [ErrorCode.INVALID_REQUEST]
        assert world.brokers.asked == []

    play(scene)


def test_produce_is_refused_and_without_acks_the_connection_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(world: World) -> None:
        monkeypatch.setattr(world.brokers, "versions", all_versions)
        data = [TopicProduceData("orders", bytes(16), [PartitionProduceData(0, b"records")])]
        answer = await world.ask("Produce", 9, ProduceRequest(None, 1, 1000, data), connection(1))
        codes = [each.error_code for each in answer.responses[0].partition_responses]
        assert codes == [ErrorCode.INVALID_REQUEST]
        with pytest.raises(RemoteProtocolError, match="acks=0"):
            await world.ask("Produce", 9, ProduceRequest(None, 0, 1000, data), connection(1))

    play(scene)


def test_a_cluster_that_hides_its_authorizer_is_treated_as_having_one() -> None:
    async def scene(world: World) -> None:
        world.brokers.have_no_authorizer = False
        assert 8 not in await world.served(connection(1))
        with pytest.raises(RemoteProtocolError, match="not supported"):
            await world.send(frame_of(OFFSET_COMMIT, 3), connection(1))

    play(scene)


def test_a_caller_sees_only_allowed_groups_and_its_own_rights() -> None:
    async def scene(world: World) -> None:
        caller = connection(1)
        caller.authorize = lambda operation, kind, name: (
            (operation, kind, name)
            == (
                Operation.DESCRIBE,
                AclType.GROUP,
                "mine",
            )
        )
        found = DescribedGroup(0, None, "mine", "Stable", authorized_operations=2040)
        world.answers("DescribeGroups", 5, DescribeGroupsResponse(300, [found]))
        answer = await world.ask("DescribeGroups", 5, DescribeGroupsRequest(["mine", "other"], True), caller)
        assert answer.throttle_time_ms == 0
        assert [(each.group_id, each.error_code) for each in answer.groups] == [
            ("other", ErrorCode.GROUP_AUTHORIZATION_FAILED),
            ("mine", 0),
        ]
        assert answer.groups[1].authorized_operations == 1 << Operation.DESCRIBE
        ((_, frame),) = world.brokers.asked
        assert b"mine" in frame
        assert b"other" not in frame

    play(scene, static={"authorizer.class.name": AUTHORIZER})


def test_a_request_about_one_broker_is_refused_if_no_broker_is_named() -> None:
    async def scene(world: World) -> None:
        answer = await world.ask("DescribeLogDirs", 3, DescribeLogDirsRequest(None), connection())
        assert answer.error_code == ErrorCode.INVALID_REQUEST
        assert world.brokers.asked == []

    play(scene)


def test_the_only_broker_need_not_be_named() -> None:
    async def scene(world: World) -> None:
        await world.send(frame_of(OFFSET_COMMIT, 60), connection())
        assert [node for node, _ in world.brokers.asked] == [2]

    play(scene, nodes=(2,))


def test_a_request_about_the_cluster_is_sent_to_any_reachable_broker() -> None:
    async def scene(world: World) -> None:
        world.brokers.unreachable = {1}
        await world.send(frame_of(43, 40), connection())
        assert [node for node, _ in world.brokers.asked] == [2]
        with pytest.raises(UpstreamUnavailable):
            await world.send(frame_of(43, 40), connection(1))

    play(scene)


def test_the_throttle_time_of_the_gateways_account_is_not_forwarded() -> None:
    async def scene(world: World) -> None:
        time = (500).to_bytes(4, "big")
        world.brokers.answer = lambda frame: frame[4:8] + b"\x00" + time + b"rest"
        known = await world.send(frame_of(OFFSET_COMMIT, 9), connection(1))
        assert known[4:] == b"\x00" + bytes(4) + b"rest"
        unknown = await world.send(frame_of(OFFSET_COMMIT, 90), connection(1))
        assert unknown[4:] == b"\x00" + time + b"rest"

    play(scene)


def test_coordinators_have_the_address_of_the_gateway() -> None:
    async def scene(world: World) -> None:
        world.context.addresses.share("PLAINTEXT", 9192)
        world.context.addresses.add("PLAINTEXT", 2, 9195)
        found = [Coordinator("g", 2, "kafka", 9092, 0, ""), Coordinator("h", 1, "kafka", 9092, 0, "")]
        world.answers("FindCoordinator", 4, FindCoordinatorResponse(coordinators=found))
        wanted = FindCoordinatorRequest(key_type=0, coordinator_keys=["g", "h"])
        answer = await world.ask("FindCoordinator", 4, wanted, connection(1))
        assert [(each.host, each.port) for each in answer.coordinators] == [("gateway", 9195), ("gateway", 9192)]
        world.answers("FindCoordinator", 2, FindCoordinatorResponse(node_id=2, host="kafka", port=9092))
        old = await world.ask("FindCoordinator", 2, FindCoordinatorRequest("g"), connection())
        assert (old.node_id, old.host, old.port) == (2, "gateway", 9195)

    play(scene)


def test_a_text_that_is_too_long_for_a_broker_is_not_an_internal_error(caplog: pytest.LogCaptureFixture) -> None:
    """Bytes that are not UTF-8 get three times as long when they are decoded. Kafka does not answer such a request."""
    long = b"\xff" * 20_000

    async def scene(world: World) -> None:
        key = b"\x00\x02" + uvarint(len(long) + 1) + long + b"\x00"
        with pytest.raises(ProtocolError, match="too long"):
            await world.send(HEAD.pack(10, 4, 77) + b"\x00\x02me\x00" + key, connection(1))
        name = len(long).to_bytes(2, "big") + long
        answer = await world.send(HEAD.pack(10, 4, 77) + name + b"\x00\x00\x02\x02g\x00", connection(1))
        (found,) = read_response(BY_NAME["FindCoordinator"], 4, answer)[1].coordinators
        assert (found.key, found.error_code) == ("g", ErrorCode.UNKNOWN_SERVER_ERROR)
        assert world.brokers.asked == []

    play(scene)
    assert not [each for each in caplog.records if each.levelname == "ERROR" or each.exc_info]


def test_the_listeners_of_controllers_are_not_shown() -> None:
    async def scene(world: World) -> None:
        nodes = [QuorumNode(3, [QuorumListener("CONTROLLER", "kafka", 9093)])]
        world.answers("DescribeQuorum", 2, DescribeQuorumResponse(nodes=nodes))
        answer = await world.ask("DescribeQuorum", 2, DescribeQuorumRequest(()), connection())
        assert [(each.node_id, list(each.listeners)) for each in answer.nodes] == [(3, [])]

    play(scene)


def test_later_requests_of_a_client_that_named_a_broker_are_sent_to_it() -> None:
    async def scene(world: World) -> None:
        caller = connection()
        cluster = world.context.cluster_id
        named = await world.ask("ApiVersions", 5, ApiVersionsRequest("test", "1", cluster, 2), caller)
        assert named.error_code == 0
        await world.send(frame_of(OFFSET_COMMIT, 60), caller)
        assert [node for node, _ in world.brokers.asked] == [2]
        other = await world.ask("ApiVersions", 5, ApiVersionsRequest("test", "1", cluster, 1), caller)
        assert other.error_code == ErrorCode.REBOOTSTRAP_REQUIRED

    play(scene)
