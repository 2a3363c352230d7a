"""APIs about messages, groups and replicas are refused by a server with real brokers beside or behind it.

Alone, this server knows the answer: there are no messages and no groups. If brokers share its store, or it is a gateway
in front of a cluster, only they know it, and to say "none" would be false. The refusal is 42 for every element of the
request, without effect.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kconf.errors import ErrorCode
from kconf.protocol.apis import APIS
from kconf.server.context import ApiRequest, ServerContext
from kconf.server.error_responses import error_response

Handler = Callable[[ServerContext, Any, ApiRequest], Any]


def unless_beside_brokers(key: int, handler: Handler) -> Handler:
    """The handler of an API, for a server without real brokers."""

    def handle(context: ServerContext, request: Any, call: ApiRequest) -> Any:
        if context.service.store.members.brokers or context.upstream is not None:
            return error_response(APIS[key], request, ErrorCode.INVALID_REQUEST)
        return handler(context, request, call)

    return handle
