"""The steps of a call as values: requests to nodes, and delays between attempts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kconf.client.calls.base import Call, CallResult
from kconf.client.settings import Address
from kconf.errors import KconfError, RequestTimedOut


class NodeRequest(NamedTuple):
    """One request: some items of a call, for one address."""

    address: Address
    call: Call[Any, Any, Any]
    items: Sequence[Any]


class SendBatch(NamedTuple):
    """Send all of these concurrently and return a reply for each."""

    requests: Sequence[NodeRequest]


class Backoff(NamedTuple):
    """Wait before the next attempt."""

    seconds: float


Reply = CallResult | KconfError


def not_sent_in_time(request: NodeRequest, *, silent: bool = False) -> RequestTimedOut:
    """The error for a request that was not sent before the deadline.

    `silent`: the peer did not respond while connecting.
    """
    why = f"no connection to {request.address} was free in time"
    if silent:
        why = f"{request.address} accepts connections but did not respond in time; is it Kafka?"
    error = RequestTimedOut(f"{request.call.name} was not sent: {why}")
    error.sent = False
    return error


def no_response(request: NodeRequest) -> RequestTimedOut:
    return RequestTimedOut(f"{request.address} did not respond to {request.call.name} in time")
