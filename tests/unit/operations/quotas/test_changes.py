"""The plan of a change of quotas shows the effective values before and after it, and where they come from."""

from __future__ import annotations

from typing import cast

import pytest

from kconf.client.admin_sync import SyncAdminClient
from kconf.model.quota import QuotaEntity
from kconf.operations.planned_change import PlannedChange
from kconf.operations.quotas.changes import quotas_request

PAIR = QuotaEntity.of({"user": "alice", "client-id": "app"})
USER = QuotaEntity.of({"user": "alice"})
EVERY_CLIENT = QuotaEntity.of({"client-id": None})
ADDRESS = QuotaEntity.of({"ip": "192.0.2.7"})
EVERY_ADDRESS = QuotaEntity.of({"ip": None})
CLIENTS = {PAIR: 1.0, USER: 2.0, EVERY_CLIENT: 3.0}
UNUSED = cast("SyncAdminClient", None)  # nothing is sent: only the plan is read


def planned(entity: QuotaEntity, value: float | None, stored: dict[QuotaEntity, float]) -> PlannedChange:
    key = "connection_creation_rate" if "ip" in dict(entity.parts) else "producer_byte_rate"
    quotas = {each: {key: number} for each, number in stored.items()}
    (change,) = quotas_request("quota", UNUSED, {entity: {key: value}}, quotas, None).plan.changes
    return change


@pytest.mark.parametrize(
    ("entity", "stored", "before", "inherited"),
    [
        (PAIR, CLIENTS, "1", "2"),
        (USER, CLIENTS, "2", None),  # the user alone has no client ID
        (EVERY_CLIENT, CLIENTS, "3", None),
        (ADDRESS, {ADDRESS: 5.0, EVERY_ADDRESS: 9.0}, "5", "9"),
        (ADDRESS, {ADDRESS: 5.0}, "5", None),
        (EVERY_ADDRESS, {ADDRESS: 5.0, EVERY_ADDRESS: 9.0}, "9", None),
    ],
)
def test_without_its_own_quota_an_entity_has_that_of_the_next_level(
    entity: QuotaEntity, stored: dict[QuotaEntity, float], before: str, inherited: str | None
) -> None:
    change = planned(entity, None, stored)

    assert (change.before, change.after) == (before, None)
    assert (change.old, change.new, change.source) == (before, inherited, "own")


@pytest.mark.parametrize(
    ("entity", "stored", "old", "source"),
    [
        (PAIR, {USER: 2.0, EVERY_CLIENT: 3.0}, "2", "user"),
        (PAIR, {EVERY_CLIENT: 3.0}, "3", "default client"),
        (USER, {PAIR: 1.0, EVERY_CLIENT: 3.0}, None, ""),
        (ADDRESS, {EVERY_ADDRESS: 9.0}, "9", "default ip"),
        (EVERY_ADDRESS, {ADDRESS: 5.0}, None, ""),
    ],
)
def test_before_its_first_quota_an_entity_has_that_of_the_next_level(
    entity: QuotaEntity, stored: dict[QuotaEntity, float], old: str | None, source: str
) -> None:
    change = planned(entity, 7.0, stored)

    assert (change.before, change.after) == (None, "7")
    assert (change.old, change.new, change.source) == (old, "7", source)
