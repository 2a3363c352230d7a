"""A record with gaps, case by case; tests/property/test_record_with_gaps.py tests random histories."""

from __future__ import annotations

from uuid import UUID

import pytest

from kconf.errors import ApiError, ErrorCode
from kconf.model.cluster_state import ClusterState, MissingPart, TopicShape
from kconf.model.entry import Entry, ValueType, View, own_source
from kconf.model.journal import Change, ChangeKind, RequestContext
from kconf.model.resource import Resource, ResourceType
from kconf.model.scram import CredentialInfo, Mechanism
from kconf.operations.history.blame import blame, unreadable
from kconf.operations.history.diff import diff_record
from kconf.operations.history.entries import JOURNAL, LAKE, HistoryEntry, RecordedHistory
from kconf.operations.history.live_values import LiveValues
from kconf.operations.history.record import Attribution, Fit, Gap, HistoryByKey, Moment, PastValue
from kconf.operations.history.rollback import plan_rollback_by_record
from kconf.operations.history.sources import merged
from kconf.operations.history.wording import author_text, gap_note, unknown_notes

TOPIC = Resource.topic("t")
RETENTION = (TOPIC, "retention.ms")
MINUTE = 60_000
NOW = 1000 * MINUTE


def entry(
    time: int, name: tuple[Resource, str], before: str | None, after: str | None, *, sensitive: bool = False
) -> HistoryEntry:
    change = Change(ChangeKind.CONFIG, *name, before, after, "set", sensitive)
    return HistoryEntry(time * MINUTE, time * MINUTE, 0, change, RequestContext("User:me"), "client")


def cluster(*, taken: int = NOW, **configs: str) -> ClusterState:
    """A topic and its overrides."""
    entries = [
        Entry(key.replace("_", "."), value, own_source(TOPIC), ValueType.STRING) for key, value in configs.items()
    ]
    topics = {"t": TopicShape(UUID(int=1), 1, 1)}
    return ClusterState("c", taken, taken, topics, {TOPIC: View(tuple(entries))})


def record(state: ClusterState, *entries: HistoryEntry) -> HistoryByKey:
    return HistoryByKey(entries, LiveValues(state))


def test_a_value_in_another_form_matches_the_recorded_one() -> None:
    name = (TOPIC, "cleanup.policy")

    found = record(cluster(cleanup_policy="compact,delete"), entry(1, name, None, "compact, delete")).attribute(name)

    assert found.fit is Fit.MATCHES


def test_a_recent_change_that_a_broker_does_not_show_yet_is_not_a_foreign_change() -> None:
    change = entry(1, RETENTION, "100", "200")

    soon = record(cluster(taken=change.time + 1000, retention_ms="100"), change).attribute(RETENTION)
    later = record(cluster(retention_ms="100"), change).attribute(RETENTION)

    assert (soon.fit, soon.author, soon.outside_after) == (Fit.NOT_YET_VISIBLE, None, None)
    assert (later.fit, later.author, later.outside_after) == (Fit.CHANGED_OUTSIDE, None, change.time)


def test_a_change_whose_outcome_is_unknown_may_have_set_the_value() -> None:
    begun = entry(2, RETENTION, "100", "200")._replace(outcome="unknown")

    found = record(cluster(retention_ms="200"), entry(1, RETENTION, None, "100"), begun).attribute(RETENTION)

    assert (found.fit, found.author, found.outside_after) == (Fit.UNKNOWN_OUTCOME, None, None)


def test_a_past_value_is_the_last_recorded_one_or_what_the_next_change_replaced() -> None:
    found = record(cluster(retention_ms="7"), entry(10, RETENTION, "1", "2"), entry(20, RETENTION, "3", "4"))

    values = {time: found.value_at(RETENTION, Moment(time * MINUTE)) for time in (5, 10, 15, 20, 25)}

    assert [each and each.value for each in values.values()] == ["1", "2", "2", "4", "4"]
    assert values[5] == PastValue("1", seen_at=10 * MINUTE)
    assert values[15] is not None
    assert values[15].gap == Gap(10 * MINUTE, 20 * MINUTE)
    assert values[25] is not None
    assert values[25].gap == Gap(20 * MINUTE, None)
    assert found.value_at((TOPIC, "segment.ms"), Moment(NOW)) is None


