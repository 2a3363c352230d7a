"""DescribeDelegationToken (41): this server issues no tokens, like a Kafka broker without
`delegation.token.secret.key`.
"""

from __future__ import annotations

from kconf.errors import ErrorCode
from kconf.protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from kconf.server.connection_context import ANONYMOUS
from kconf.server.context import ApiRequest, ServerContext


def handle(
    _context: ServerContext, _request: DescribeDelegationTokenRequest, call: ApiRequest
) -> DescribeDelegationTokenResponse:
    if call.caller.principal == ANONYMOUS:
        return DescribeDelegationTokenResponse(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, ())
    return DescribeDelegationTokenResponse(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED, ())
