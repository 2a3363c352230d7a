"""The response to a request that fails as a whole: the same error code for every element.

As in Kafka, there is one error per resource, topic or entry, without a message, so that no internal detail is exposed.
APIs with a single error code in the response use that. The tables import many messages that most servers never need, so
they are imported for the first such response.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kconf.errors import ErrorCode
from kconf.protocol.apis import Api

_CODE: Final = ErrorCode.UNKNOWN_SERVER_ERROR


def error_response(api: Api, request: Any, code: int = _CODE) -> Any:
    """The response to a request that fails as a whole."""
    fields = _fields(api)
    return api.response(error_code=code) if fields is None else api.response(**fields(request, code))


def _fields(api: Api) -> Callable[[Any, int], dict[str, Any]] | None:
    from kconf.server import control_plane_errors

    if api.name in control_plane_errors.FIELDS:
        return control_plane_errors.FIELDS[api.name]
    from kconf.server import data_plane_errors

    return data_plane_errors.FIELDS.get(api.name)
