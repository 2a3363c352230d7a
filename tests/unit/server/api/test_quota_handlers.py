"""Quota requests without authorization."""

from __future__ import annotations

import asyncio
from math import nan
from types import SimpleNamespace
from typing import Any, cast

from kconf.engine.policy.hooks import NO_POLICY
from kconf.engine.quotas.index import QuotaIndex
from kconf.errors import ErrorCode
from kconf.model.acl import AclType, Operation
from kconf.model.journal import RequestContext
from kconf.model.snapshot import Snapshot
from kconf.protocol.messages.alter_client_quotas import AlterClientQuotasRequest, AlteredQuota, QuotaOp
from kconf.protocol.messages.alter_quotas import AlteredQuotaResource, AlterQuotasRequest, WantedQuota
from kconf.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest, QuotaEntityPart
from kconf.protocol.messages.describe_quotas import DescribedQuotaResource, DescribeQuotasRequest, QuotaResource
from kconf.protocol.messages.list_config_entities import ListConfigEntitiesRequest, WantedConfigEntity
from kconf.server.api import client_quotas, list_config_entities
from kconf.server.api import kip248_quotas as quotas_248
from kconf.server.context import ApiRequest, ServerContext

ALICE = [QuotaResource(5, "alice")]
DENIED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


class Guard:
    """Refuses everything and records the calls."""

    def __init__(self) -> None:
        self.asked: set[tuple[Operation, AclType, str]] = set()

    def __call__(self, operation: Operation, kind: AclType, name: str) -> bool:
        self.asked.add((operation, kind, name))
        return False


def refused() -> tuple[ApiRequest, Guard]:
    guard = Guard()
    return ApiRequest(1, RequestContext(), "localhost", 9092, guard), guard


def context(index: QuotaIndex | None = None) -> ServerContext:
    async def submit(planner: Any, _context: RequestContext, *, validate_only: bool) -> Any:
        return planner(SimpleNamespace(snapshot=Snapshot.EMPTY), NO_POLICY).outcome

    service = SimpleNamespace(submit=submit)
    audit_log = SimpleNamespace(record=lambda *_, **__: None)
    quotas = SimpleNamespace(index=index or QuotaIndex(), seen=())
    return cast(ServerContext, SimpleNamespace(service=service, audit_log=audit_log, quotas=quotas))


def test_describing_needs_describe_configs_on_the_cluster() -> None:
    call, guard = refused()

    described: Any = client_quotas.handle_describe(context(), DescribeClientQuotasRequest([]), call)
    resolved = quotas_248.handle_describe(
        context(), DescribeQuotasRequest([DescribedQuotaResource(ALICE), DescribedQuotaResource([])]), call
    )
    listed = list_config_entities.handle(context(), ListConfigEntitiesRequest([WantedConfigEntity(5, None)]), call)

    assert (described.error_code, described.entries) == (DENIED, None)
    assert [each.error_code for each in resolved.resources] == [DENIED, DENIED]
    assert (listed.error_code, listed.entities) == (DENIED, ())
    assert guard.asked == {(Operation.DESCRIBE_CONFIGS, AclType.CLUSTER, "kafka-cluster")}


def test_altering_needs_alter_configs_on_the_cluster() -> None:
    call, guard = refused()
    request = AlterQuotasRequest(False, [AlteredQuotaResource(ALICE, [WantedQuota(0, nan), WantedQuota(9, 1.0)])])

    answer = asyncio.run(quotas_248.handle_alter(context(), request, call))

    (resource,) = answer.resources
    assert [each.error_code for each in resource.quotas] == [DENIED, DENIED]
    assert guard.asked == {(Operation.ALTER_CONFIGS, AclType.CLUSTER, "kafka-cluster")}


def test_the_parts_of_an_entity_are_returned_in_kafkas_order() -> None:
    """The order of Java's hash map, as in a real 4.3.1."""
    parts = {"ip": "1.1.1.1", "zoo": "z", "user": "u", "client-id": "c"}
    entity = [QuotaEntityPart(kind, name) for kind, name in parts.items()]
    call = ApiRequest(1, RequestContext(), "localhost", 9092)

    request = AlterClientQuotasRequest([AlteredQuota(entity, [QuotaOp("producer_byte_rate", 1.0)])], True)
    answer = asyncio.run(client_quotas.handle_alter(context(), request, call))

    assert [each.error_code for each in answer.entries] == [42]
    assert [part.entity_type for part in answer.entries[0].entity] == ["zoo", "client-id", "user", "ip"]
