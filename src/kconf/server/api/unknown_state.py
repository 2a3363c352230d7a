"""Requests about state that the cluster behind a gateway does not show: the response is the cluster's error.

An empty list would be wrong, and so would a change planned on it. Configs of single resources are checked where they
are described and altered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kconf.errors import ApiError
from kconf.model.resource import ResourceType
from kconf.protocol.apis import APIS, Api
from kconf.protocol.codec.fields import fields_of
from kconf.server.api.data_plane.beside_brokers import Handler
from kconf.server.context import ApiRequest, ServerContext
from kconf.server.error_responses import error_response
from kconf.util.slices import in_slices

_LIST_CONFIG_RESOURCES: Final = 74
_KINDS: Final[Mapping[int, ResourceType]] = {
    29: ResourceType.ACL,
    30: ResourceType.ACL,
    31: ResourceType.ACL,
    48: ResourceType.QUOTA,
    49: ResourceType.QUOTA,
    50: ResourceType.SCRAM,
    51: ResourceType.SCRAM,
    24800: ResourceType.QUOTA,
    24801: ResourceType.QUOTA,
    24802: ResourceType.QUOTA,
}
"""APIs about one kind of resources."""

_LISTED: Final = (ResourceType.CLIENT_METRICS, ResourceType.TOPIC, ResourceType.BROKER, ResourceType.GROUP)
"""The resource types that ListConfigResources lists. Version 0 lists only the first."""


def guarded(handlers: Mapping[int, Handler]) -> dict[int, Handler]:
    """The handlers, with a check that the gateway knows the state that they need."""
    return {
        key: _guarded(APIS[key], each) if key in _KINDS or key == _LIST_CONFIG_RESOURCES else each
        for key, each in handlers.items()
    }


def _guarded(api: Api, handler: Handler) -> Handler:
    def handle(context: ServerContext, request: Any, call: ApiRequest) -> Any:
        failure = _unknown(context, api.key, request, call.version)
        return handler(context, request, call) if failure is None else _refused(api, request, failure)

    return handle


def _unknown(context: ServerContext, key: int, request: Any, version: int) -> ApiError | None:
    kinds = context.service.store.unknown.kinds
    if not kinds:
        return None
    if key != _LIST_CONFIG_RESOURCES:
        return kinds.get(_KINDS[key])
    wanted = _LISTED[:1] if version == 0 else set(in_slices(request.resource_types)) or _LISTED
    return next((kinds[kind] for kind in _LISTED if kind in kinds and kind in wanted), None)


def _refused(api: Api, request: Any, failure: ApiError) -> Any:
    """The error response, with a message if the response has a field for it."""
    response = error_response(api, request, failure.code)
    for field in fields_of(type(response)):
        value = getattr(response, field.name)
        for each in in_slices(value) if isinstance(value, list) else ():
            if hasattr(each, "error_message"):
                each.error_message = failure.message
    if hasattr(response, "error_message"):
        response.error_message = failure.message
    return response
