"""Both clients on a scripted broker: old versions, broken connections, missing responses, and the calls after them."""

from __future__ import annotations

import ast
import asyncio
import inspect
import signal
import socket
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import pytest

import kconf
from kconf import (
    AdminClient,
    AlterConfigOp,
    AuthenticationFailed,
    ConfigurationError,
    ConnectionFailed,
    ErrorCode,
    InvalidRequest,
    NewTopic,
    OAuthBearer,
    OpType,
    ProtocolError,
    RequestTimedOut,
    Resource,
    ResourceType,
    SyncAdminClient,
    TopicNotAuthorized,
    UnsupportedVersion,
)
from kconf.client.transport import asyncio_pool, failures
from kconf.protocol.apis import BY_NAME
from kconf.protocol.codec.serde import encode
from kconf.protocol.messages.alter_configs import AlterConfigsResourceResponse, AlterConfigsResponse
from kconf.protocol.messages.create_topics import CreatableTopicResult, CreateTopicsResponse
from kconf.protocol.messages.describe_configs import DescribeConfigsResponse
from kconf.protocol.messages.list_config_resources import ListConfigResourcesResponse, ListedConfigResource
from tests.unit.client.drivers import KINDS, driver
from tests.unit.client.fake import CLOSE, KAFKA_20, KAFKA_43, SILENCE, FakeBroker, described

ORDERS = Resource.topic("orders")


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker() as made:
        yield made


def retention(admin: Any, **options: Any) -> str | None:
    found: str | None = admin.describe_configs([ORDERS], **options)[ORDERS]["retention.ms"].value
    return found


def in_turn(*steps: Any) -> Any:
    left = list(steps)

    def handler(asked: Any, version: int) -> Any:
        step = left.pop(0) if len(left) > 1 else left[0]
        return step(asked, version) if callable(step) else step

    return handler


def test_both_clients_have_the_same_methods() -> None:
    def public(cls: type) -> dict[str, inspect.Signature]:
        members = inspect.getmembers(cls, inspect.isroutine)
        return {name: inspect.signature(each) for name, each in members if not name.startswith("_")}

    assert public(AdminClient) == public(SyncAdminClient)
    assert inspect.signature(AdminClient) == inspect.signature(SyncAdminClient)
    ours = {name for name in public(AdminClient) if name not in ("from_properties", "watch_changes", "follow")}
    assert all(inspect.iscoroutinefunction(getattr(AdminClient, name)) for name in ours)
    assert not any(inspect.iscoroutinefunction(getattr(SyncAdminClient, name)) for name in ours)


