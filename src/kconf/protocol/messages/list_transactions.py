"""ListTransactions (key 66), versions 0 to 2, flexible. v1 filter by duration · v2 filter by pattern"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import I16, I32, I64, STRING, Array, f, struct


@struct
class ListTransactionsRequest:
    state_filters: Sequence[str] = f(Array(STRING))
    producer_id_filters: Sequence[int] = f(Array(I64))
    duration_filter: int = f(I64, since=1, default=-1)
    transactional_id_pattern: str | None = f(STRING, since=2, nullable=2, default=None)


@struct
class TransactionState:
    transactional_id: str = f(STRING)
    producer_id: int = f(I64)
    transaction_state: str = f(STRING)


@struct
class ListTransactionsResponse:
    throttle_time_ms: int = f(I32, default=0)
    error_code: int = f(I16, default=0)
    unknown_state_filters: Sequence[str] = f(Array(STRING), default=())
    transaction_states: Sequence[TransactionState] = f(Array(TransactionState), default=())
