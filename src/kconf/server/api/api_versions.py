"""ApiVersions (18): the APIs and versions of this server. Any version is answered, so all clients find a common one."""

from __future__ import annotations

import re

from kconf.errors import ErrorCode
from kconf.protocol.apis import API_VERSIONS, APIS
from kconf.protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kconf.server.context import ApiRequest, ServerContext

_SOFTWARE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")
SERVED: list[ApiVersion] = []
"""Filled by router.py: an API is advertised when it has a handler."""


def handle(_context: ServerContext, request: ApiVersionsRequest, call: ApiRequest) -> ApiVersionsResponse:
    if call.version >= 3:
        names = (request.client_software_name, request.client_software_version)
        if not all(_SOFTWARE.fullmatch(name) for name in names):
            return ApiVersionsResponse(ErrorCode.INVALID_REQUEST, ())
    return ApiVersionsResponse(0, SERVED)


def unsupported() -> ApiVersionsResponse:
    """The response, in version 0, to a version that is not served."""
    api = APIS[API_VERSIONS]
    return ApiVersionsResponse(ErrorCode.UNSUPPORTED_VERSION, [ApiVersion(API_VERSIONS, api.min, api.max)])
