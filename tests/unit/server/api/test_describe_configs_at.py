"""Past states by time, with a clock that is set ahead and back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.engine.configs.alter import AlterTarget, plan_alter
from kconf.engine.topics.create import plan_create_topics
from kconf.errors import StoreUnavailable
from kconf.model.alteration import AlterConfigOp, NewTopic, OpType, ResourceAlterations
from kconf.model.journal import Change, ChangeKind, RequestContext
from kconf.model.plan import Plan
from kconf.model.resource import Resource, ResourceType
from kconf.protocol.messages.describe_configs_at import DescribeConfigsAtRequest, ResourceAt
from kconf.server.api.describe_configs_at import handle
from kconf.server.context import UNREADABLE, ApiRequest, ServerContext
from kconf.service import Service
from kconf.store.base import Store
from kconf.store.memory import MemoryStore
from kconf.store.sqlite.store import SqliteStore

ORDERS = Resource.topic("orders")
ADA = RequestContext("User:ada")
NOON = 1_700_000_000.0
HOUR = 3600.0

OPEN: dict[str, Callable[[Path], Store]] = {
    "memory": lambda _: MemoryStore(),
    "sqlite": lambda path: SqliteStore.open(f"sqlite:///{path / 'kconf.db'}"),
}


@pytest.mark.parametrize("kind", OPEN)
def test_describing_the_present_returns_the_current_state_while_the_clock_jumps(kind: str, tmp_path: Path) -> None:
    clock = [NOON]

    async def scene() -> None:
        store = OPEN[kind](tmp_path)
        service = Service(store, node_id=1, catalog=kafka_43(), static={}, clock=lambda: clock[0])
        await service.start()
        context = ServerContext.over(service, lambda: 0.0)

        async def set_retention(value: str) -> None:
            requested = ResourceAlterations(ORDERS, [AlterConfigOp(OpType.SET, "retention.ms", value)])
            await service.submit(
                lambda state, _: plan_alter(state.snapshot, [requested], AlterTarget(1, state.resolver), replace=False),
                ADA,
            )

        async def check_now() -> None:
            request = DescribeConfigsAtRequest(-1, service.now(), [ResourceAt(ORDERS.type, ORDERS.name)])
            answer = await handle(context, request, ApiRequest(0, ADA, "localhost", 9092))
            assert answer.revision == service.state.snapshot.revision
            (found,) = answer.results
            assert {each.name: each.value for each in found.overrides} == service.state.snapshot.overrides(ORDERS)

        await service.submit(
            lambda state, _: plan_create_topics(state.snapshot, [NewTopic("orders")], context.cluster(state)), ADA
        )
        for number, seconds in enumerate((0.0, HOUR, 1.0, -HOUR, 1.0, -30.0, 1.0, 60.0, -HOUR, HOUR)):
            clock[0] += seconds
            await check_now()  # before the first change at this time
            await set_retention(str(1000 + number))
            await check_now()
        await context.feed.close()
        await service.stop()

    asyncio.run(scene())


def test_a_past_time_is_resolved_correctly_if_the_clock_was_ahead() -> None:
    clock = [NOON]

    async def scene() -> None:
        service = Service(MemoryStore(), node_id=1, catalog=kafka_43(), static={}, clock=lambda: clock[0])
        await service.start()
        context = ServerContext.over(service, lambda: 0.0)
        for seconds, name in ((0.0, "one"), (HOUR, "ahead"), (-HOUR + 10.0, "true")):
            clock[0] += seconds
            await service.submit(
                lambda state, _: plan_create_topics(state.snapshot, [NewTopic(name)], context.cluster(state)),  # noqa: B023
                ADA,
            )
        clock[0] += 10.0

        async def revision_at(seconds: float) -> int:
            request = DescribeConfigsAtRequest(-1, int((NOON + seconds) * 1000), [])
            answer = await handle(context, request, ApiRequest(0, ADA, "localhost", 9092))
            return answer.revision

        assert [await revision_at(each) for each in (-1.0, 0.0, 5.0, 10.0, 15.0, 20.0, HOUR)] == [0, 1, 1, 3, 3, 3, 3]
        await context.feed.close()
        await service.stop()

    asyncio.run(scene())


@pytest.mark.parametrize("kind", [ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLIENT_METRICS])
def test_values_of_keys_that_kconf_does_not_know_are_hidden(kind: ResourceType) -> None:
    """A gateway has a placeholder in their place, which `kconf rollback` would otherwise write as the value."""
    resource = Resource(kind, "one")

    async def scene() -> None:
        service = Service(MemoryStore(), node_id=1, catalog=kafka_43(), static={})
        await service.start()
        context = ServerContext.over(service, lambda: 0.0)
        changes = [
            Change(ChangeKind.CONFIG, resource, "vendor.key", None, "log:17", "set", True),
            Change(ChangeKind.CONFIG, resource, "interval.ms", None, "1000", "set"),
            Change(ChangeKind.CONFIG, resource, "retention.ms", None, "1000", "set"),
            Change(ChangeKind.CONFIG, resource, "consumer.session.timeout.ms", None, "50000", "set"),
        ]
        await service.submit(lambda *_: Plan(None, changes), ADA)
        request = DescribeConfigsAtRequest(1, -1, [ResourceAt(kind, "one")])
        (found,) = (await handle(context, request, ApiRequest(0, ADA, "localhost", 9092))).results
        shown = {each.name: (each.value, each.is_sensitive) for each in found.overrides}
        assert shown["vendor.key"] == (None, True)
        assert [value for value, sensitive in shown.values() if not sensitive] in (["1000"], ["50000"])
        await context.feed.close()
        await service.stop()

    asyncio.run(scene())


def test_a_journal_that_cannot_be_read_is_an_error_of_the_request() -> None:
    store = MemoryStore()

    def fail() -> int:
        raise StoreUnavailable("disk I/O error")

    async def scene() -> None:
        service = Service(store, node_id=1, catalog=kafka_43(), static={})
        await service.start()
        context = ServerContext.over(service, lambda: 0.0)
        store.oldest = fail  # type: ignore[method-assign]
        answer = await handle(context, DescribeConfigsAtRequest(0, -1, []), ApiRequest(0, ADA, "localhost", 9092))
        assert (answer.error_code, answer.error_message) == UNREADABLE
        await context.feed.close()
        await service.stop()

    asyncio.run(scene())
