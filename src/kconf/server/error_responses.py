"""The response to a request that fails as a whole: one error code for every element of the request, and no more.

As in Kafka: one error per resource, topic or entry, without a message, so that nothing of what went wrong gets out. An
API whose response has one error code only gets it there. The tables import many messages, and most servers need none of
them: they are imported with the first such response.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kconf.errors import ErrorCode
from kconf.protocol.apis import Api

_CODE: Final = ErrorCode.UNKNOWN_SERVER_ERROR


def error_response(api: Api, request: Any, code: int = _CODE) -> Any:
    """The response to a request that failed as a whole."""
    fields = _fields(api)
    return api.response(error_code=code) if fields is None else api.response(**fields(request, code))


def _fields(api: Api) -> Callable[[Any, int], dict[str, Any]] | None:
    from kconf.server import control_plane_errors

    if api.name in control_plane_errors.FIELDS:
        return control_plane_errors.FIELDS[api.name]
    from kconf.server import data_plane_errors

    return data_plane_errors.FIELDS.get(api.name)