def test_nothing_is_known_before_the_first_snapshot() -> None:
    seen = entry(10, RETENTION, None, "1")._replace(origin="snapshot", read_since=9 * MINUTE)
    later = entry(20, RETENTION, None, "2")._replace(origin="snapshot", not_before=9 * MINUTE, read_since=19 * MINUTE)

    found = record(cluster(retention_ms="2"), seen, later)

    assert found.value_at(RETENTION, Moment(5 * MINUTE)) is None
    assert found.value_at(RETENTION, Moment(15 * MINUTE)) == PastValue("1", seen, Gap(9 * MINUTE, 20 * MINUTE))
    assert found.attribute(RETENTION) == Attribution(Fit.SEEN, later, 9 * MINUTE)


def test_a_change_found_by_a_poll_may_have_been_made_any_time_since_the_last_poll() -> None:
    made = entry(10, RETENTION, None, "1")
    found_later = entry(20, RETENTION, "1", "2")._replace(origin="outside", not_before=15 * MINUTE)

    found = record(cluster(retention_ms="2"), made, found_later)

    assert found.value_at(RETENTION, Moment(12 * MINUTE)) == PastValue("1", made)
    assert found.value_at(RETENTION, Moment(17 * MINUTE)) == PastValue("1", made, Gap(15 * MINUTE, 20 * MINUTE))
    assert found.value_at(RETENTION, Moment(20 * MINUTE)) == PastValue("2", found_later)


