"""DescribeAcls (29), CreateAcls (30), DeleteAcls (31): there is no authorizer, and every answer says so.

An enum byte of 0 makes a request unreadable, as in Kafka.
"""

from __future__ import annotations

from kconf.errors import ErrorCode, RemoteProtocolError
from kconf.server.context import Call, Context
from kconf.wire.acls import (
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsFilterResult,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResponse,
)

_CODE = ErrorCode.SECURITY_DISABLED
_WHY = "no authorizer is configured on this server"


def handle_describe(_context: Context, request: DescribeAclsRequest, _call: Call) -> DescribeAclsResponse:
    _readable(request.resource_type_filter, request.pattern_type_filter, request.operation, request.permission_type)
    return DescribeAclsResponse(error_code=_CODE, error_message=_WHY)


def handle_create(_context: Context, request: CreateAclsRequest, _call: Call) -> CreateAclsResponse:
    for each in request.creations:
        _readable(each.resource_type, each.resource_pattern_type, each.operation, each.permission_type)
    return CreateAclsResponse(results=[AclCreationResult(_CODE, _WHY) for _ in request.creations])


def handle_delete(_context: Context, request: DeleteAclsRequest, _call: Call) -> DeleteAclsResponse:
    for each in request.filters:
        _readable(each.resource_type_filter, each.pattern_type_filter, each.operation, each.permission_type)
    return DeleteAclsResponse(filter_results=[DeleteAclsFilterResult(_CODE, _WHY) for _ in request.filters])


def _readable(*numbers: int) -> None:
    if 0 in numbers:
        raise RemoteProtocolError("an ACL request names an unknown type, pattern, operation or permission")
