"""Refused requests of a kconf server, the newest ones, from its audit log."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.model.journal import AuditEntry


def latest_attempts(admin: SyncAdminClient, count: int) -> list[AuditEntry]:
    """About the last `count` attempts, newest first; fewer if numbers were skipped.

    The log can only be read forward, so its end is found by binary search. Raises UnsupportedVersion on other clusters.
    """
    last = _last_number(admin)
    found = admin.list_attempts(max(0, last - count), limit=count)
    return found[::-1]


def _last_number(admin: SyncAdminClient) -> int:
    """The highest number, without attempts added during the search; 0 if there is none."""

    def is_before_end(number: int) -> bool:
        return bool(admin.list_attempts(number, limit=1))

    if not is_before_end(0):
        return 0
    low, high = 0, 1024
    while is_before_end(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_before_end(middle) else (low, middle)
    return high
