"""The reason for a change (tag 40002 of a request), which is stored in the journal. Its length is limited."""

from __future__ import annotations

from kconf.server.api.alter_configs import MAX_REASON, REASON_TOO_LONG
from kconf.server.context import ApiRequest


def with_reason(call: ApiRequest, reason: str | None) -> ApiRequest:
    """Add the reason to the request context. Raises KafkaError if it is too long."""
    if reason is None:
        return call
    if len(reason) > MAX_REASON:
        raise REASON_TOO_LONG.error()
    return call.with_reason(reason)
