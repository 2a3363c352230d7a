"""Every API at the limits of counts and lengths, from a caller without any rights, must not affect other callers.

The requests are generated from the message tables, so that new APIs are covered too. Work is measured in function
calls, not in seconds: a loop over all elements that does not run in slices makes one iteration of the event loop as
long as the request. Memory is measured after the response was sent and the connection closed.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.errors import ErrorCode
from kconf.protocol.apis import API_VERSIONS, APIS
from kconf.protocol.codec.fields import BOOL, F64, UUID16, Array, Blob, FieldType, Primitive, Text, fields_of
from kconf.protocol.headers import read_response, request
from kconf.protocol.messages.alter_client_quotas import AlterClientQuotasRequest, AlteredQuota, QuotaOp
from kconf.protocol.messages.describe_client_quotas import QuotaEntityPart
from kconf.protocol.messages.incremental_alter_configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
)
from kconf.server.api.request_pipeline import RequestPipeline
from kconf.server.api.router import HANDLERS
from kconf.server.auth.authorizer import authorize_function
from kconf.server.connection_context import ConnectionContext
from kconf.server.context import ServerContext
from kconf.service import MAX_CHANGES, Service
from kconf.store.memory import MemoryStore
from kconf.util.slice_scheduler import SliceScheduler

MANY = 7_000  # elements; a real request may have 262,144
MOST_CALLS = (
    6_500  # calls in one iteration of the event loop: 64 elements need fewer, one call per element would need more
)
LONGEST = 32_767  # characters of a string
MALLORY = "User:mallory"
STATIC = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
SASL = {17, 36}  # answered by the connection
WITH_ARRAYS = sorted(
    key
    for key in HANDLERS
    if key not in SASL | {API_VERSIONS} and any(isinstance(each.type, Array) for each in fields_of(APIS[key].request))
)
# Values with which an element passes the first check of its handler.
FIXED = {
    "resource_type": 2,
    "resource_pattern_type": 3,
    "pattern_type_filter": 3,
    "resource_type_filter": 2,
    "operation": 3,
    "permission_type": 3,
    "entity_type": "topic",
    "max_wait_ms": 0,
    "timeout_ms": 60_000,
}


class Messages:
    """Generates requests with `outer` elements per array, `inner` per nested array, and strings of a given length."""

    def __init__(self, version: int, outer: int, inner: int, length: int = 0) -> None:
        self._version, self._sizes, self._length = version, (outer, inner, 1), length
        self._numbers = count()

    def struct(self, cls: Any, depth: int = 0) -> Any:
        made = {}
        for field in fields_of(cls):
            if field.present(self._version) and field.tag is None:
                made[field.name] = self._fixed(field.name, field.type, depth)
        return cls(**made)

    def _fixed(self, name: str, kind: FieldType, depth: int) -> Any:
        wanted = FIXED.get(name)
        return wanted if wanted is not None and not isinstance(kind, Array) else self._value(kind, depth)

    def _value(self, kind: FieldType, depth: int) -> Any:
        match kind:
            case Array():
                size = self._sizes[min(depth, 2)]
                return [self._value(kind.of, depth + 1) for _ in range(size)]
            case Text():
                return f"t{next(self._numbers)}".ljust(self._length, "x")
            case Blob():
                return b"secret"
            case Primitive():
                if kind is UUID16:
                    return bytes(16)
                return {BOOL: False, F64: 1.0}.get(kind, 1)
            case type():
                return self.struct(kind, depth)


def frame(key: int, outer: int, inner: int, length: int = 0) -> bytes:
    api = APIS[key]
    version = 5 if api.name == "DeleteTopics" else api.max  # later versions identify topics by ID
    return request(api, version, 1, "c".ljust(length, "x"), Messages(version, outer, inner, length).struct(api.request))


class World:
    """A server without sockets; its slices end at every pause."""

    def __init__(self, context: ServerContext) -> None:
        ticks = count()
        self.context = replace(context, scheduler=SliceScheduler(lambda: float(next(ticks)), rest=0.0))
        self.pipeline = RequestPipeline(self.context)

    async def answer(self, data: bytes) -> int:
        """The size of the response. Closes the connection afterwards."""
        connection = ConnectionContext("127.0.0.1", "127.0.0.1", 9092)
        connection.principal = MALLORY
        connection.authorize = authorize_function(self.context.authorizer, MALLORY, connection.host)
        made = self.pipeline.handle(connection, data, 4, len(data))
        size, _ = await made if isinstance(made, Awaitable) else made
        connection.close()
        return size


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    service = Service(MemoryStore(), node_id=1, catalog=kafka_43(), static=STATIC)
    await service.start()
    made = World(ServerContext.over(service, lambda: 0.0))
    yield made
    await made.context.audit_log.close()
    await made.context.feed.close()
    await service.stop()


async def most_calls_in_a_turn(work: Awaitable[int]) -> int:
    """The number of function calls in the longest iteration of the event loop."""
    calls = longest = 0

    def called(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    task = asyncio.ensure_future(work)
    sys.setprofile(called)
    try:
        while not task.done():
            before = calls
            await asyncio.sleep(0)
            longest = max(longest, calls - before)
    finally:
        sys.setprofile(None)
    assert await task > 0
    return longest


@pytest.mark.parametrize("key", WITH_ARRAYS, ids=lambda key: APIS[key].name)
@pytest.mark.parametrize(("outer", "inner"), [(MANY, 1), (1, MANY)], ids=["many elements", "one large element"])
def test_no_request_blocks_the_event_loop_for_long(key: int, outer: int, inner: int) -> None:
    async def scene() -> int:
        async with world() as server:
            await server.answer(frame(key, 2, 1))  # for one-time compilation
            return await most_calls_in_a_turn(server.answer(frame(key, outer, inner)))

    assert asyncio.run(scene()) < MOST_CALLS


def test_long_names_are_not_cached() -> None:
    async def scene() -> tuple[int, int]:
        async with world() as server:
            for key in WITH_ARRAYS:
                await server.answer(frame(key, 2, 1, 100))
            await server.context.audit_log.flush()
            gc.collect()
            tracemalloc.start()
            sent = 0
            for key in WITH_ARRAYS:
                data = frame(key, 30, 1, LONGEST)
                sent += len(data)
                await server.answer(data)
                del data
            await server.context.audit_log.flush()
            gc.collect()
            held, _ = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            return sent, held

    sent, held = asyncio.run(scene())
    assert sent > 20 << 20
    assert held < 2 << 20


def test_many_short_names_do_not_exceed_the_cache_limit() -> None:
    async def scene() -> None:
        async with world() as server:
            for key in WITH_ARRAYS:
                await server.answer(frame(key, MANY // 10, 1))
            authorizer = server.context.authorizer
            assert authorizer is not None
            assert 0 < authorizer.decisions.bytes <= 32 << 20
            assert len(server.context.quotas.seen) == 1
            assert server.context.feed.waiting_readers == 0
            assert server.context.scheduler.admitted_bytes == 0

    asyncio.run(scene())


def test_a_client_that_leaves_while_its_large_request_waits_leaves_nothing_behind() -> None:
    data = frame(3, MANY, 1)

    async def scene() -> None:
        async with world() as server:
            scheduler = server.context.scheduler
            connection = ConnectionContext("127.0.0.1", "127.0.0.1", 9092)
            async with scheduler.admitted("User:other", 1 << 30):
                pending = asyncio.ensure_future(server.pipeline.handle(connection, data, 4, len(data)))  # type: ignore[arg-type]
                await asyncio.sleep(0)
                connection.close()
                with pytest.raises(asyncio.CancelledError):
                    await pending
            assert scheduler.admitted_bytes == 0

    asyncio.run(scene())


def test_api_versions_with_long_names_gets_the_same_response_every_time() -> None:
    api = APIS[API_VERSIONS]
    data = request(api, api.max, 1, "c" * LONGEST, api.request("n" * LONGEST, "1"))

    async def scene() -> None:
        async with world() as server:
            made = server.pipeline.handle(ConnectionContext("127.0.0.1", "127.0.0.1", 9092), data, 4, len(data))
            assert isinstance(made, tuple), "it is answered before a login, without waiting"
            sizes = {await server.answer(data) for _ in range(3)}
            assert sizes == {await server.answer(request(api, api.max, 1, "c", api.request("n", "1")))}

    asyncio.run(scene())


def _groups(count: int) -> Any:
    configs = [IncrementalAlterableConfig("consumer.session.timeout.ms", 0, "50000")]
    return IncrementalAlterConfigsRequest([IncrementalAlterConfigsResource(32, f"g{n}", configs) for n in range(count)])


def _quotas(count: int) -> Any:
    ops = [QuotaOp("producer_byte_rate", 1.0)]
    return AlterClientQuotasRequest([AlteredQuota([QuotaEntityPart("user", f"u{n}")], ops) for n in range(count)])


@pytest.mark.parametrize(
    ("key", "message", "results"),
    [(44, _groups, "responses"), (49, _quotas, "entries")],
    ids=["IncrementalAlterConfigs", "AlterClientQuotas"],
)
def test_a_request_with_more_changes_than_kafka_accepts_is_refused_as_a_whole(
    key: int, message: Callable[[int], Any], results: str
) -> None:
    api = APIS[key]

    async def scene() -> None:
        async with world() as server:
            connection = ConnectionContext("127.0.0.1", "127.0.0.1", 9092)  # may do everything
            data = request(api, 1, 1, "c", message(MAX_CHANGES + 1))
            made = server.pipeline.handle(connection, data, 4, len(data))
            assert isinstance(made, Awaitable)
            _, parts = await made
            _, answer = read_response(api, 1, b"".join(parts)[4:])
            codes = {each.error_code for each in getattr(answer, results)}
            assert (codes, len(getattr(answer, results))) == ({ErrorCode.POLICY_VIOLATION}, MAX_CHANGES + 1)
            assert server.context.service.state.snapshot.revision == 0

    asyncio.run(scene())
