"""Responses are matched with the requests of a connection, without its socket."""

from __future__ import annotations

import pytest

from kconf import Resource
from kconf.client.calls.base import NodeVersions
from kconf.client.calls.configs import DescribeConfigs
from kconf.client.settings import Address
from kconf.client.transport.in_flight import InFlightRequests
from kconf.client.transport.requests import NodeRequest
from kconf.errors import RemoteProtocolError
from kconf.protocol.messages.describe_configs import DescribeConfigsResponse, DescribeConfigsResult
from tests.unit.client.transport.responses import frame

HOME = Address("home", 9092)


def test_answers_are_matched_in_order() -> None:
    in_flight: InFlightRequests[str] = InFlightRequests(NodeVersions("home", {32: (1, 4)}), "me")
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
