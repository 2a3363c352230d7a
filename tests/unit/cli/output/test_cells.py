"""Cells of tables."""

from __future__ import annotations

import pytest

from kconf.cli.output.cells import value_cell


@pytest.mark.parametrize(
    ("resource", "key", "value", "shown"),
    [
        ("topic:orders", "retention.ms", "604800000", "7d"),
        ("topic:orders", "retention.ms", None, "(unset)"),
        ("topic:orders", "leader.replication.throttled.replicas", "", ""),
        ("topic:orders", None, None, "-"),
        ("acl:topic:orders", "allow User:alice read", "", "(exists)"),
        ("acl:topic:orders", "allow User:alice read", None, "(unset)"),
    ],
)
def test_a_cell_shows_a_value_with_its_unit_or_that_it_is_unset(
    resource: str, key: str | None, value: str | None, shown: str
) -> None:
    assert value_cell({"resource": resource, "key": key, "after": value}, "after") == shown
