"""ListAttempts (key 30002), version 0, flexible: refused requests and dry runs, ordered by number."""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import BOOL, I16, I32, I64, STRING, Array, f, struct


@struct
class ListAttemptsRequest:
    after: int = f(I64)
    max_attempts: int = f(I32, default=1000)


@struct
class ListedAttempt:
    number: int = f(I64)
    time_ms: int = f(I64)
    principal: str = f(STRING)
    client_id: str = f(STRING)
    host: str = f(STRING)
    api: str = f(STRING)
    request_id: int = f(I32)
    reason: str | None = f(STRING, nullable=0)
    revision: int = f(I64)
    resource_type: int = f(I16)
    resource_name: str = f(STRING)
    keys: Sequence[str] = f(Array(STRING))
    outcome: int = f(I16)
    dry_run: bool = f(BOOL)


@struct
class ListAttemptsResponse:
    throttle_time_ms: int = f(I32, default=0)
    error_code: int = f(I16, default=0)
    error_message: str | None = f(STRING, nullable=0, default=None)
    attempts: Sequence[ListedAttempt] = f(Array(ListedAttempt), default=())
