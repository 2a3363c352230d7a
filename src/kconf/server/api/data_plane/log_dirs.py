"""DescribeLogDirs (35): this server has no log directory.

Java's client takes an empty list for a failed authorization. So the response has one directory without a name, with the
error LOG_DIR_NOT_FOUND.
"""

from __future__ import annotations

from kconf.errors import ErrorCode
from kconf.model.acl import CLUSTER_NAME, AclType, Operation
from kconf.protocol.messages.describe_log_dirs import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)
from kconf.server.context import ApiRequest, ServerContext


def handle(_context: ServerContext, _request: DescribeLogDirsRequest, call: ApiRequest) -> DescribeLogDirsResponse:
    if not call.authorize(Operation.DESCRIBE, AclType.CLUSTER, CLUSTER_NAME):
        return DescribeLogDirsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return DescribeLogDirsResponse(results=[DescribeLogDirsResult(ErrorCode.LOG_DIR_NOT_FOUND, "", ())])
