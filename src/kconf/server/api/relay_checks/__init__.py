"""Requests that a gateway authorizes for the caller before it forwards them, since the broker sees the gateway's
principal.

What the caller may not see is removed from the request or the response, with the errors that a broker would return.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from kconf.server.api.relay_checks import cluster, groups, offsets, partitions, transactions
from kconf.server.context import ApiRequest, ServerContext

HANDLERS: Final[dict[int, Callable[[ServerContext, Any, ApiRequest], Awaitable[Any]]]] = {
    2: partitions.handle_list_offsets,
    9: offsets.handle_fetch,
    10: cluster.handle_find_coordinator,
    15: groups.handle_describe,
    16: groups.handle_list,
    35: cluster.handle_describe_log_dirs,
    42: groups.handle_delete,
    43: cluster.handle_elect_leaders,
    46: cluster.handle_list_reassignments,
    47: offsets.handle_delete,
    55: cluster.handle_describe_quorum,
    61: partitions.handle_describe_producers,
    65: transactions.handle_describe,
    66: transactions.handle_list,
    69: groups.handle_consumer_groups,
}
