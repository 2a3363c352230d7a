"""ListConfigEntities (key 24802), version 0, flexible: the ConfigEntityList of KIP-248's "Future considerations".

    request  => [type:i8 name:nullable]
    response => throttle_time_ms:i32 error_code:i16 error_message:nullable [entity]
      entity => [type:i8 name:string]

Types are those of DescribeQuotas (5 user, 6 client), and an empty name is the default. A null name means all names, and
so does ".", as in the KIP. So (user, null) lists all users, (client, null) all clients, and (user, u) with (client,
null) the clients of u. Each list includes the default if it has quotas.
"""

from __future__ import annotations

from collections.abc import Sequence

from kconf.protocol.codec.fields import I8, I16, I32, STRING, Array, f, struct
from kconf.protocol.messages.describe_quotas import QuotaResource


@struct
class WantedConfigEntity:
    type: int = f(I8)
    name: str | None = f(STRING, nullable=0)


@struct
class ListConfigEntitiesRequest:
    entities: Sequence[WantedConfigEntity] = f(Array(WantedConfigEntity))


@struct
class ListedConfigEntity:
    parts: Sequence[QuotaResource] = f(Array(QuotaResource))


@struct
class ListConfigEntitiesResponse:
    throttle_time_ms: int = f(I32, default=0)
    error_code: int = f(I16, default=0)
    error_message: str | None = f(STRING, nullable=0, default=None)
    entities: Sequence[ListedConfigEntity] = f(Array(ListedConfigEntity), default=())
