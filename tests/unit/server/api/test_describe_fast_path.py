"""The short way gives the bytes of the long one, or none at all."""

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
from kconf.model.acl import AclType, Operation, allow_all
from kconf.model.alteration import NewTopic
from kconf.model.journal import RequestContext
from kconf.protocol.apis import BY_NAME
from kconf.protocol.headers import request
from kconf.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kconf.server.api.router import ConnectionContext, answer
from kconf.server.context import ServerContext
from kconf.server.counters import Counters
from kconf.service import Service
from kconf.store.memory import MemoryStore

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
        await service.change(
            lambda state: plan_create_topics(state.snapshot, TOPICS, context.cluster(state)), RequestContext()
        )
        return context


@asynccontextmanager
async def _running(service: Service):  # type: ignore[no-untyped-def]  # a context manager of nothing
    await service.start()
    yield
    await service.stop()


def long_way(context: ServerContext, frame: bytes) -> bytes:
    made = answer(context, Counters(), ConnectionContext("h", "h", 1), frame)
    assert isinstance(made, list)
    return b"".join(made)


def short_way(context: ServerContext, frame: bytes) -> bytes | None:
    found = context.quick.answer(b"junk" + frame, 4, 4 + len(frame), allow_all)
    if found is None:
        return None
    size, parts = found
    joined = b"".join(parts)
    assert size == len(joined) - 4
    return joined


@pytest.mark.parametrize(
    ("version", "synonyms", "documentation", "keys", "client"),
    list(product(range(5), (False, True), (False, True), (None, ()), (None, "", "a client"))),
)
def test_every_form_of_the_question_gets_the_same_bytes(
    version: int, synonyms: bool, documentation: bool, keys: tuple[str, ...] | None, client: str | None
) -> None:
    with a_server() as context:
        for topic in ("plain", "own"):
            message = DescribeConfigsRequest([DescribeConfigsResource(2, topic, keys)], synonyms, documentation)
            frame = request(API, version, 77, client, message)[4:]

            assert short_way(context, frame) == long_way(context, frame)


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
def test_what_is_unusual_takes_the_long_way(resources: list[DescribeConfigsResource]) -> None:
    with a_server() as context:
        for version in range(5):
            frame = request(API, version, 1, "c", DescribeConfigsRequest(resources))[4:]

            assert short_way(context, frame) is None


def test_who_may_not_describe_takes_the_long_way() -> None:
    def never(_operation: Operation, _type: AclType, _name: str) -> bool:
        return False

    with a_server() as context:
        frame = request(API, 4, 1, "c", DescribeConfigsRequest([DescribeConfigsResource(2, "plain")]))[4:]

        assert context.quick.answer(frame, 0, len(frame), never) is None


@given(
    st.integers(0, 4),
    st.binary(max_size=3),
    st.integers(0, 60),
    st.integers(0, 60),
    st.sampled_from(["plain", "own", "none"]),
)
def test_damaged_questions_get_the_bytes_of_the_long_way_or_none(
    version: int, junk: bytes, at: int, cut: int, topic: str
) -> None:
    frame = request(API, version, 5, "client", DescribeConfigsRequest([DescribeConfigsResource(2, topic)], True))[4:]
    damaged = frame[:at] + junk + frame[min(at + cut % 4, len(frame)) :]
    if damaged[:4] != frame[:4]:
        return
    with a_server() as context:
        quick = short_way(context, damaged)
        if quick is not None:
            try:
                assert quick == long_way(context, damaged)
            except RemoteProtocolError:
                pytest.fail("the long way refuses what the short way answers")
