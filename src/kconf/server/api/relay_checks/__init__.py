"""Requests that a gateway authorizes for the caller before it forwards them, since the broker sees the gateway's
principal.

What the caller may not see is removed from the request or the response, with the errors that a broker would return.
"""

from __future__ import annotations

from typing import Final

from kconf.server.api.relay_checks import cluster, groups, offsets, partitions, transactions
from kconf.server.api.relay_checks.checked import Handler, at_broker, unless_stale

_HANDLERS: Final[dict[int, Handler]] = {
    2: at_broker(partitions.handle_list_offsets),
    9: at_broker(offsets.handle_fetch),
    10: cluster.handle_find_coordinator,
    15: at_broker(groups.handle_describe),
    16: groups.handle_list,
    35: at_broker(cluster.handle_describe_log_dirs),
    42: at_broker(groups.handle_delete),
    43: cluster.handle_elect_leaders,
    46: cluster.handle_list_reassignments,
    47: at_broker(offsets.handle_delete),
    55: cluster.handle_describe_quorum,
    61: at_broker(partitions.handle_describe_producers),
    65: at_broker(transactions.handle_describe),
    66: at_broker(transactions.handle_list),
    69: at_broker(groups.handle_consumer_groups),
}
HANDLERS: Final = {key: unless_stale(each) for key, each in _HANDLERS.items()}
