"""What a change may break, found from the values before and after."""

from __future__ import annotations

import pytest

from kconf.engine.risks import RISKS, RiskName, state_risks, topic_risks


@pytest.mark.parametrize(
    ("key", "old", "new", "replicas", "risk"),
    [
        ("min.insync.replicas", "1", "2", 1, "min-insync-replicas"),
        ("min.insync.replicas", "1", "2", 2, None),
        ("min.insync.replicas", "3", "2", 1, None),  # it is already too low, and improves
        ("min.insync.replicas", None, "2", 1, "min-insync-replicas"),
        ("min.insync.replicas", "1", "two", 1, None),  # the cluster refuses it
        ("unclean.leader.election.enable", "false", "true", None, "unclean-leader-election"),
        ("unclean.leader.election.enable", None, "TRUE", None, "unclean-leader-election"),
        ("unclean.leader.election.enable", "true", "true", None, None),
        ("unclean.leader.election.enable", "true", "false", None, None),
        ("cleanup.policy", "delete", "compact", None, "compaction"),
        ("cleanup.policy", "delete", "delete,compact", None, "compaction"),
        ("cleanup.policy", "compact", "delete", None, None),
        ("log.cleanup.policy", "delete", "compact", None, "compaction"),
        ("max.message.bytes", "1048588", "1000", None, "message-size"),
        ("max.message.bytes", "1000", "1048588", None, None),
        ("max.message.bytes", None, "1000", None, "message-size"),
        ("message.max.bytes", "1048588", "1000", None, "message-size"),
        ("message.timestamp.before.max.ms", "9223372036854775807", "3600000", None, "message-timestamps"),
        ("message.timestamp.after.max.ms", "3600000", "1", None, "message-timestamps"),
        ("message.timestamp.difference.max.ms", "2", "1", None, "message-timestamps"),
        ("message.timestamp.after.max.ms", "1", "3600000", None, None),
        ("segment.ms", "2", "1", None, None),
    ],
)
def test_a_change_has_a_risk_or_none(
    key: str, old: str | None, new: str, replicas: int | None, risk: str | None
) -> None:
    assert [each.name for each in topic_risks(key, old, new, replicas)] == ([] if risk is None else [risk])


def test_the_reason_of_a_risk_has_the_numbers() -> None:
    (few,) = topic_risks("min.insync.replicas", "1", "3", 2)
    (smaller,) = topic_risks("max.message.bytes", "2097152", "1048576")
    (unknown,) = topic_risks("message.timestamp.before.max.ms", None, "3600000")

    assert few.why == "3 replicas must be in sync and the topic has 2 replicas, so producers with acks=all fail"
    assert smaller.why == "batches larger than 1MiB are rejected; the current limit is 2MiB"
    assert unknown.why == "records with a timestamp older than 1h are rejected; the current limit is unknown"


def test_a_state_has_the_risks_that_do_not_depend_on_old_values() -> None:
    assert [each.name for each in state_risks("min.insync.replicas", "2", 1)] == ["min-insync-replicas"]
    assert [each.name for each in state_risks("unclean.leader.election.enable", "true", 3)] == [
        "unclean-leader-election"
    ]
    assert state_risks("cleanup.policy", "compact", 3) == []


def test_every_risk_is_explained() -> None:
    assert list(RISKS) == list(RiskName)
