"""What all handlers of this package share: which broker is asked, and which parts of a request are passed on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Any, TypeVar

from kconf.errors import UpstreamUnavailable
from kconf.model.acl import allow_all
from kconf.server.api.upstream_requests import node_of, refused, upstream_of
from kconf.server.context import ApiRequest, ServerContext
from kconf.util.slices import in_slices

T = TypeVar("T")

Handler = Callable[[ServerContext, Any, ApiRequest], Awaitable[Any]]
BrokerHandler = Callable[[ServerContext, Any, ApiRequest, int], Awaitable[Any]]
"""A handler that also gets the ID of the broker that the request is about."""


def at_broker(handler: BrokerHandler) -> Handler:
    """A handler for requests to one broker. They are refused on a connection that addresses none."""

    async def handle(context: ServerContext, request: Any, call: ApiRequest) -> Any:
        node = node_of(context, call.connection)
        return refused(request) if node is None else await handler(context, request, call, node)

    return handle


def unless_stale(handler: Handler) -> Handler:
    """A handler that needs the current ACLs of the cluster, unless the brokers check those of the caller themselves."""

    async def handle(context: ServerContext, request: Any, call: ApiRequest) -> Any:
        if not upstream_of(context).brokers.acts_as_users:
            require_current_acls(context, call)
        return await handler(context, request, call)

    return handle


def require_current_acls(context: ServerContext, call: ApiRequest) -> None:
    """Close the connection while the ACLs that decide about the caller are unknown, as if no broker could be reached.

    A handler that uses the gateway's own account calls this itself, since the brokers do not check the caller.
    """
    decides = call.authorize is not allow_all and not context.has_own_acls
    if decides and context.service.is_stale:
        why = context.service.store.stale_reason or "the state of the cluster is not current"
        raise UpstreamUnavailable(f"the ACLs of the cluster are unknown: {why}")


def split(items: Collection[T], may: Callable[[T], bool]) -> tuple[list[T], list[T]]:
    """The items for which the caller is authorized, and the others, each in request order."""
    allowed: list[T] = []
    denied: list[T] = []
    for each in in_slices(items):
        (allowed if may(each) else denied).append(each)
    return allowed, denied
