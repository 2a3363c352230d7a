"""Throttling, fast path and router together: the same bytes from both, plus the throttle time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.engine.quotas.alter import plan_alter_quotas
from kconf.engine.topics.create import plan_create_topics
from kconf.model.alteration import NewTopic
from kconf.model.journal import RequestContext
from kconf.model.quota import ClientQuotaAlteration, ClientQuotaOp, QuotaEntity
from kconf.protocol.apis import BY_NAME
from kconf.protocol.headers import read_response, request
from kconf.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kconf.server.api.request_pipeline import RequestPipeline
from kconf.server.connection_context import ConnectionContext
from kconf.server.context import ServerContext
from kconf.service import Service
from kconf.store.memory import MemoryStore

API = BY_NAME["DescribeConfigs"]
QUOTA = ClientQuotaAlteration(QuotaEntity.of({"client-id": "busy"}), (ClientQuotaOp("request_percentage", 1e-9),))


async def _answer(pipeline: RequestPipeline, frame: bytes) -> tuple[bytes, int]:
    """The response, and how long the connection is muted."""
    connection = ConnectionContext("127.0.0.1", "127.0.0.1", 9092)
    made = pipeline.handle(connection, frame, 4, len(frame))
    _, parts = await made if isinstance(made, Awaitable) else made
    return b"".join(parts), connection.mute_ms


@pytest.mark.parametrize("resources", [["orders"], ["orders", "missing"]], ids=["fast path", "router"])
def test_a_client_with_a_quota_gets_the_same_response_with_its_throttle_time(resources: list[str]) -> None:
    message = DescribeConfigsRequest([DescribeConfigsResource(2, name) for name in resources])
    frame = request(API, 4, 7, "busy", message)

    async def scene() -> None:
        service = Service(MemoryStore(), node_id=1, catalog=kafka_43(), static={})
        await service.start()
        context = ServerContext.over(service, lambda: 0.0)
        pipeline = RequestPipeline(context)
        await service.submit(
            lambda state, _: plan_create_topics(state.snapshot, [NewTopic("orders")], context.cluster(state)),
            RequestContext(),
        )
        free, muted = await _answer(pipeline, frame)
        assert muted == 0
        fast = context.counters.fast_path
        assert fast == (1 if len(resources) == 1 else 0)

        await service.submit(
            lambda state, _: plan_alter_quotas(state.snapshot, [QUOTA], is_host=lambda _: False), RequestContext()
        )
        limited, muted = await _answer(pipeline, frame)
        assert context.counters.fast_path == 2 * fast
        assert muted > 0
        answer = read_response(API, 4, limited[4:])[1]
        assert answer.throttle_time_ms == muted
        assert limited[:9] == free[:9]
        assert [each.error_code for each in answer.results] == [0, 3][: len(resources)]
        await context.feed.close()
        await service.stop()

    asyncio.run(scene())
