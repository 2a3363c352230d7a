"""A server without sockets that has the topic `orders` with two partitions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from kconf.configdef.catalog import kafka_43
from kconf.model.acl import Authorize, allow_all
from kconf.model.membership import ClusterMember, ClusterMembers
from kconf.protocol.apis import BY_NAME
from kconf.protocol.headers import read_response, request
from kconf.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kconf.server.connection_context import ConnectionContext
from kconf.server.context import ServerContext
from kconf.service import Service
from kconf.store.memory import MemoryStore
from tests.support.routing import routed

TOPIC = "orders"


class World:
    def __init__(self, context: ServerContext, authorize: Authorize) -> None:
        self.context = context
        self._authorize = authorize

    @property
    def topic_id(self) -> bytes:
        return self.context.service.state.snapshot.topics[TOPIC].id.bytes

    @property
    def revision(self) -> int:
        return self.context.service.state.snapshot.revision

    async def ask(self, name: str, message: Any, version: int | None = None, principal: str = "User:ANONYMOUS") -> Any:
        api = BY_NAME[name]
        version = api.max if version is None else version
        connection = ConnectionContext("127.0.0.1", "example.org", 9092)
        connection.authorize, connection.principal = self._authorize, principal
        frame = await routed(self.context, request(api, version, 1, "test", message), connection)
        return read_response(api, version, frame[4:])[1]


async def _world(authorize: Authorize) -> World:
    service = Service(MemoryStore(), node_id=1, catalog=kafka_43(), static={})
    await service.start()
    world = World(ServerContext.over(service, lambda: 0.0), allow_all)
    made = await world.ask("CreateTopics", CreateTopicsRequest([CreatableTopic(TOPIC, 2, 1, (), ())], 1000))
    assert made.topics[0].error_code == 0
    return World(world.context, authorize)


def asked(
    name: str,
    message: Any | Callable[[World], Any],
    version: int | None = None,
    *,
    authorize: Authorize = allow_all,
    principal: str = "User:ANONYMOUS",
    beside_brokers: bool = False,
) -> Any:
    """The response to one request, which changes nothing."""

    async def scenario() -> Any:
        world = await _world(authorize)
        if beside_brokers:
            broker = ClusterMember(7, {"PLAINTEXT": ("broker", 9092)}, None)
            world.context.service.store.members = ClusterMembers({}, {7: broker})  # type: ignore[misc]
        before = world.revision
        answer = await world.ask(name, message(world) if callable(message) else message, version, principal)
        assert world.revision == before
        await world.context.audit_log.close()
        await world.context.feed.close()
        await world.context.service.stop()
        return answer

    return asyncio.run(scenario())
