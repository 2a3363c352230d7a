"""A handler with an internal error: one UNKNOWN_SERVER_ERROR per element of the request, without details."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kconf.configdef.catalog import kafka_43
from kconf.protocol.apis import APIS, BY_NAME
from kconf.protocol.codec.serde import encode
from kconf.protocol.headers import read_response, request
from kconf.protocol.messages.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from kconf.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kconf.protocol.messages.incremental_alter_configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
)
from kconf.server.api.router import HANDLERS
from kconf.server.context import ServerContext
from kconf.server.error_responses import error_response
from kconf.service import Service
from kconf.store.memory import MemoryStore
from tests.property.wire_values import fullest
from tests.support.routing import routed

SECRET = "s3cret-of-another-resource"
SERVED = [(key, version) for key in sorted(HANDLERS) for version in range(APIS[key].min, APIS[key].max + 1)]


class Broken(Exception):
    """An unexpected error."""


def _context() -> ServerContext:
    service = Service(MemoryStore(), node_id=1, catalog=kafka_43(), static={})
    return ServerContext.over(service, lambda: 0.0)


def _answer(frame: bytes) -> tuple[bytes, int]:
    """The response, and how many requests failed."""

    async def answered() -> tuple[bytes, int]:
        context = _context()
        return await routed(context, frame), context.counters.failed_requests

    return asyncio.run(answered())


def _alteration() -> AlterConfigsRequest:
    return AlterConfigsRequest(
        [
            AlterConfigsResource(2, "orders", [AlterableConfig("retention.ms", SECRET)]),
            AlterConfigsResource(4, "1", [AlterableConfig("x", SECRET)]),
        ]
    )


@pytest.mark.parametrize("awaited", [False, True], ids=["at once", "later"])
def test_every_resource_of_a_failed_request_gets_its_own_unknown_server_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, awaited: bool
) -> None:
    def at_once(*_: Any) -> Any:
        raise Broken(SECRET)

    async def later(*_: Any) -> Any:
        raise Broken(SECRET)

    api = BY_NAME["AlterConfigs"]
    monkeypatch.setitem(HANDLERS, api.key, later if awaited else at_once)

    frame, failures = _answer(request(api, 2, 7, "client", _alteration()))

    correlation, answer = read_response(api, 2, frame[4:])
    assert correlation == 7
    assert [
        (each.error_code, each.error_message, each.resource_type, each.resource_name) for each in answer.responses
    ] == [
        (-1, None, 2, "orders"),
        (-1, None, 4, "1"),
    ]
    assert SECRET.encode() not in frame
    assert failures == 1
    assert "internal error in a request api=AlterConfigs version=2" in caplog.text


def test_a_response_that_cannot_be_encoded_is_an_unknown_server_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A string of more than 32,767 bytes cannot be encoded in Kafka's protocol."""
    api = BY_NAME["ListConfigResources"]
    too_long = api.response(0, 0, [_listed("x" * 40_000)])
    monkeypatch.setitem(HANDLERS, api.key, lambda *_: too_long)

    frame, failures = _answer(request(api, 1, 7, "client", api.request()))

    assert read_response(api, 1, frame[4:])[1].error_code == -1
    assert failures == 1


def _listed(name: str) -> Any:
    from kconf.protocol.messages.list_config_resources import ListedConfigResource

    return ListedConfigResource(name, 2)


@pytest.mark.parametrize(("key", "version"), SERVED, ids=[f"{APIS[key].name}-v{version}" for key, version in SERVED])
def test_every_api_has_an_error_response(key: int, version: int) -> None:
    api = APIS[key]

    answer = error_response(api, fullest(api.request, version))

    assert encode(answer, version, api.is_flexible(version))
    assert _codes(answer) == {-1}


def _codes(answer: Any) -> set[int]:
    """All error codes in a response, at any depth."""
    found: set[int] = set()
    for field in answer.FIELDS:
        value = getattr(answer, field.name)
        if field.name == "error_code":
            found.add(value)
        elif isinstance(value, list):
            for each in value:
                found |= _codes(each)
    return found


def test_an_error_response_names_each_element_of_the_request() -> None:
    described = error_response(
        BY_NAME["DescribeConfigs"],
        DescribeConfigsRequest([DescribeConfigsResource(2, "a"), DescribeConfigsResource(4, "")]),
    )
    altered = error_response(
        BY_NAME["IncrementalAlterConfigs"],
        IncrementalAlterConfigsRequest(
            [IncrementalAlterConfigsResource(2, "a", [IncrementalAlterableConfig("k", 0, SECRET)])]
        ),
    )

    assert [(each.resource_type, each.resource_name) for each in described.results] == [(2, "a"), (4, "")]
    assert [(each.resource_type, each.resource_name) for each in altered.responses] == [(2, "a")]
