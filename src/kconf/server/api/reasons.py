"""The reason of a change (tag 40002 of a request): for the journal, of limited length."""

from __future__ import annotations

from kconf.server.api.alter_configs import MAX_REASON, REASON_TOO_LONG
from kconf.server.context import ApiRequest


def with_reason(call: ApiRequest, reason: str | None) -> ApiRequest:
    """The call, with the reason of the request for the journal. Raises KafkaError if the reason is too long."""
    if reason is None:
        return call
    if len(reason) > MAX_REASON:
        raise REASON_TOO_LONG.error()
    return call.with_reason(reason)
