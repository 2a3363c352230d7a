"""DescribeQuotas (key 24800), version 0, flexible: proposed by KIP-248. Kafka never shipped it.

    request  => [resource]
      resource => [type:i8 name:string] [quota_type:i8]
    response => throttle_time_ms:i32 [resource]
      resource => [type:i8 name:string] error_code:i16 error_message:nullable [quota]
      quota    => quota_type:i8 quota_value:f64 quota_source:i8, tag 24800: [quota_value:f64 quota_source:i8]

Resource types: 5 user, 6 client. An empty name is the default. Quota types: 0 producer_byte_rate, 1 consumer_byte_rate,
2 request_percentage, and in addition to the KIP 3 controller_mutation_rate. An empty list of quota types means all. A
quota's source is the number of a `QuotaSource` (model/quota.py). The tag is a kconf extension: the quotas that are
overridden, in order. Quotas that are not set are not in the response.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kconf.model.quota import CLIENT_ID, USER
from kconf.protocol.codec.fields import F64, I8, I16, I32, STRING, Array, f, struct

ENTITY_TYPES: Final[Mapping[int, str]] = {5: USER, 6: CLIENT_ID}
QUOTA_TYPES: Final = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")


@struct
class QuotaResource:
    type: int = f(I8)
    name: str = f(STRING)


@struct
class DescribedQuotaResource:
    quota_resources: Sequence[QuotaResource] = f(Array(QuotaResource))
    quota_types: Sequence[int] = f(Array(I8), default=())


@struct
class DescribeQuotasRequest:
    resources: Sequence[DescribedQuotaResource] = f(Array(DescribedQuotaResource))


@struct
class OverriddenQuota:
    quota_value: float = f(F64)
    quota_source: int = f(I8)


@struct
class ResolvedQuota:
    quota_type: int = f(I8)
    quota_value: float = f(F64)
    quota_source: int = f(I8)
    overridden: Sequence[OverriddenQuota] = f(Array(OverriddenQuota), tag=24800, default=())


@struct
class DescribedQuotas:
    quota_resources: Sequence[QuotaResource] = f(Array(QuotaResource))
    error_code: int = f(I16, default=0)
    error_message: str | None = f(STRING, nullable=0, default=None)
    quotas: Sequence[ResolvedQuota] = f(Array(ResolvedQuota), default=())


@struct
class DescribeQuotasResponse:
    throttle_time_ms: int = f(I32, default=0)
    resources: Sequence[DescribedQuotas] = f(Array(DescribedQuotas), default=())