def test_resources_that_cannot_be_read_are_not_reported_as_removed() -> None:
    offline = (Resource.broker(3), "log.retention.ms")
    quota = (Resource(ResourceType.QUOTA, '{"user":"u"}'), "producer_byte_rate")
    failure = ApiError(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    state = ClusterState("c", NOW, NOW, missing=[MissingPart("quotas", failure)])
    entries = [entry(1, offline, None, "1"), entry(2, quota, None, "1")]
    history = RecordedHistory(JOURNAL, "c", entries, [])

    found = diff_record(record(state, *entries), Moment(NOW - MINUTE), None)

    assert list(blame(state, history)) == []
    assert sorted(unreadable(state, history)) == sorted([offline[0], quota[0]])
    assert (found.differences, sorted(found.unread)) == ([], sorted([offline[0], quota[0]]))
    assert plan_rollback_by_record(record(state, *entries), Moment(0)).differences == []


def test_a_topic_that_is_not_listed_is_reported_as_such_and_not_as_deleted() -> None:
    history = RecordedHistory(JOURNAL, "c", [entry(1, RETENTION, None, "1")], [])

    (found,) = blame(ClusterState("c", NOW, NOW), history)

    assert (found.change.resource, found.change.key, found.is_set) == (TOPIC, "", False)
    assert (found.attribution.fit, found.attribution.author) == (Fit.NOT_LISTED, None)


def test_a_recorded_topic_that_is_not_listed_any_more_is_a_difference() -> None:
    nothing = record(ClusterState("c", NOW, NOW), entry(9, RETENTION, None, "1"))

    known = diff_record(nothing, Moment(10 * MINUTE), None)
    earlier = diff_record(nothing, Moment(5 * MINUTE), None)

    for found in (known, earlier):
        ((change, before, after, attribution),) = found.differences
        assert (change.resource, change.key, before, after) == (TOPIC, "", "{}", None)
        assert attribution.fit is Fit.NOT_LISTED
        assert found.unknown == []
    assert (known.gaps, [value.seen_at for _, value, _ in earlier.gaps]) == ([], [9 * MINUTE])


def test_a_secret_is_compared_only_by_whether_it_is_set() -> None:
    user = (Resource(ResourceType.SCRAM, "u"), "SCRAM-SHA-256")
    change = entry(1, user, None, "hmac:1", sensitive=True)
    there = ClusterState("c", NOW, NOW, users={"u": [CredentialInfo(Mechanism.SCRAM_SHA_256, 4096)]})

    kept = record(there, change).attribute(user)
    gone = record(ClusterState("c", NOW, NOW), change).attribute(user)
    unchanged = plan_rollback_by_record(record(there, change), Moment(5 * MINUTE))
    newer = plan_rollback_by_record(record(there, change), Moment(0))

    assert (kept.fit, gone.fit) == (Fit.UNREADABLE, Fit.CHANGED_OUTSIDE)
    assert (unchanged.secrets, unchanged.unknown, unchanged.unreadable) == ([], [], [user])
    assert newer.secrets == []
    assert [(each.resource, each.op, each.old, each.sensitive) for each in newer.differences] == [
        (user[0], "delete", "iterations=4096", True)
    ]
    (difference,) = diff_record(record(there, change), Moment(0), None).differences
    assert (difference.change.sensitive, difference.before) == (True, None)


def credentials(iterations: int) -> ClusterState:
    return ClusterState("c", NOW, NOW, users={"u": [CredentialInfo(Mechanism.SCRAM_SHA_256, iterations)]})


CREDENTIAL = (Resource(ResourceType.SCRAM, "u"), "SCRAM-SHA-256")


def test_a_credential_with_other_iterations_than_the_recorded_one_was_changed_outside() -> None:
    change = entry(1, CREDENTIAL, None, "iterations=4096 hmac:1", sensitive=True)

    same, other = (record(credentials(count), change) for count in (4096, 8192))
    (difference,) = diff_record(other, Moment(5 * MINUTE), None).differences
    plan = plan_rollback_by_record(other, Moment(5 * MINUTE))

    assert same.attribute(CREDENTIAL).fit is Fit.UNREADABLE
    assert other.attribute(CREDENTIAL) == Attribution(Fit.CHANGED_OUTSIDE, change, change.time)
    assert (difference.before, difference.after) == ("iterations=4096 hmac:1", "iterations=8192")
    assert ([each.key for each in plan.secrets], plan.differences, plan.unreadable) == ([CREDENTIAL[1]], [], [])


def test_a_change_that_found_other_iterations_than_the_recorded_ones_shows_a_gap() -> None:
    mine = entry(1, CREDENTIAL, None, "iterations=4096 hmac:1", sensitive=True)
    newer = entry(9, CREDENTIAL, "iterations=8192 hmac:0", "iterations=8192 hmac:2", sensitive=True)

    found = record(credentials(8192), mine, newer).value_at(CREDENTIAL, Moment(5 * MINUTE))

    assert found is not None
    assert found.gap == Gap(mine.time, newer.time)


def test_a_credential_that_a_begun_change_may_have_set_has_no_author() -> None:
    mine = entry(1, CREDENTIAL, None, "iterations=4096 hmac:1", sensitive=True)
    begun = entry(2, CREDENTIAL, "iterations=4096 hmac:0", "iterations=8192 hmac:2", sensitive=True)

    fits = [
        record(credentials(count), mine, begun._replace(outcome="unknown")).attribute(CREDENTIAL).fit
        for count in (4096, 8192)
    ]

    assert fits == [Fit.UNREADABLE, Fit.UNKNOWN_OUTCOME]


def test_a_secret_that_only_a_snapshot_showed_has_no_author() -> None:
    seen = entry(1, CREDENTIAL, None, "", sensitive=True)._replace(origin="snapshot")

    assert record(credentials(4096), seen).attribute(CREDENTIAL).fit is Fit.SEEN


def test_a_rollback_removes_a_secret_config_that_was_not_set_at_that_time() -> None:
    name = (Resource.broker(1), "ssl.key.password")
    change = entry(9, name, None, "hmac:1", sensitive=True)
    secret = Entry(name[1], None, own_source(name[0]), ValueType.PASSWORD, sensitive=True)
    state = ClusterState("c", NOW, NOW, configs={name[0]: View((secret,))})

    plan = plan_rollback_by_record(record(state, change), Moment(5 * MINUTE))

    assert [(each.key, each.op, each.before, each.after, each.sensitive) for each in plan.differences] == [
        (name[1], "delete", "[hidden]", None, True)
    ]
    assert plan.secrets == []


def test_entries_that_a_journal_and_a_lake_share_are_merged() -> None:
    mine, newer = entry(1, RETENTION, None, "1"), entry(30, RETENTION, "2", "3")
    seen = entry(20, RETENTION, None, "2")._replace(origin="snapshot")

    found = merged(RecordedHistory(JOURNAL, "c", [mine, newer], []), RecordedHistory(LAKE, "c", [mine, seen], ["old"]))

    assert (found.source, found.entries, found.notes) == ("journal+lake", [mine, seen, newer], ["old"])
    assert not found.is_complete


@pytest.mark.parametrize("fit", list(Fit))
def test_an_attribution_has_either_an_author_or_a_text_that_explains_its_absence(fit: Fit) -> None:
    found = Attribution(fit, entry(1, RETENTION, None, "1"), 0)

    assert (found.author is None) == bool(author_text(found))


def test_notes_name_the_key_and_the_times() -> None:
    gap = PastValue("1", None, Gap(0, MINUTE))
    many = [(TOPIC, f"key.{number}") for number in range(9)]

    assert gap_note(RETENTION, gap, Moment(1000)).startswith(
        "topic:t retention.ms was changed without being recorded after 1970-01-01 00:00:00 "
        "and before 1970-01-01 00:01:00"
    )
    assert unknown_notes([RETENTION], Moment(revision=7)) == [
        "topic:t retention.ms has no recorded value before revision 7; whether it changed is unknown"
    ]
    (note,) = unknown_notes(many, Moment(0))
    assert note.startswith("9 keys have no recorded value before")
    assert "and 4 more" in note