def test_the_methods_of_both_clients_have_the_same_code() -> None:
    """The sync methods are the async ones without `async` and `await`; only the execution differs."""

    class Sync(ast.NodeTransformer):
        def visit_Await(self, node: ast.Await) -> ast.AST:
            return self.visit(node.value)  # type: ignore[no-any-return]

    def bodies(cls: type) -> dict[str, list[str]]:
        own, of_kconf = cls.__mro__[:2]
        trees = [ast.parse(textwrap.dedent(inspect.getsource(each))).body[0] for each in (own, of_kconf)]
        nodes = [node for tree in trees if isinstance(tree, ast.ClassDef) for node in tree.body]
        methods = [each for each in nodes if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
        return {
            each.name: [
                ast.unparse(Sync().visit(line)).replace("watch_sync", "watch").replace("follow_sync", "follow")
                for line in each.body
            ]
            for each in methods
            if not each.name.startswith("_") and each.name != "close"
        }

    assert bodies(AdminClient) == bodies(SyncAdminClient)
    assert bodies(AdminClient).keys() > {"describe_configs", "list_changes"}


def test_every_public_name_exists() -> None:
    assert all(getattr(kconf, name) is not None for name in kconf.__all__)
    assert sorted(kconf.__all__) == kconf.__dir__()
    with pytest.raises(AttributeError):
        _ = kconf.nonsense


def test_one_describe_is_two_requests_on_one_connection(kind: str, broker: FakeBroker) -> None:
    with driver(kind, broker.address) as admin:
        assert retention(admin) == "5"

    assert (broker.asked, broker.connections) == ([("DescribeConfigs", BY_NAME["DescribeConfigs"].max)], 1)


def test_a_broker_of_kafka_2_0_is_supported_as_far_as_it_can_be(kind: str) -> None:
    with FakeBroker(KAFKA_20) as old, driver(kind, old.address) as admin:
        assert retention(admin) == "5"
        assert admin.describe_cluster().cluster_id == "fake"
        with pytest.raises(UnsupportedVersion, match=r"IncrementalAlterConfigs \(API 44\); before Kafka 2\.3"):
            admin.incremental_alter_configs({ORDERS: [AlterConfigOp(OpType.SET, "a", "b")]})
        with pytest.raises(UnsupportedVersion, match=r"before Kafka 2\.4"):
            admin.create_topics(["t"])

        assert old.asked == [("DescribeConfigs", 2), ("Metadata", 6), ("Metadata", 6)]
        assert old.connections == 1


@pytest.mark.parametrize("read", ["config", "num_partitions", "replication_factor"])
def test_details_of_a_topic_that_an_old_broker_created_are_unsupported(kind: str, read: str) -> None:
    """KIP-525: before CreateTopics v5 the getters raise UnsupportedVersion, and not an authorization error."""
    with FakeBroker(KAFKA_43 | {19: (0, 4)}) as old, driver(kind, old.address) as admin:
        old.handlers["CreateTopics"] = lambda asked, version: CreateTopicsResponse(0, [CreatableTopicResult("t")])
        created = admin.create_topics([NewTopic("t", 3, 1)])["t"]

        assert old.asked[-1] == ("CreateTopics", 4)
        with pytest.raises(UnsupportedVersion, match=r"^t: CreateTopics v4 does not return"):
            getattr(created, read)


@pytest.mark.parametrize("read", ["config", "num_partitions", "replication_factor"])
def test_details_of_a_topic_that_may_not_be_described_raise_its_error(kind: str, broker: FakeBroker, read: str) -> None:
    refused = CreatableTopicResult("t", topic_config_error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    broker.handlers["CreateTopics"] = lambda asked, version: CreateTopicsResponse(0, [refused])
    with driver(kind, broker.address) as admin:
        created = admin.create_topics([NewTopic("t", 3, 1)])["t"]

        with pytest.raises(TopicNotAuthorized, match=r"^t: "):
            getattr(created, read)


def test_keys_can_be_requested_for_all_resources_or_for_each(kind: str, broker: FakeBroker) -> None:
    other = Resource.topic("other")
    with driver(kind, broker.address) as admin:
        admin.describe_configs([ORDERS, other], keys=["retention.ms", "segment.ms"])
        admin.describe_configs([ORDERS, other], keys={other: ["flush.ms"]})
        admin.describe_configs([ORDERS], keys=[])
        with pytest.raises(InvalidRequest, match="keys must be a list"):
            admin.describe_configs([ORDERS], keys="retention.ms")

    asked = [[each.configuration_keys for each in request.resources] for request in broker.requests]
    assert asked == [[["retention.ms", "segment.ms"]] * 2, [None, ["flush.ms"]], [None]]


@pytest.mark.parametrize("incremental", [False, True])
def test_alter_configs_warns_and_names_the_other_method(kind: str, broker: FakeBroker, incremental: bool) -> None:
    """KIP-339 deprecates AlterConfigs."""
    done = AlterConfigsResponse(0, [AlterConfigsResourceResponse(0, None, ORDERS.type, ORDERS.name)])
    broker.handlers["AlterConfigs"] = broker.handlers["IncrementalAlterConfigs"] = lambda asked, version: done
    with (
        driver(kind, broker.address) as admin,
        pytest.warns(DeprecationWarning, match="use incremental_alter_configs"),
    ):
        admin.alter_configs({ORDERS: {"retention.ms": "5"}}, incremental_update=incremental).raise_for_failures()


def test_units_become_plain_numbers(kind: str, broker: FakeBroker) -> None:
    """The value that the server gets; it refuses a text that is not a number."""
    values = {"retention.ms": "7d", "segment.bytes": "1GiB", "cleanup.policy": "compact", "flush.ms": "soon", "x": "7d"}
    done = AlterConfigsResponse(0, [AlterConfigsResourceResponse(0, None, ORDERS.type, ORDERS.name)])
    broker.handlers["IncrementalAlterConfigs"] = lambda asked, version: done
    broker.handlers["CreateTopics"] = lambda asked, version: CreateTopicsResponse(0, [CreatableTopicResult("t")])
    with driver(kind, broker.address) as admin:
        admin.incremental_alter_configs({ORDERS: [AlterConfigOp(OpType.SET, *each) for each in values.items()]})
        admin.create_topics([NewTopic("t", 1, 1, configs=list(values.items()))])

    altered, created = broker.requests[-3], broker.requests[-1]
    sent = {**values, "retention.ms": "604800000", "segment.bytes": "1073741824"}
    assert {each.name: each.value for each in altered.resources[0].configs} == sent
    assert {each.name: each.value for each in created.topics[0].configs} == sent


def test_a_resource_of_an_unknown_type_is_listed_as_unknown(kind: str, broker: FakeBroker) -> None:
    """KIP-133: ConfigResource.Type has an UNKNOWN element for types of newer brokers."""
    listed = ListConfigResourcesResponse(
        0, 0, [ListedConfigResource("new", 77), ListedConfigResource("orders", ORDERS.type)]
    )
    broker.handlers["ListConfigResources"] = lambda asked, version: listed
    with driver(kind, broker.address) as admin:
        assert admin.list_config_resources() == [Resource(ResourceType.UNKNOWN, "new"), ORDERS]


def test_a_broker_with_newer_versions_is_supported(kind: str) -> None:
    versions = {key: (low, high + 7) for key, (low, high) in KAFKA_43.items()} | {12345: (0, 3)}
    with FakeBroker(versions) as new, driver(kind, new.address) as admin:
        assert retention(admin) == "5"


def test_unknown_tags_are_skipped(kind: str, broker: FakeBroker) -> None:
    def tagged(asked: Any, version: int) -> bytes:
        plain = encode(described(asked, version), version, True)
        return plain[:-1] + b"\x02\x07\x03abc\xb7\x26\x01z"

    broker.handlers["DescribeConfigs"] = tagged
    with driver(kind, broker.address) as admin:
        assert retention(admin) == "5"


def test_a_request_is_sent_again_to_a_new_controller(kind: str) -> None:
    with FakeBroker() as one, FakeBroker(node_id=2) as two, driver(kind, one.address) as admin:
        one.brokers = two.brokers = [one, two]

        def moved(asked: Any, version: int) -> CreateTopicsResponse:
            one.controller = two.controller = 2
            return CreateTopicsResponse(0, [CreatableTopicResult("t", error_code=ErrorCode.NOT_CONTROLLER)])

        one.handlers["CreateTopics"] = moved
        two.handlers["CreateTopics"] = lambda asked, version: CreateTopicsResponse(
            0, [CreatableTopicResult("t", num_partitions=3, replication_factor=1)]
        )

        assert admin.create_topics([NewTopic("t", 3, 1)])["t"].num_partitions == 3
        assert [name for name, _ in two.asked] == ["CreateTopics"]


def test_requests_are_spread_over_all_brokers(kind: str) -> None:
    with FakeBroker() as one, FakeBroker(node_id=2) as two, driver(kind, one.address, batch=10) as admin:
        one.brokers = two.brokers = [one, two]
        one.delay = two.delay = 0.02
        resources = [Resource.topic(f"t{number}") for number in range(200)]

        found = admin.describe_configs([*resources, Resource.broker(2)])

        assert list(found) == [*resources, Resource.broker(2)]
        assert not found.failures
        assert len(two.asked) == 11


def test_a_broken_connection_is_replaced(kind: str, broker: FakeBroker) -> None:
    broker.handlers["DescribeConfigs"] = in_turn(CLOSE, described)
    with driver(kind, broker.address) as admin:
        assert retention(admin) == "5"
    assert broker.connections == 2


def test_a_request_that_must_not_be_repeated_is_sent_after_an_idle_connection_was_closed(
    kind: str, broker: FakeBroker
) -> None:
    broker.handlers["CreateTopics"] = lambda asked, version: CreateTopicsResponse(0, [CreatableTopicResult("t")])
    with driver(kind, broker.address) as admin:
        assert retention(admin) == "5"
        broker.hang_up()
        time.sleep(0.05)
        if kind == "async":
            admin.loop.run_until_complete(asyncio.sleep(0.05))

        assert admin.create_topics(["t"])["t"].name == "t"


def test_a_possibly_applied_change_is_not_applied_twice(kind: str, broker: FakeBroker) -> None:
    broker.handlers["CreateTopics"] = lambda asked, version: CLOSE
    with driver(kind, broker.address) as admin, pytest.raises(ConnectionFailed, match="before the response"):
        admin.create_topics(["t"])
    assert [name for name, _ in broker.asked].count("CreateTopics") == 1


def test_a_request_without_a_response_is_retried_after_the_request_timeout(kind: str, broker: FakeBroker) -> None:
    broker.handlers["DescribeConfigs"] = in_turn(SILENCE, described)
    with driver(kind, broker.address, request_timeout=1.0) as admin:
        assert retention(admin) == "5"
    assert broker.connections >= 2


def test_a_call_without_any_response_ends_at_the_deadline(kind: str, broker: FakeBroker) -> None:
    broker.handlers["DescribeConfigs"] = lambda asked, version: SILENCE
    with driver(kind, broker.address, request_timeout=1.0) as admin:
        with pytest.raises(RequestTimedOut, match="DescribeConfigs"):
            retention(admin, timeout=1.5)

        broker.handlers["DescribeConfigs"] = described
        assert retention(admin) == "5"


def test_a_call_times_out_while_its_connection_is_opened(kind: str) -> None:
    """The kernel accepts the connection, but no server responds to ApiVersions."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with (
            driver(kind, address) as admin,
            pytest.raises(RequestTimedOut) as raised,
        ):
            retention(admin, timeout=0.2)

    said = f"DescribeConfigs was not sent: {address} accepts connections but did not respond in time; is it Kafka?"
    assert (str(raised.value), raised.value.sent) == (said, False)


def test_waiting_for_an_unresponsive_port_is_logged(
    kind: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for module in (failures, asyncio_pool):
        monkeypatch.setattr(module, "SILENT_AFTER", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with driver(kind, address) as admin, pytest.raises(RequestTimedOut):
            retention(admin, timeout=2.0)

    assert f"still waiting for a response from {address}; is it Kafka?" in caplog.messages


def test_a_call_times_out_while_a_request_is_queued(kind: str, broker: FakeBroker) -> None:
    """One request at a time: the first is answered, the second is not, and the third is never sent."""
    resources = [Resource.topic(f"t{number}") for number in range(3)]
    broker.handlers["DescribeConfigs"] = in_turn(described, SILENCE)
    with driver(kind, broker.address, batch=1, in_flight=1) as admin:
        found = admin.describe_configs(resources, timeout=2.0)

    assert {each.name: failure.code for each, failure in found.failures.items()} == {
        "t1": ErrorCode.REQUEST_TIMED_OUT,
        "t2": ErrorCode.REQUEST_TIMED_OUT,
    }
    assert "was not sent" in str(found.failures[resources[2]].message)
    assert [name for name, _ in broker.asked].count("DescribeConfigs") == 2


def test_a_slow_broker_does_not_count_as_unresponsive(kind: str, broker: FakeBroker) -> None:
    """Each response arrives in time, although all together take longer."""
    broker.delay = 0.4
    resources = [Resource.topic(f"t{number}") for number in range(6)]
    with driver(kind, broker.address, batch=1, request_timeout=2.0, in_flight=4) as admin:
        assert len(admin.describe_configs(resources)) == 6
    assert broker.connections == 1


def test_a_throttled_connection_is_not_closed_as_idle(kind: str, broker: FakeBroker) -> None:
    def throttling(asked: Any, version: int) -> DescribeConfigsResponse:
        body = described(asked, version)
        body.throttle_time_ms = 2500
        return body

    def late(asked: Any, version: int) -> DescribeConfigsResponse:
        time.sleep(1.3)
        return described(asked, version)

    broker.handlers["DescribeConfigs"] = in_turn(throttling, late)
    with driver(kind, broker.address, request_timeout=1.0) as admin:
        assert retention(admin) == "5"
        assert retention(admin) == "5"
    assert broker.connections == 1


def test_a_refused_connection_is_reported_with_its_address(kind: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with (
        driver(kind, f"127.0.0.1:{port}") as admin,
        pytest.raises(ConnectionFailed, match=f"127.0.0.1:{port}.*refused"),
    ):
        retention(admin)


def test_the_second_address_is_used_if_the_first_is_down(kind: str, broker: FakeBroker) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        gone = f"127.0.0.1:{closed.getsockname()[1]}"
    with driver(kind, [gone, broker.address]) as admin:
        assert retention(admin) == "5"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "this is an HTTP server, not Kafka"),
        (b"\x15\x03\x03\x00\x02\x02\x46", "the listener uses TLS, but this client does not"),
        (b"", "Kafka"),
    ],
)
def test_a_server_that_is_not_a_broker_is_reported(kind: str, said: bytes, told: str) -> None:
    with (
        answering(said) as address,
        driver(kind, address, timeout=30) as admin,
        pytest.raises(ConnectionFailed, match=f"{address}.*{told}"),
    ):
        retention(admin)


@pytest.mark.parametrize("said", [b"", b"\0\0\0\4plain"])
def test_a_listener_without_tls_is_reported(kind: str, said: bytes) -> None:
    with (
        answering(said) as address,
        driver(kind, address, properties={"security.protocol": "SSL"}) as admin,
        pytest.raises((AuthenticationFailed, ConnectionFailed), match=f"{address}.*(without TLS|not TLS)"),
    ):
        retention(admin, timeout=30)


@contextmanager
def answering(said: bytes) -> Iterator[str]:
    """The address of a server that sends these bytes and closes the connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            try:
                while True:
                    connection, _ = server.accept()
                    with connection:
                        connection.recv(1000)
                        connection.sendall(said)
            except OSError:
                pass

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)


def test_an_invalid_response_fails_the_call_and_closes_the_connection(kind: str, broker: FakeBroker) -> None:
    broker.handlers["DescribeConfigs"] = in_turn(b"\0\0\0\0\x09nonsense", described)
    with driver(kind, broker.address) as admin:
        with pytest.raises(ProtocolError, match="DescribeConfigsResponse"):
            retention(admin)
        assert retention(admin) == "5"
    assert broker.connections == 2


def test_tags_of_kconf_are_sent_only_to_kconf(kind: str) -> None:
    def altered(asked: Any, version: int) -> AlterConfigsResponse:
        return AlterConfigsResponse(0, [AlterConfigsResourceResponse(0, None, 2, "orders")])

    alteration = {ORDERS: [AlterConfigOp(OpType.SET, "retention.ms", "5")]}
    with FakeBroker() as kafka, driver(kind, kafka.address) as admin:
        kafka.handlers["IncrementalAlterConfigs"] = altered
        admin.incremental_alter_configs(alteration, reason="because")
        with pytest.raises(UnsupportedVersion, match="not a kconf server"):
            admin.incremental_alter_configs(alteration, expected={ORDERS: 3})
        assert [each.reason for each in kafka.requests] == [None]
    with FakeBroker(KAFKA_43 | {30000: (0, 0)}) as ours, driver(kind, ours.address) as admin:
        ours.handlers["IncrementalAlterConfigs"] = altered
        admin.incremental_alter_configs(alteration, reason="because", expected={ORDERS: 3})
        (sent,) = ours.requests
        assert (sent.reason, sent.resources[0].expected_revision) == ("because", 3)


def test_the_reason_of_a_new_topic_is_sent_only_to_kconf(kind: str) -> None:
    def created(asked: Any, version: int) -> CreateTopicsResponse:
        return CreateTopicsResponse(0, [CreatableTopicResult("orders")])

    for versions, sent in ((KAFKA_43, None), (KAFKA_43 | {30000: (0, 0)}, "because")):
        with FakeBroker(versions) as broker, driver(kind, broker.address) as admin:
            broker.handlers["CreateTopics"] = created
            admin.create_topics(["orders"], reason="because").raise_for_failures()
            assert [each.reason for each in broker.requests if hasattr(each, "reason")] == [sent]


def test_a_describe_shows_the_revision_that_kconf_returned(kind: str, broker: FakeBroker) -> None:
    def at(asked: Any, version: int) -> DescribeConfigsResponse:
        body = described(asked, version)
        body.revision = 42
        return body

    broker.handlers["DescribeConfigs"] = at
    with driver(kind, broker.address) as admin:
        assert admin.describe_configs([ORDERS]).revision == 42


def test_a_closed_client_opens_again(kind: str, broker: FakeBroker) -> None:
    with driver(kind, broker.address) as admin:
        retention(admin)
        admin.close()
        admin.close()
        assert retention(admin) == "5"


def test_invalid_settings_are_refused_when_a_client_is_created(kind: str) -> None:
    for wrong in ((), "nonsense", "host:0", "host:99999"):
        with pytest.raises(ConfigurationError), driver(kind, wrong):
            pass
    with pytest.raises(ConfigurationError, match="pass either"), driver(kind, "a:1", bootstrap_controllers="b:2"):
        pass
    with pytest.raises(ConfigurationError, match="in_flight"), driver(kind, "a:1", in_flight=0):
        pass


async def _is_asked(broker: FakeBroker, api: str) -> None:
    while api not in [name for name, _ in broker.asked]:
        await asyncio.sleep(0.01)


def test_a_cancelled_call_leaves_the_connection_usable(broker: FakeBroker) -> None:
    gate = threading.Event()

    def waits(asked: Any, version: int) -> DescribeConfigsResponse:
        gate.wait(60)
        return described(asked, version)

    async def run() -> None:
        async with AdminClient(broker.address) as admin:
            await admin.describe_cluster()
            broker.handlers["DescribeConfigs"] = waits
            first = asyncio.create_task(admin.describe_configs([ORDERS]))
            second = asyncio.create_task(admin.describe_configs([Resource.topic("other")]))
            await _is_asked(broker, "DescribeConfigs")
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            gate.set()
            assert list(await second) == [Resource.topic("other")]
            assert not (await admin.describe_configs([ORDERS])).failures

    del broker.versions[60]  # describe_cluster by Metadata, which the fake has
    asyncio.run(run())
    assert broker.connections == 1


def test_a_call_cancelled_while_connecting_leaves_the_next_one_free() -> None:
    async def run(silent: str, broker: FakeBroker) -> None:
        async with AdminClient([silent, broker.address], connect_timeout=5) as admin:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(admin.describe_configs([ORDERS]), 0.2)
            admin._cluster.mark_failed(admin.settings.bootstrap.addresses[0])
            assert not (await admin.describe_configs([ORDERS])).failures

    with socket.create_server(("127.0.0.1", 0)) as silent, FakeBroker() as broker:
        asyncio.run(run(f"127.0.0.1:{silent.getsockname()[1]}", broker))


def test_a_deadline_applies_while_others_keep_the_connection_busy(broker: FakeBroker) -> None:
    broker.handlers["DescribeConfigs"] = lambda asked, version: SILENCE

    async def run() -> None:
        async with AdminClient(broker.address, in_flight=1, timeout=600.0, request_timeout=600.0) as admin:
            first = asyncio.create_task(admin.describe_configs([ORDERS]))
            await _is_asked(broker, "DescribeConfigs")
            with pytest.raises(RequestTimedOut, match="DescribeConfigs was not sent"):
                await asyncio.wait_for(admin.describe_configs([ORDERS], timeout=0.2), 60)
            first.cancel()

    asyncio.run(run())


def test_an_exception_of_a_token_callable_reaches_the_caller(kind: str, broker: FakeBroker) -> None:
    def broken() -> str:
        raise LookupError("no token today")

    resources = [Resource.topic(f"t{number}") for number in range(9)]
    login = OAuthBearer(broken)
    with driver(kind, broker.address, batch=2, sasl=login) as admin, pytest.raises(LookupError, match="today"):
        admin.describe_configs(resources)


def test_the_async_client_works_on_uvloop(broker: FakeBroker) -> None:
    uvloop: Any = import_module("uvloop")

    async def run() -> None:
        async with AdminClient(broker.address) as admin:
            assert not (await admin.describe_configs([ORDERS])).failures

    uvloop.run(run())


def test_a_hundred_tasks_share_one_connection(broker: FakeBroker) -> None:
    async def run() -> None:
        async with AdminClient(broker.address) as admin:
            names = [Resource.topic(f"t{number}") for number in range(100)]
            found = await asyncio.gather(*(admin.describe_configs([each]) for each in names))
            assert [list(each) for each in found] == [[each] for each in names]

    asyncio.run(run())
    assert broker.connections == 1


def test_ctrl_c_leaves_a_client_that_still_works(broker: FakeBroker) -> None:
    broker.handlers["DescribeConfigs"] = in_turn(SILENCE, described)
    with SyncAdminClient(broker.address) as admin:
        signal.signal(signal.SIGALRM, _interrupt)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            retention(admin)
        assert retention(admin) == "5"
    assert broker.connections == 2


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_threads_share_one_connection(broker: FakeBroker) -> None:
    found: list[str | None] = []
    with SyncAdminClient(broker.address) as admin:
        threads = [threading.Thread(target=lambda: found.append(retention(admin))) for _ in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    assert found == ["5"] * 8
    assert broker.connections == 1


def test_an_invalid_host_name_is_a_connection_that_failed(kind: str) -> None:
    with (
        driver(kind, "a..b:9092", connect_attempts=1) as admin,
        pytest.raises(ConnectionFailed, match=r"cannot connect to a\.\.b:9092: the host name is invalid"),
    ):
        admin.describe_cluster()
