"""Only changes that cannot be undone are marked as data loss."""

from __future__ import annotations

import pytest

from kconf.model.resource import Resource
from kconf.operations.planned_change import PlannedChange
from kconf.operations.risks.data_loss import flag_data_loss


@pytest.mark.parametrize(
    ("key", "old", "new", "is_marked"),
    [
        ("retention.ms", "604800000", "3600000", True),
        ("retention.ms", "3600000", "604800000", False),
        ("retention.ms", "-1", "604800000", True),
        ("retention.ms", "604800000", "-1", False),
        ("retention.ms", None, "604800000", True),
        ("retention.ms", None, "-1", False),
        ("retention.ms", "604800000", None, True),
        ("retention.bytes", "-1", "1000000", True),
        ("log.retention.hours", "168", "24", True),
        ("local.retention.ms", "604800000", "3600000", False),
        ("cleanup.policy", "compact", "compact,delete", True),
        ("cleanup.policy", "delete", "compact", True),
        ("cleanup.policy", "compact,delete", "delete", False),
        ("log.cleanup.policy", None, "delete", True),
        ("unclean.leader.election.enable", "false", "true", False),
        ("unclean.leader.election.enable", "true", "false", False),
        ("remote.storage.enable", "true", "false", True),
        ("segment.ms", "604800000", "1", False),
        ("retention.ms", "soon", "later", True),
    ],
)
def test_only_changes_that_can_delete_data_are_marked(
    key: str, old: str | None, new: str | None, is_marked: bool
) -> None:
    resource = Resource.broker(1) if key.startswith("log.") else Resource.topic("t")
    edit = flag_data_loss(PlannedChange(resource, key, old, new, "set", old, new))
    assert bool(edit.loss) is is_marked


def test_unchanged_retention_has_no_risk() -> None:
    assert flag_data_loss(PlannedChange(Resource.topic("t"), "retention.ms", "1", "1", "set", "1", "1")).loss == ""


def test_a_change_of_a_key_that_the_resource_does_not_have_is_not_marked() -> None:
    change = PlannedChange(Resource.topic("t"), "log.retention.ms", None, "1", "set", None, "1")
    assert flag_data_loss(change).loss == ""


@pytest.mark.parametrize(("key", "is_marked"), [("retention.ms", True), ("segment.ms", False)])
def test_an_unknown_old_value_is_shown_as_unknown(key: str, is_marked: bool) -> None:
    change = PlannedChange(Resource.topic("t"), key, None, "1", "set", None, "1", old_unknown=True)
    reason = "not authorized to describe topic:t: its current value is unknown"
    assert flag_data_loss(change).loss == (reason if is_marked else "")
