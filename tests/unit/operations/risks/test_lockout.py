"""Connection limits that lock out this machine or the brokers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from kconf.client.admin_sync import SyncAdminClient
from kconf.client.calls.configs import DescribedConfigs
from kconf.model.cluster import Node
from kconf.model.entry import View
from kconf.model.resource import Resource
from kconf.operations.planned_change import PlannedChange
from kconf.operations.risks.lockout import LockoutRisks

BROKERS = Resource.brokers()
OVERRIDES = "max.connections.per.ip.overrides"


def risks(*changes: PlannedChange, host: str = "127.0.0.1") -> list[str]:
    admin = SimpleNamespace(
        describe_cluster=lambda: SimpleNamespace(nodes={1: Node(1, host, 9092)}),
        describe_configs=lambda resources, **_: DescribedConfigs(dict.fromkeys(resources, View(()))),
    )
    finder = LockoutRisks(cast(SyncAdminClient, admin), changes)
    return [each.name for each in finder.of(changes[0])]


def change(key: str, new: str, old: str | None = None) -> PlannedChange:
    return PlannedChange(BROKERS, key, old, new, "set", old, new)


@pytest.mark.parametrize(
    ("key", "value", "is_lockout"),
    [
        (OVERRIDES, "localhost:0", True),
        (OVERRIDES, "10.9.9.9:5, 127.0.0.1:0", True),
        (OVERRIDES, "localhost:1", False),
        (OVERRIDES, "10.9.9.9:0", False),
        (OVERRIDES, "no-such-host.invalid:0", True),
        ("max.connections", "0", True),
        ("max.connections", "10", False),
        ("listener.name.plaintext.max.connections", "0", True),
        ("max.connection.creation.rate", "0", True),
        ("max.connections.per.ip", "0", True),
    ],
)
def test_a_connection_limit_of_zero_is_a_lockout(key: str, value: str, is_lockout: bool) -> None:
    assert risks(change(key, value)) == (["lockout"] if is_lockout else [])


def test_a_limit_of_zero_for_the_address_of_a_broker_is_a_lockout() -> None:
    assert risks(change(OVERRIDES, "192.0.2.7:0"), host="192.0.2.7") == ["lockout"]


def test_addresses_that_are_already_blocked_need_no_confirmation() -> None:
    assert risks(change(OVERRIDES, "localhost:0,10.9.9.9:1", old="localhost:0")) == []


def test_an_address_with_its_own_limit_is_not_locked_out() -> None:
    assert risks(change("max.connections.per.ip", "0"), change(OVERRIDES, "127.0.0.1:100")) == []
