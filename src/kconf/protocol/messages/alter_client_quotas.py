"""AlterClientQuotas (key 49), versions 0 and 1 (KIP-546). v1 flexible."""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import BOOL, F64, I16, I32, STRING, Array, f, struct
from kconf.protocol.messages.describe_client_quotas import QuotaEntityPart


@struct
class QuotaOp:
    key: str = f(STRING)
    value: float = f(F64)
    remove: bool = f(BOOL, default=False)


@struct
class AlteredQuota:
    entity: Sequence[QuotaEntityPart] = f(Array(QuotaEntityPart))
    ops: Sequence[QuotaOp] = f(Array(QuotaOp))


@struct
class AlterClientQuotasRequest:
    entries: Sequence[AlteredQuota] = f(Array(AlteredQuota))
    validate_only: bool = f(BOOL, default=False)
    reason: str | None = f(STRING, since=1, nullable=1, tag=40002, default=None)  # kconf: for the journal


@struct
class AlteredQuotaResult:
    error_code: int = f(I16)
    error_message: str | None = f(STRING, nullable=0)
    entity: Sequence[QuotaEntityPart] = f(Array(QuotaEntityPart))


@struct
class AlterClientQuotasResponse:
    throttle_time_ms: int = f(I32, default=0)
    entries: Sequence[AlteredQuotaResult] = f(Array(AlteredQuotaResult), default=())
