"""A node of the cluster gets an authorizer while a gateway runs that has no settings for one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from kconf.client.admin import AdminClient
from kconf.client.admin_sync import SyncAdminClient
from kconf.client.settings import Address, Bootstrap, ClientSettings
from kconf.client.transport.connector import Connector
from kconf.errors import ErrorCode, KconfError, NotAuthorized, UpstreamUnavailable
from kconf.model.alteration import AlterConfigOp, OpType
from kconf.model.resource import Resource
from kconf.protocol.apis import BY_NAME
from kconf.protocol.headers import LENGTH, request
from kconf.protocol.messages.alter_configs import AlterConfigsResourceResponse
from kconf.protocol.messages.describe_acls import DescribeAclsResponse
from kconf.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsResponse
from kconf.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kconf.server.upstream.authorizer_check import AuthorizerCheck
from kconf.server.upstream.connect import connect_to_cluster
from kconf.server.upstream.pool import BrokerPool, PoolLimits, RawRequest
from tests.unit.client.fake import KAFKA_43, FakeBroker

TOPIC = Resource.topic("t")
CHANGE = {TOPIC: [AlterConfigOp(OpType.SET, "retention.ms", "1")]}
REFUSED = r"now has an authorizer.*was not sent|the last attempt to connect failed"
LIST_GROUPS = request(BY_NAME["ListGroups"], 4, 0, "someone", ListGroupsRequest())[LENGTH.size :]


class Cluster:
    """A broker, and the check of a gateway that has started in front of it. `found` counts the reports."""

    def __init__(self, broker: FakeBroker) -> None:
        self.broker, self.has_authorizer, self.found = broker, False, 0
        broker.handlers["DescribeAcls"] = self._describe_acls
        broker.handlers["ListGroups"] = lambda *_: ListGroupsResponse()
        broker.handlers["IncrementalAlterConfigs"] = lambda *_: IncrementalAlterConfigsResponse(
            0, [AlterConfigsResourceResponse(0, None, TOPIC.type, TOPIC.name)]
        )
        self.check = AuthorizerCheck()
        self.check.enforce(self._count)
        self.address = Address("127.0.0.1", broker.port)
        self.settings = ClientSettings(Bootstrap((self.address,)), check=self.check)

    def restart_with_an_authorizer(self) -> None:
        self.has_authorizer = True
        self.broker.hang_up()

    def passed_on(self) -> list[str]:
        own = ("Metadata", "DescribeAcls")
        return [name for name, _ in self.broker.asked if name not in own]

    def _count(self) -> None:
        self.found += 1

    def _describe_acls(self, *_: object) -> DescribeAclsResponse:
        return DescribeAclsResponse(0, 0 if self.has_authorizer else ErrorCode.SECURITY_DISABLED)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with FakeBroker() as broker:
        yield Cluster(broker)


def pool_of(cluster: Cluster) -> BrokerPool:
    async def connect() -> Any:
        return await connect_to_cluster(Connector(cluster.settings), cluster.settings, cluster.address, "fake")

    return BrokerPool("broker 1", connect, PoolLimits())


Send = Callable[[], Coroutine[Any, Any, object]]


def relay(cluster: Cluster) -> tuple[Send, str]:
    pool = pool_of(cluster)
    return lambda: pool.send(RawRequest("someone", LIST_GROUPS)), "ListGroups"


def alter(cluster: Cluster) -> tuple[Send, str]:
    client = AdminClient._from_settings(cluster.settings)

    async def send() -> None:
        (await client.incremental_alter_configs(CHANGE)).raise_for_failures()

    return send, "IncrementalAlterConfigs"


def alter_in_a_thread(cluster: Cluster) -> tuple[Send, str]:
    """As the store does."""
    client = SyncAdminClient._from_settings(cluster.settings)

    async def send() -> None:
        await asyncio.to_thread(lambda: client.incremental_alter_configs(CHANGE).raise_for_failures())

    return send, "IncrementalAlterConfigs"


@pytest.mark.parametrize("way", [relay, alter, alter_in_a_thread])
def test_a_request_after_the_restart_is_not_forwarded(
    cluster: Cluster, way: Callable[[Cluster], tuple[Send, str]]
) -> None:
    async def scene() -> None:
        send, name = way(cluster)
        await send()
        assert (cluster.passed_on(), cluster.found) == ([name], 0)
        cluster.restart_with_an_authorizer()
        for _ in range(2):
            with pytest.raises((UpstreamUnavailable, NotAuthorized), match=REFUSED):
                await _after_loss(send)
        assert (cluster.passed_on(), cluster.found) == ([name], 1)

    asyncio.run(scene())


async def _after_loss(send: Send) -> None:
    """Send, again if the request was on the connection that the restart closed."""
    try:
        await send()
    except KconfError as error:
        if "was lost" not in str(error):
            raise
        await send()


@pytest.mark.parametrize("way", [relay, alter, alter_in_a_thread])
def test_an_open_connection_to_another_node_is_not_used_any_more(
    cluster: Cluster, way: Callable[[Cluster], tuple[Send, str]]
) -> None:
    """A broker without an authorizer forwards changes to a controller that may have one."""

    async def scene() -> None:
        send, name = way(cluster)
        await send()
        with FakeBroker() as restarted:
            other = Cluster(restarted)
            other.check, other.settings = cluster.check, other.settings._replace(check=cluster.check)
            other.has_authorizer = True
            with pytest.raises(UpstreamUnavailable, match="now has an authorizer"):
                await relay(other)[0]()
        with pytest.raises((UpstreamUnavailable, NotAuthorized), match="now has an authorizer"):
            await send()
        assert cluster.passed_on() == [name]

    asyncio.run(scene())


@pytest.mark.parametrize("code", [0, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.UNKNOWN_SERVER_ERROR])
def test_any_response_other_than_security_disabled_means_an_authorizer(cluster: Cluster, code: int) -> None:
    cluster.broker.handlers["DescribeAcls"] = lambda *_: DescribeAclsResponse(0, code)
    with pytest.raises(UpstreamUnavailable):
        asyncio.run(relay(cluster)[0]())
    assert cluster.passed_on() == []


def test_a_node_that_does_not_support_the_check_may_have_an_authorizer() -> None:
    with FakeBroker({key: each for key, each in KAFKA_43.items() if key != 29}) as broker:
        cluster = Cluster(broker)
        with pytest.raises(UpstreamUnavailable):
            asyncio.run(relay(cluster)[0]())
        assert cluster.passed_on() == []


def test_an_authorizer_found_during_the_start_is_noted_without_refusing_requests(cluster: Cluster) -> None:
    """The start then ends with an error about the settings."""
    cluster.check = AuthorizerCheck()
    cluster.settings = cluster.settings._replace(check=cluster.check)
    cluster.has_authorizer = True
    asyncio.run(relay(cluster)[0]())
    assert cluster.passed_on() == ["ListGroups"]
    assert cluster.check.has_found
    assert not cluster.check.has_failed
