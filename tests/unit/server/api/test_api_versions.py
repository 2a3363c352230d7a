"""ApiVersions: the cluster and node that a client expects (KIP-1242), and refusals."""

from __future__ import annotations

import asyncio

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.errors import ErrorCode
from kconf.model.journal import RequestContext
from kconf.protocol.apis import APIS
from kconf.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kconf.server.api import api_versions
from kconf.server.context import ApiRequest, ServerContext
from kconf.service import Service
from kconf.store.memory import MemoryStore

HERE = "the cluster of the store"


def asked(cluster_id: str | None, node_id: int, *, version: int = 5, software: str = "kconf") -> ApiVersionsResponse:
    async def scene() -> ApiVersionsResponse:
        service = Service(MemoryStore(), node_id=7, catalog=kafka_43(), static={})
        await service.start()
        context = ServerContext.over(service, lambda: 0.0)
        cluster = context.cluster_id if cluster_id == HERE else cluster_id
        request = ApiVersionsRequest(software, "1.0", cluster, node_id)
        response = api_versions.handle(context, request, ApiRequest(version, RequestContext(), "localhost", 9092))
        await context.feed.close()
        await service.stop()
        return response

    return asyncio.run(scene())


def test_a_client_that_names_no_node_or_this_one_gets_the_apis() -> None:
    for response in (asked(None, -1), asked(HERE, 7), asked(None, -1, version=4)):
        assert response.error_code == 0
        assert response.api_keys is api_versions.SERVED


@pytest.mark.parametrize(("cluster_id", "node_id"), [("another", 7), (HERE, 8), ("another", 8), ("", 7)])
def test_a_client_that_names_another_cluster_or_node_must_rebootstrap(cluster_id: str, node_id: int) -> None:
    response = asked(cluster_id, node_id)

    assert response.error_code == ErrorCode.REBOOTSTRAP_REQUIRED
    assert not response.api_keys


@pytest.mark.parametrize(("cluster_id", "node_id"), [(None, 7), (HERE, -1), ("another", -1)])
def test_a_cluster_without_a_node_and_the_reverse_are_invalid(cluster_id: str | None, node_id: int) -> None:
    assert asked(cluster_id, node_id).error_code == ErrorCode.INVALID_REQUEST


def test_an_invalid_name_of_the_software_is_refused_first() -> None:
    assert asked("another", 8, software="-").error_code == ErrorCode.INVALID_REQUEST


def test_version_5_of_api_versions_is_the_newest() -> None:
    assert APIS[18].max == 5
