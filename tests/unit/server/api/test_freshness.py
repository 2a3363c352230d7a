"""Requests wait for the given revision for a limited time; optionally, stale reads are refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.engine.quotas.alter import plan_alter_quotas
from kconf.engine.topics.create import plan_create_topics
from kconf.errors import RemoteProtocolError
from kconf.model.alteration import NewTopic
from kconf.model.journal import RequestContext
from kconf.model.quota import ClientQuotaAlteration, ClientQuotaOp, QuotaEntity
from kconf.protocol.apis import BY_NAME
from kconf.protocol.headers import ResponseTags, read_response, read_response_tags, request
from kconf.protocol.messages.create_topics import CreatableTopic
from kconf.protocol.messages.describe_configs import DescribeConfigsResource
from kconf.server.api.request_pipeline import RequestPipeline
from kconf.server.connection_context import ConnectionContext
from kconf.server.context import ServerContext
from kconf.service import Service
from kconf.store.memory import MemoryStore

NO_WAIT = {"read.revision.max.wait.ms": "0"}
LONG_WAIT = {"read.revision.max.wait.ms": "60000"}
REFUSE = {"refuse.stale.reads": "true"}
TIMED_OUT = 7
ORDERS = [DescribeConfigsResource(2, "orders")]


class RemoteStore(MemoryStore):
    """A store of one server behind a network."""

    can_be_stale = True
    is_reachable = True


class Scene:
    def __init__(self, service: Service) -> None:
        self.service = service
        self.context = ServerContext.over(service, lambda: 0.0)
        self.pipeline = RequestPipeline(self.context)

    async def ask(
        self, name: str, version: int, required: int = -1, *, client: str = "me", **fields: Any
    ) -> tuple[ResponseTags, Any]:
        api = BY_NAME[name]
        frame = request(api, version, 7, client, api.request(**fields), required_revision=required)
        made = self.pipeline.handle(ConnectionContext("127.0.0.1", "127.0.0.1", 9092), frame, 4, len(frame))
        _, parts = await made if isinstance(made, Awaitable) else made
        answer = b"".join(parts)
        tags = read_response_tags(answer, 8)[0] if api.is_flexible(version) else ResponseTags()
        return tags, read_response(api, version, answer[4:])[1]

    async def create(self, name: str) -> None:
        await self.service.submit(
            lambda state, _: plan_create_topics(state.snapshot, [NewTopic(name)], self.context.cluster(state)),
            RequestContext(),
        )


@asynccontextmanager
async def running(static: Mapping[str, str], store: MemoryStore | None = None) -> AsyncIterator[Scene]:
    service = Service(MemoryStore() if store is None else store, node_id=1, catalog=kafka_43(), static=static)
    await service.start()
    scene = Scene(service)
    await scene.create("orders")
    yield scene
    await scene.context.feed.close()
    await service.stop()


def test_a_request_for_a_revision_that_is_reached_is_answered_at_once() -> None:
    async def scene() -> None:
        async with running(LONG_WAIT) as server:
            tags, answer = await server.ask("DescribeConfigs", 4, 1, resources=ORDERS)
            assert (tags, answer.revision, answer.results[0].error_code) == (ResponseTags(1), 1, 0)

    asyncio.run(scene())


def test_without_a_required_revision_the_response_header_has_no_tags() -> None:
    async def scene() -> None:
        async with running({}) as server:
            for resources in (ORDERS, [*ORDERS, DescribeConfigsResource(2, "payments")]):
                assert (await server.ask("DescribeConfigs", 4, resources=resources))[0] == ResponseTags()
            assert server.context.counters.fast_path == 1

    asyncio.run(scene())


def test_a_request_waits_until_the_revision_is_reached() -> None:
    async def scene() -> None:
        async with running(LONG_WAIT) as server:
            waiting = asyncio.create_task(server.ask("DescribeConfigs", 4, 3, resources=ORDERS))
            await server.create("payments")
            await asyncio.sleep(0)
            assert not waiting.done()
            await server.create("returns")
            tags, answer = await waiting
            assert (tags, answer.revision) == (ResponseTags(3), 3)

    asyncio.run(scene())


def test_a_write_waits_too_and_its_response_has_the_resulting_revision() -> None:
    async def scene() -> None:
        async with running(LONG_WAIT) as server:
            topic = CreatableTopic("returns", 1, 1, (), ())
            waiting = asyncio.create_task(server.ask("CreateTopics", 7, 2, topics=[topic]))
            await asyncio.sleep(0)
            await server.create("payments")
            tags, answer = await waiting
            assert (tags, answer.topics[0].error_code) == (ResponseTags(3), 0)

    asyncio.run(scene())


def test_a_revision_of_another_store_is_refused_at_once_if_it_can_be_recognized() -> None:
    """A gateway without controllers begins at a revision of its own."""

    class CountingStore(MemoryStore):
        first_revision = 1

    store = CountingStore()

    async def scene() -> None:
        async with running(LONG_WAIT, store) as server:
            assert (await server.ask("DescribeConfigs", 4, 1, resources=ORDERS))[1].results[0].error_code == 0
        store.first_revision = 2
        service = Service(store, node_id=1, catalog=kafka_43(), static=LONG_WAIT)
        await service.start()
        other = Scene(service)
        await other.create("payments")
        for revision, error in ((1, TIMED_OUT), (2, 0), (0, 0), (-1, 0)):
            _, described = await other.ask("DescribeConfigs", 4, revision, resources=ORDERS)
            assert described.results[0].error_code == error
        await other.context.feed.close()
        await service.stop()

    asyncio.run(scene())


def test_after_the_longest_wait_every_resource_is_refused_and_nothing_is_done() -> None:
    async def scene() -> None:
        async with running(NO_WAIT) as server:
            tags, described = await server.ask("DescribeConfigs", 4, 99, resources=ORDERS)
            _, created = await server.ask("CreateTopics", 7, 99, topics=[CreatableTopic("payments", 1, 1, (), ())])
            _, listed = await server.ask("ListConfigResources", 1, 99, resource_types=())
            assert tags == ResponseTags(1)
            assert [each.error_code for each in described.results] == [TIMED_OUT]
            assert [each.error_code for each in created.topics] == [TIMED_OUT]
            assert listed.error_code == TIMED_OUT
            assert "payments" not in server.service.state.snapshot.topics
            assert (await server.ask("ApiVersions", 0, 99))[1].error_code == 0

    asyncio.run(scene())


def test_a_response_that_has_no_error_code_is_not_sent_in_place_of_an_error() -> None:
    async def scene() -> None:
        async with running(NO_WAIT) as server:
            assert (await server.ask("Metadata", 13, 99, topics=None))[1].error_code == TIMED_OUT
            for name, version, fields in (
                ("Metadata", 12, {"topics": None}),
                ("DescribeTopicPartitions", 0, {"topics": ()}),
            ):
                with pytest.raises(RemoteProtocolError):
                    await server.ask(name, version, 99, **fields)

    asyncio.run(scene())


def test_a_response_with_tags_has_its_throttle_time() -> None:
    async def scene() -> None:
        async with running({}) as server:
            quota = ClientQuotaAlteration(
                QuotaEntity.of({"client-id": "busy"}), (ClientQuotaOp("request_percentage", 1e-9),)
            )
            await server.service.submit(
                lambda state, _: plan_alter_quotas(state.snapshot, [quota], is_host=lambda _: False), RequestContext()
            )
            for name, version, fields in (
                ("DescribeConfigs", 4, {"resources": ORDERS}),
                ("ListConfigResources", 1, {"resource_types": ()}),
            ):
                tags, answer = await server.ask(name, version, 1, client="busy", **fields)
                assert tags == ResponseTags(2)
                assert answer.throttle_time_ms > 0

    asyncio.run(scene())


@pytest.mark.parametrize("lost", ["connection", "session"])
@pytest.mark.parametrize("refuses", [False, True])
def test_a_possibly_stale_response_is_marked_or_refused(refuses: bool, lost: str) -> None:
    async def scene() -> None:
        store = RemoteStore()
        async with running(REFUSE if refuses else {}, store) as server:
            assert (await server.ask("DescribeConfigs", 4, resources=ORDERS))[1].stale is False
            assert server.context.counters.fast_path == 1
            if lost == "connection":
                store.is_reachable = False
            else:
                store.generation = 1  # the session was lost: nothing is polled yet

            tags, answer = await server.ask("DescribeConfigs", 4, 0, resources=ORDERS)
            assert tags == ResponseTags(1, stale=True)
            (result,) = answer.results
            assert (answer.stale, result.error_code) == ((False, TIMED_OUT) if refuses else (True, 0))
            assert (await server.ask("DescribeConfigs", 4, resources=ORDERS))[1].stale is not refuses
            assert server.context.counters.fast_path == 1

    asyncio.run(scene())


def test_a_store_that_cannot_be_stale_is_answered_from_the_fast_path_without_a_check() -> None:
    async def scene() -> None:
        store = RemoteStore()
        store.can_be_stale = store.is_reachable = False
        async with running(REFUSE, store) as server:
            for resources in (ORDERS, [*ORDERS, DescribeConfigsResource(2, "orders")]):
                answer = (await server.ask("DescribeConfigs", 4, resources=resources))[1]
                assert (answer.stale, answer.results[0].error_code) == (False, 0)
            assert server.context.counters.fast_path == 1

    asyncio.run(scene())
