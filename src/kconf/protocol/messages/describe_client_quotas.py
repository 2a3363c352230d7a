"""DescribeClientQuotas (key 48), versions 0 and 1 (KIP-546). v1 flexible.

An entity is a list of parts, such as (user, alice) and (client-id, null). A null name is the default entity.
"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import BOOL, F64, I8, I16, I32, STRING, Array, f, struct


@struct
class QuotaFilterComponent:
    entity_type: str = f(STRING)
    match_type: int = f(I8)
    match: str | None = f(STRING, nullable=0, default=None)


@struct
class DescribeClientQuotasRequest:
    components: Sequence[QuotaFilterComponent] = f(Array(QuotaFilterComponent))
    strict: bool = f(BOOL, default=False)


@struct
class QuotaEntityPart:
    entity_type: str = f(STRING)
    entity_name: str | None = f(STRING, nullable=0)


@struct
class QuotaValue:
    key: str = f(STRING)
    value: float = f(F64)


@struct
class DescribedQuota:
    entity: Sequence[QuotaEntityPart] = f(Array(QuotaEntityPart))
    values: Sequence[QuotaValue] = f(Array(QuotaValue))


@struct
class DescribeClientQuotasResponse:
    throttle_time_ms: int = f(I32, default=0)
    error_code: int = f(I16, default=0)
    error_message: str | None = f(STRING, nullable=0, default=None)
    entries: Sequence[DescribedQuota] | None = f(Array(DescribedQuota), nullable=0, default=None)
