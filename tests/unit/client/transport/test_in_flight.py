"""Responses are matched with the requests of a connection, without its socket."""

from __future__ import annotations

import pytest

from kconf import AlterConfigOp, OpType, Resource
from kconf.client.calls.base import NodeVersions
from kconf.client.calls.configs import DescribeConfigs, IncrementalAlterConfigs
from kconf.client.settings import Address
from kconf.client.transport.in_flight import InFlightRequests
from kconf.client.transport.requests import NodeRequest
from kconf.client.transport.revisions import ClientRevision
from kconf.errors import RemoteProtocolError
from kconf.protocol.apis import BY_NAME
from kconf.protocol.codec.serde import encode
from kconf.protocol.headers import ResponseTags, read_header, response
from kconf.protocol.messages.alter_configs import AlterConfigsResourceResponse
from kconf.protocol.messages.describe_configs import DescribeConfigsResponse, DescribeConfigsResult
from kconf.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsResponse
from tests.unit.client.transport.responses import frame

HOME = Address("home", 9092)


def test_responses_are_matched_with_requests_in_order() -> None:
    in_flight: InFlightRequests[str] = InFlightRequests(NodeVersions("home", {32: (1, 4)}), "me", ClientRevision())
    for number, handle in enumerate(["first", "second"]):
        in_flight.add(
            NodeRequest(HOME, DescribeConfigs([Resource.topic(f"t{number}")]), [Resource.topic(f"t{number}")]), handle
        )
    correlations = [each.correlation for each in in_flight.waiting]

    def answer(number: int) -> bytes:
        body = DescribeConfigsResponse(0, [DescribeConfigsResult(3, None, 2, f"t{number}")])
        return frame("DescribeConfigs", 4, correlations[number], body)

    handle, result = in_flight.complete(answer(0))
    assert handle == "first"
    assert list(result.outcomes) == [Resource.topic("t0")]
    with pytest.raises(RemoteProtocolError, match="instead of"):
        in_flight.complete(answer(0))
    assert in_flight.complete(answer(1))[0] == "second"
    with pytest.raises(RemoteProtocolError, match="without a request"):
        in_flight.complete(answer(1))


KCONF = {32: (1, 4), 44: (0, 1), 30000: (0, 0)}
ORDERS = Resource.topic("orders")
READ = NodeRequest(HOME, DescribeConfigs([ORDERS]), [ORDERS])
WRITE = NodeRequest(HOME, IncrementalAlterConfigs({ORDERS: [AlterConfigOp(OpType.SET, "k", "v")]}), [ORDERS])


def connection(client: ClientRevision, versions: dict[int, tuple[int, int]] = KCONF) -> InFlightRequests[str]:
    return InFlightRequests(NodeVersions("home", versions), "me", client)


def required(frame: bytes) -> int:
    return read_header(frame[4:], flexible=True).required_revision


def answer_write(on: InFlightRequests[str], revision: int) -> None:
    body = IncrementalAlterConfigsResponse(0, [AlterConfigsResourceResponse(0, None, 2, "orders")])
    tags = ResponseTags(revision).encoded()
    correlation = on.waiting[0].correlation
    on.complete(response(BY_NAME["IncrementalAlterConfigs"], 1, correlation, encode(body, 1, True), tags)[4:])


def test_a_read_on_another_connection_requires_the_revision_of_the_write() -> None:
    client = ClientRevision()
    one, other = connection(client), connection(client)
    assert required(one.add(READ, "")) == -1
    one.waiting.clear()
    assert required(one.add(WRITE, "")) == 0
    answer_write(one, 41)

    assert client.required == 41
    assert required(other.add(READ, "")) == 41
    assert required(one.add(READ, "")) == -1  # its server has responded at that revision


def test_a_required_revision_is_not_sent_again_after_the_server_has_reached_it() -> None:
    client = ClientRevision()
    client.required = 41
    one = connection(client)
    assert required(one.add(READ, "")) == 41
    body = encode(DescribeConfigsResponse(0, [DescribeConfigsResult(0, None, 2, "orders")], 42), 4, True)
    tags = ResponseTags(42, stale=True).encoded()
    one.complete(response(BY_NAME["DescribeConfigs"], 4, one.waiting[0].correlation, body, tags)[4:])

    assert required(one.add(READ, "")) == -1
    assert client.required == 41  # a read requires nothing of other servers


def test_no_revision_is_sent_to_a_broker_that_is_not_a_kconf_server() -> None:
    client = ClientRevision()
    client.required = 41
    kafka = connection(client, {32: (1, 4), 44: (0, 1)})

    assert [required(kafka.add(each, "")) for each in (READ, WRITE)] == [-1, -1]
