"""Refuses APIs about messages, groups and replicas if the server shares its store with real brokers or is a gateway.

A standalone server knows that there are no messages and no groups. With real brokers, only they know, and an empty
response would be wrong. Every element of the request fails with INVALID_REQUEST (42), and nothing is changed. Produce
with acks=0 has no response, so the connection is closed, as Kafka does after an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kconf.errors import ErrorCode, RemoteProtocolError
from kconf.protocol.apis import APIS
from kconf.protocol.messages.produce import ProduceRequest
from kconf.server.context import ApiRequest, ServerContext
from kconf.server.error_responses import error_response

Handler = Callable[[ServerContext, Any, ApiRequest], Any]


def unless_beside_brokers(key: int, handler: Handler) -> Handler:
    """The handler of an API, for a server without real brokers."""

    def handle(context: ServerContext, request: Any, call: ApiRequest) -> Any:
        if context.service.store.members.brokers or context.upstream is not None:
            if isinstance(request, ProduceRequest) and request.acks == 0:
                raise RemoteProtocolError("Produce with acks=0: this server stores no messages")
            return error_response(APIS[key], request, ErrorCode.INVALID_REQUEST)
        return handler(context, request, call)

    return handle
