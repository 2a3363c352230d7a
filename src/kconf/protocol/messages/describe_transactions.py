"""DescribeTransactions (key 65), version 0, flexible."""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import I16, I32, I64, STRING, Array, f, struct


@struct
class DescribeTransactionsRequest:
    transactional_ids: Sequence[str] = f(Array(STRING))


@struct
class TopicData:
    topic: str = f(STRING)
    partitions: Sequence[int] = f(Array(I32))


@struct
class TransactionState:
    error_code: int = f(I16)
    transactional_id: str = f(STRING)
    transaction_state: str = f(STRING)
    transaction_timeout_ms: int = f(I32)
    transaction_start_time_ms: int = f(I64)
    producer_id: int = f(I64)
    producer_epoch: int = f(I16)
    topics: Sequence[TopicData] = f(Array(TopicData))


@struct
class DescribeTransactionsResponse:
    throttle_time_ms: int = f(I32, default=0)
    transaction_states: Sequence[TransactionState] = f(Array(TransactionState), default=())
