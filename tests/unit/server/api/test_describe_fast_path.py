"""The fast path returns the same bytes as the router, or nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kconf.configdef.catalog import kafka_43
from kconf.engine.topics.create import plan_create_topics
from kconf.errors import RemoteProtocolError
from kconf.model.acl import AclType, Operation
from kconf.model.alteration import NewTopic
from kconf.model.journal import RequestContext
from kconf.protocol.apis import BY_NAME
from kconf.protocol.headers import request
from kconf.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kconf.server.context import ServerContext
from kconf.service import Service
from kconf.store.memory import MemoryStore
from tests.support.routing import FastPathAlone, routed

API = BY_NAME["DescribeConfigs"]
TOPICS = [NewTopic("plain"), NewTopic("own", configs=[("retention.ms", "5"), ("cleanup.policy", "compact")])]


@contextmanager
def a_server() -> Iterator[ServerContext]:
    made = asyncio.new_event_loop()
    try:
        yield made.run_until_complete(_context())
    finally:
        made.close()


async def _context() -> ServerContext:
    service = Service(MemoryStore(), node_id=1, catalog=kafka_43(), static={})
    async with _running(service):
        context = ServerContext.over(service, lambda: 0.0)
        await service.submit(
            lambda state, _: plan_create_topics(state.snapshot, TOPICS, context.cluster(state)), RequestContext()
        )
        return context


@asynccontextmanager
async def _running(service: Service):  # type: ignore[no-untyped-def]  # a context manager of nothing
    await service.start()
    yield
    await service.stop()


def by_router(context: ServerContext, frame: bytes) -> bytes:
    return asyncio.run(routed(context, frame))


@pytest.mark.parametrize(
    ("version", "synonyms", "documentation", "keys", "client"),
    list(product(range(API.max + 1), (False, True), (False, True), (None, ()), (None, "", "a client"))),
)
def test_every_form_of_the_request_gets_the_same_bytes(
    version: int, synonyms: bool, documentation: bool, keys: tuple[str, ...] | None, client: str | None
) -> None:
    with a_server() as context:
        for topic in ("plain", "own"):
            message = DescribeConfigsRequest([DescribeConfigsResource(2, topic, keys)], synonyms, documentation)
            frame = request(API, version, 77, client, message)

            assert FastPathAlone(context).answer(frame) == by_router(context, frame)


@pytest.mark.parametrize(
    "resources",
    [
        [],
        [DescribeConfigsResource(2, "unknown")],
        [DescribeConfigsResource(2, "")],
        [DescribeConfigsResource(2, "ü")],
        [DescribeConfigsResource(4, "1")],
        [DescribeConfigsResource(2, "plain", ["retention.ms"])],
        [DescribeConfigsResource(2, "plain"), DescribeConfigsResource(2, "own")],
        [DescribeConfigsResource(2, "x" * 200)],
    ],
)
def test_an_unusual_request_goes_to_the_router(resources: list[DescribeConfigsResource]) -> None:
    with a_server() as context:
        for version in range(API.max + 1):
            frame = request(API, version, 1, "c", DescribeConfigsRequest(resources))

            assert FastPathAlone(context).answer(frame) is None


def test_the_request_of_a_caller_who_may_not_describe_goes_to_the_router() -> None:
    def never(_operation: Operation, _type: AclType, _name: str) -> bool:
        return False

    with a_server() as context:
        frame = request(API, 4, 1, "c", DescribeConfigsRequest([DescribeConfigsResource(2, "plain")]))

        assert FastPathAlone(context).answer(frame, never) is None


@given(
    st.integers(0, API.max),
    st.binary(max_size=3),
    st.integers(0, 60),
    st.integers(0, 60),
    st.sampled_from(["plain", "own", "none"]),
)
def test_damaged_requests_get_the_response_of_the_router_or_nothing(
    version: int, junk: bytes, at: int, cut: int, topic: str
) -> None:
    frame = request(API, version, 5, "client", DescribeConfigsRequest([DescribeConfigsResource(2, topic)], True))[4:]
    damaged = frame[:at] + junk + frame[min(at + cut % 4, len(frame)) :]
    if damaged[:4] != frame[:4]:
        return
    with a_server() as context:
        with_length = len(damaged).to_bytes(4, "big") + damaged
        fast = FastPathAlone(context).answer(with_length)
        if fast is not None:
            try:
                assert fast == by_router(context, with_length)
            except RemoteProtocolError:
                pytest.fail("the router refuses what the fast path answers")
