"""A change with a risk is made only if the risk is allowed by name."""

from __future__ import annotations

import pytest

from kconf.engine.risks import Risk, RiskName
from kconf.errors import ConfigurationError
from kconf.model.resource import Resource
from kconf.operations.errors import Aborted
from kconf.operations.planned_change import PlannedChange
from kconf.operations.risks.allowed import check_risks, parse_risks

COMPACT = PlannedChange(
    Resource.topic("orders"),
    "cleanup.policy",
    None,
    "compact",
    risks=(
        Risk(RiskName.DATA_LOSS, "older records of each key will be deleted"),
        Risk(RiskName.COMPACTION, "records without a key are rejected"),
    ),
)


def test_several_risks_can_be_allowed_by_lists_and_repeated_options() -> None:
    assert parse_risks(["compaction,lockout", " message-size "]) == {"compaction", "lockout", "message-size"}
    assert parse_risks([], data_loss=True) == parse_risks(["data-loss"]) == {"data-loss"}


def test_an_unknown_name_is_refused_with_the_nearest_or_all() -> None:
    with pytest.raises(ConfigurationError, match=r"unknown risk 'compactoin'; did you mean compaction"):
        parse_risks(["compactoin"])
    with pytest.raises(ConfigurationError, match="use one of data-loss, min-insync-replicas"):
        parse_risks([""])


def test_every_risk_of_a_change_must_be_allowed() -> None:
    with pytest.raises(Aborted, match=r"pass --allow-risk data-loss,compaction to allow it$"):
        check_risks([COMPACT], [])
    with pytest.raises(Aborted, match=r"pass --allow-data-loss to allow it$"):
        check_risks([COMPACT], [RiskName.COMPACTION])
    with pytest.raises(Aborted, match=r"! compaction \(records without a key are rejected\)"):
        check_risks([COMPACT], [RiskName.DATA_LOSS])
    check_risks([COMPACT], [RiskName.DATA_LOSS, RiskName.COMPACTION])


def test_a_risk_that_a_policy_allows_needs_no_option() -> None:
    allowed = COMPACT._replace(risks=tuple(each._replace(allowed=True) for each in COMPACT.risks))

    check_risks([allowed], [])
