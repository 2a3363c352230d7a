"""Requests about what the cluster behind a gateway does not show."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.errors import ApiError, ErrorCode
from kconf.model.journal import Change, ChangeKind, RequestContext
from kconf.model.plan import Plan
from kconf.model.quota import QuotaEntity
from kconf.model.resource import Resource, ResourceType, Topic
from kconf.model.snapshot import topic_to_json
from kconf.protocol.messages.alter_config import AddedConfigEntry, AlterConfigRequest, AlteredEntity
from kconf.protocol.messages.describe_config import DescribeConfigRequest, DescribedEntity
from kconf.protocol.messages.describe_configs_at import DescribeConfigsAtRequest, ResourceAt
from kconf.protocol.messages.list_config_resources import ListConfigResourcesRequest
from kconf.server.api import describe_configs_at, kip21
from kconf.server.api.unknown_state import guarded
from kconf.server.context import ApiRequest, ServerContext
from kconf.service.service import Service
from kconf.store.base import UnknownParts
from kconf.store.memory import MemoryStore

LIST = 74


def listed(kind: ResourceType, wanted: list[int], version: int = 1) -> Any:
    """The error code of ListConfigResources where a kind is unknown; None: it was answered."""
    unknown = UnknownParts({kind: ApiError(ErrorCode.SECURITY_DISABLED, "no")}, {})
    context: Any = SimpleNamespace(service=SimpleNamespace(store=SimpleNamespace(unknown=unknown)))
    call: Any = SimpleNamespace(version=version)
    handler = guarded({LIST: lambda *_: SimpleNamespace(error_code=None)})[LIST]
    return handler(context, ListConfigResourcesRequest(wanted), call).error_code


@pytest.mark.parametrize("wanted", [[], [2, 4, 8, 16, 32], [2]])
def test_a_list_of_configs_does_not_depend_on_acls_users_and_quotas(wanted: list[int]) -> None:
    for kind in (ResourceType.ACL, ResourceType.SCRAM, ResourceType.QUOTA):
        assert listed(kind, wanted) is None


def test_a_list_of_configs_fails_only_if_it_would_contain_unknown_resources() -> None:
    assert listed(ResourceType.GROUP, []) == ErrorCode.SECURITY_DISABLED
    assert listed(ResourceType.GROUP, [2, 32]) == ErrorCode.SECURITY_DISABLED
    assert listed(ResourceType.GROUP, [2]) is None
    assert listed(ResourceType.GROUP, [], version=0) is None
    assert listed(ResourceType.CLIENT_METRICS, [], version=0) == ErrorCode.SECURITY_DISABLED


def test_quotas_and_configs_that_are_unknown_are_not_described_as_empty() -> None:
    """Also by the extensions of kconf, and in the past."""
    denied = ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "no")
    topic, client = Resource.topic("orders"), QuotaEntity.of({"client-id": "app"}).resource
    ada = RequestContext("User:ada")

    async def scene() -> None:
        store = MemoryStore()
        service = Service(store, node_id=1, catalog=kafka_43(), static={})
        await service.start()
        context = ServerContext.over(service, lambda: 0.0)
        call = ApiRequest(0, ada, "gateway", 9092)
        created = Change(ChangeKind.TOPIC, topic, "", None, topic_to_json(Topic("orders", uuid4(), ((1,),))), "create")
        await service.submit(lambda *_: Plan(None, [created]), ada)
        store.unknown = UnknownParts({ResourceType.QUOTA: denied}, {topic: denied})
        described = kip21.handle_describe(
            context, DescribeConfigRequest([DescribedEntity("topic", "orders"), DescribedEntity("client", "app")]), call
        )
        assert [(each.error_code, each.config_entries) for each in described.entities] == [(31, ())] * 2
        entity = AlteredEntity("client", "app", [AddedConfigEntry("producer_byte_rate", "1")], [])
        altered = await kip21.handle_alter(context, AlterConfigRequest([entity]), call)
        assert [each.error_code for each in altered.entities] == [31]
        past = await describe_configs_at.handle(
            context, DescribeConfigsAtRequest(1, -1, [ResourceAt(*topic), ResourceAt(*client)]), call
        )
        assert [(each.error_code, each.error_message, each.overrides) for each in past.results] == [(31, "no", ())] * 2
        await context.feed.close()
        await service.stop()

    asyncio.run(scene())
