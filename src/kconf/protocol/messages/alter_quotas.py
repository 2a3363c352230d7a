"""AlterQuotas (key 24801), version 0, flexible: proposed by KIP-248. Kafka never shipped it.

    request  => validate_only:bool [resource], tag 40002: reason:string
      resource => [type:i8 name:string] [quota_type:i8 quota_value:f64]
    response => throttle_time_ms:i32 [resource]
      resource => [type:i8 name:string] [error_code:i16 error_message:nullable quota_type:i8], tag 24801: [shift]
      shift    => user:nullable client_id:nullable quota_type:i8
                  value_before:f64 source_before:i8 value_after:f64 source_after:i8

Types are those of DescribeQuotas. NaN removes a quota; other quotas are unchanged. Each quota has its own error, and
the other quotas of its resource are still altered. The response tag is a kconf extension for validate_only: the
recently seen users and client ids that would get another quota (source -1 and NaN: none). It is left out for more than
20 resources.
"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import BOOL, F64, I8, I16, I32, STRING, Array, f, struct
from kconf.protocol.messages.describe_quotas import QuotaResource


@struct
class WantedQuota:
    quota_type: int = f(I8)
    quota_value: float = f(F64)


@struct
class AlteredQuotaResource:
    quota_resources: Sequence[QuotaResource] = f(Array(QuotaResource))
    quotas: Sequence[WantedQuota] = f(Array(WantedQuota))


@struct
class AlterQuotasRequest:
    validate_only: bool = f(BOOL)
    resources: Sequence[AlteredQuotaResource] = f(Array(AlteredQuotaResource))
    reason: str | None = f(STRING, nullable=0, tag=40002, default=None)  # as in IncrementalAlterConfigs


@struct
class AlteredQuotaType:
    error_code: int = f(I16)
    error_message: str | None = f(STRING, nullable=0)
    quota_type: int = f(I8)


@struct
class ShiftedQuota:
    user: str | None = f(STRING, nullable=0)
    client_id: str | None = f(STRING, nullable=0)
    quota_type: int = f(I8)
    value_before: float = f(F64)
    source_before: int = f(I8)
    value_after: float = f(F64)
    source_after: int = f(I8)


@struct
class AlteredQuotas:
    quota_resources: Sequence[QuotaResource] = f(Array(QuotaResource))
    quotas: Sequence[AlteredQuotaType] = f(Array(AlteredQuotaType))
    shifts: Sequence[ShiftedQuota] = f(Array(ShiftedQuota), tag=24801, default=())


@struct
class AlterQuotasResponse:
    throttle_time_ms: int = f(I32, default=0)
    resources: Sequence[AlteredQuotas] = f(Array(AlteredQuotas), default=())
