"""When a full garbage collection is due."""

from __future__ import annotations

import pytest

from kconf.util.memory import is_due


@pytest.mark.parametrize(
    ("collections", "idle", "busy"), [(0, False, False), (239, False, False), (240, True, False), (2400, True, True)]
)
def test_a_full_garbage_collection_waits_for_large_requests_but_not_forever(
    collections: int, idle: bool, busy: bool
) -> None:
    assert is_due(collections, is_idle=True) is idle
    assert is_due(collections, is_idle=False) is busy
