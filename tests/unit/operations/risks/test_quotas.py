"""Quotas below the usage in a usage file."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kconf.client.admin_sync import SyncAdminClient
from kconf.errors import ConfigurationError
from kconf.model.quota import QuotaEntity
from kconf.operations.planned_change import PlannedChange
from kconf.operations.risks.quotas import QuotaRisks
from kconf.operations.risks.usage import UsageRow, read_usage

ALICE = QuotaEntity.of({"user": "alice"})
EVERYONE = QuotaEntity.of({"user": None})
KEY = "producer_byte_rate"
USAGE = [UsageRow("alice", "app", KEY, 3.0), UsageRow("alice", "app", KEY, 2.0), UsageRow("alice", "job", KEY, 4.0)]


def change(entity: QuotaEntity, value: str | None) -> PlannedChange:
    return PlannedChange(entity.resource, KEY, None if value else "9", value)


def whys(stored: Any, changed: PlannedChange, usage: list[UsageRow] = USAGE) -> list[str]:
    admin = SimpleNamespace(
        describe_client_quotas=lambda: stored, describe_cluster=lambda: SimpleNamespace(cluster_id="here")
    )
    return [each.why for each in QuotaRisks(cast(SyncAdminClient, admin), [changed], usage).of(changed)]


def test_the_clients_of_a_user_share_its_quota() -> None:
    assert whys({}, change(ALICE, "6")) == ["user alice uses 7, but would be limited to 6"]
    assert whys({}, change(ALICE, "7")) == []


def test_each_client_has_the_quota_of_a_default_client() -> None:
    pairs = QuotaEntity.of({"user": "alice", "client-id": None})

    assert whys({}, change(pairs, "3")) == ["user alice, client-id job uses 4, but would be limited to 3"]


def test_a_default_quota_that_applies_to_nobody_is_not_a_reduction() -> None:
    assert whys({ALICE: {KEY: 100.0}}, change(EVERYONE, "1")) == []


def test_removing_a_quota_is_a_risk_if_a_lower_one_then_applies() -> None:
    stored = {ALICE: {KEY: 9.0}, EVERYONE: {KEY: 1.0}}

    assert whys(stored, change(ALICE, None)) == ["user alice uses 7, but would be limited to 1"]


def test_a_quota_that_is_raised_is_not_a_reduction() -> None:
    assert whys({ALICE: {KEY: 1.0}}, change(ALICE, "2")) == []


def test_the_usage_of_another_cluster_does_not_count() -> None:
    there = [each._replace(cluster="there") for each in USAGE]

    assert whys({}, change(ALICE, "6"), there) == []
    assert whys({}, change(ALICE, "6"), [each._replace(cluster="here") for each in USAGE]) != []


def test_a_file_is_read_and_its_errors_name_the_line(tmp_path: Path) -> None:
    file = tmp_path / "usage.csv"
    file.write_text("user,client_id,key,rate\nalice,,producer_byte_rate,1.5\n")
    assert read_usage(str(file)) == [UsageRow("alice", "", KEY, 1.5)]
    file.write_text("user,client_id,key,rate\nalice,,producer_byte_rate,much\n")
    with pytest.raises(ConfigurationError, match=r"usage\.csv line 2: rate must be a number, 0 or more: 'much'"):
        read_usage(str(file))
    file.write_text("user,key,rate\n")
    with pytest.raises(ConfigurationError, match="expected the columns"):
        read_usage(str(file))
    with pytest.raises(ConfigurationError, match=r"cannot read the usage file .*: No such file"):
        read_usage(str(tmp_path / "none.csv"))


def test_every_bad_line_of_a_usage_file_is_reported_at_once(tmp_path: Path) -> None:
    file = tmp_path / "usage.csv"
    file.write_text(
        'user,client_id,key,rate\nalice,,producer_byte_rate,much\nbob,,producer_byte_rate\ncarol,,producer_byte_rate,"1"2\n'
        "dan,,producer_byte_rat,1\nerin,,producer_byte_rate,1\nfred,,,-1\n"
    )

    with pytest.raises(ConfigurationError) as raised:
        read_usage(str(file))

    lines = [each.removeprefix(f"{file} ") for each in str(raised.value).splitlines()]
    assert [each.split(":")[0] for each in lines] == ["line 2", "line 3", "line 4 is not CSV", "line 5", "line 7"]
    assert "'producer_byte_rat' is not a quota" in lines[3]
    assert "rate must be a number" in lines[4]
    assert "'' is not a quota" in lines[4]
