"""Requests with an unknown outcome, compared with the log."""

from __future__ import annotations

from uuid import UUID

import pytest

from kconf.client.kraft.revisions import SNAPSHOT_ORIGIN
from kconf.model.journal import Change, ChangeKind, RequestContext, Revision
from kconf.model.log_matching import LONGEST_CALL
from kconf.model.resource import Resource, Topic
from kconf.model.snapshot import topic_to_json
from kconf.store.upstream.authors.intents import ARRIVES_WITHIN, OpenIntents
from kconf.store.upstream.authors.matching import NO_CLAIMS
from kconf.store.upstream.journal import Intent, IntentOutcome

ORDERS = Resource.topic("orders")
ALICE = RequestContext("User:alice")
SENT = 1_000_000


def setting(value: str, key: str = "retention.ms") -> Change:
    return Change(ChangeKind.CONFIG, ORDERS, key, None, value, "set")


def intent(*changes: Change) -> Intent:
    return Intent(1, 50, Revision(0, SENT, ALICE, changes))


def logged(number: int, *changes: Change, after: int = 10, origin: str = "log") -> Revision:
    return Revision(number, SENT + after, RequestContext(""), changes, origin)


@pytest.fixture
def opened() -> OpenIntents:
    found = OpenIntents()
    found.add([intent(setting("7"))])
    return found


def test_a_matching_record_belongs_to_the_request(opened: OpenIntents) -> None:
    (other, own) = opened.attribute([logged(49, setting("7")), logged(51, setting("7"))], NO_CLAIMS)
    assert (other.caller.principal, own.caller, own.origin) == ("", ALICE, "kconf")
    assert opened.close(SENT + 20, is_log_read=True) == {1: IntentOutcome.DONE}
    assert not opened


def test_a_request_stays_open_while_it_may_still_arrive(opened: OpenIntents) -> None:
    assert opened.attribute([logged(51, setting("8"))], NO_CLAIMS)[0].caller.principal == ""
    assert opened.close(SENT + ARRIVES_WITHIN - 1, is_log_read=True) == {}
    assert opened.attribute([logged(52, setting("7"), after=500)], NO_CLAIMS)[0].caller == ALICE
    assert opened.close(SENT + 501, is_log_read=False) == {1: IntentOutcome.DONE}


def test_a_request_is_not_done_when_it_cannot_arrive_any_more(opened: OpenIntents) -> None:
    assert opened.close(SENT + ARRIVES_WITHIN, is_log_read=False) == {}
    assert opened.close(SENT + ARRIVES_WITHIN, is_log_read=True) == {1: IntentOutcome.NOT_DONE}


def test_the_same_change_hours_later_has_another_author(opened: OpenIntents) -> None:
    (found,) = opened.attribute([logged(51, setting("7"), after=2 * LONGEST_CALL)], NO_CLAIMS)
    assert found.caller.principal == ""
    assert opened.close(SENT + ARRIVES_WITHIN, is_log_read=True) == {1: IntentOutcome.UNKNOWN}


def test_the_author_of_one_of_two_identical_changes_is_unknown(opened: OpenIntents) -> None:
    found = opened.attribute([logged(51, setting("7")), logged(53, setting("7"))], NO_CLAIMS)
    assert [each.caller.principal for each in found] == ["", ""]
    assert opened.close(SENT + 20, is_log_read=True) == {1: IntentOutcome.DONE}


def test_a_value_that_was_changed_again_is_superseded(opened: OpenIntents) -> None:
    found = opened.attribute([logged(51, setting("7")), logged(53, setting("9"))], NO_CLAIMS)
    assert [each.caller.principal for each in found] == ["User:alice", ""]
    assert opened.close(SENT + 20, is_log_read=True) == {1: IntentOutcome.SUPERSEDED}


def test_the_outcome_is_unknown_if_that_part_of_the_log_was_deleted(opened: OpenIntents) -> None:
    opened.attribute([logged(60, origin=SNAPSHOT_ORIGIN)], NO_CLAIMS)
    assert opened.close(SENT + 20, is_log_read=True) == {1: IntentOutcome.UNKNOWN}


def test_records_that_the_journal_already_has_are_not_matched_again() -> None:
    """After a crash the log is read again from the last image."""
    opened = OpenIntents()
    opened.add([intent(setting("7"), setting("8", "retention.bytes"))], [logged(51, setting("7"))])
    found = opened.attribute([logged(51, setting("7")), logged(52, setting("8", "retention.bytes"))], NO_CLAIMS)
    assert [each.caller.principal for each in found] == ["", "User:alice"]
    assert opened.close(SENT + 20, is_log_read=True) == {1: IntentOutcome.DONE}


def test_the_outcome_of_a_request_of_which_only_a_part_is_in_the_log_is_unknown() -> None:
    opened = OpenIntents()
    opened.add([Intent(1, 50, Revision(0, SENT, ALICE, (setting("7"), _other_topic())))])
    opened.attribute([logged(51, setting("7"))], NO_CLAIMS)
    assert opened.close(SENT + ARRIVES_WITHIN - 1, is_log_read=True) == {}
    assert opened.close(SENT + ARRIVES_WITHIN, is_log_read=True) == {1: IntentOutcome.UNKNOWN}


def _other_topic() -> Change:
    return setting("1")._replace(resource=Resource.topic("other"))


BOB = RequestContext("User:bob", request_id=9)


def test_a_change_that_an_unanswered_and_an_acknowledged_request_may_have_made_has_no_author(
    opened: OpenIntents,
) -> None:
    (found,) = opened.attribute([logged(51, setting("7"))], {51: BOB})
    assert (found.caller.principal, found.origin) == ("", "log")
    assert opened.close(SENT + ARRIVES_WITHIN - 1, is_log_read=True) == {}
    assert opened.close(SENT + ARRIVES_WITHIN, is_log_read=True) == {1: IntentOutcome.UNKNOWN}


def test_other_acknowledged_changes_keep_their_author(opened: OpenIntents) -> None:
    (found,) = opened.attribute([logged(51, setting("8"))], {51: BOB})
    assert (found.caller, found.origin) == (BOB, "kconf")


def test_a_change_that_its_author_has_requested_again_has_its_author(opened: OpenIntents) -> None:
    again = RequestContext("User:alice", request_id=2)
    (found,) = opened.attribute([logged(51, setting("7"))], {51: again})
    assert found.caller == again
    assert opened.close(SENT + ARRIVES_WITHIN, is_log_read=True) == {1: IntentOutcome.UNKNOWN}


def test_a_change_that_two_unanswered_requests_may_have_made_has_no_author(opened: OpenIntents) -> None:
    opened.add([Intent(2, 50, Revision(0, SENT, BOB, [setting("7")]))])
    (found,) = opened.attribute([logged(51, setting("7"))], NO_CLAIMS)
    assert found.caller.principal == ""
    unknown = {1: IntentOutcome.UNKNOWN, 2: IntentOutcome.UNKNOWN}
    assert opened.close(SENT + ARRIVES_WITHIN, is_log_read=True) == unknown


def test_after_a_restart_a_change_in_the_journal_with_another_author_is_not_the_request() -> None:
    opened = OpenIntents()
    acknowledged = Revision(51, SENT + 10, BOB, [setting("7")], "kconf")
    opened.add([intent(setting("7"))], [acknowledged])
    assert opened.close(SENT + ARRIVES_WITHIN, is_log_read=True) == {1: IntentOutcome.UNKNOWN}


def test_the_author_of_a_secret_is_unknown_if_its_request_has_no_response() -> None:
    secret = Change(ChangeKind.CONFIG, Resource.brokers(), "ssl.key.password", None, "", "set", True)
    opened = OpenIntents()
    opened.add([intent(secret)])
    (found,) = opened.attribute([logged(51, secret._replace(after="log:51"))], NO_CLAIMS)
    assert found.caller.principal == ""
    assert opened.close(SENT + ARRIVES_WITHIN - 1, is_log_read=True) == {}
    assert opened.close(SENT + ARRIVES_WITHIN, is_log_read=True) == {1: IntentOutcome.UNKNOWN}


def created(*replicas: tuple[int, ...], number: int = 1) -> Change:
    topic = topic_to_json(Topic("orders", UUID(int=number), replicas))
    return Change(ChangeKind.TOPIC, ORDERS, "", None, topic, "create")


def test_a_topic_with_another_number_of_partitions_was_created_by_another_client() -> None:
    opened = OpenIntents()
    opened.add([intent(created((1, 2)))])
    own, other = created((2, 3), number=2), created((1, 2), (2, 3), number=2)
    assert opened.attribute([logged(51, other)], NO_CLAIMS)[0].caller.principal == ""
    opened = OpenIntents()
    opened.add([intent(created((1, 2)))])
    assert opened.attribute([logged(51, own)], NO_CLAIMS)[0].caller == ALICE


def test_another_topic_of_the_same_name_was_deleted_by_another_client() -> None:
    deleted = created((1,))._replace(before=created((1,)).after, after=None, op="delete")
    opened = OpenIntents()
    opened.add([intent(deleted)])
    other = deleted._replace(before=created((1,), number=2).after)
    assert opened.attribute([logged(51, other)], NO_CLAIMS)[0].caller.principal == ""
    assert opened.attribute([logged(52, deleted)], NO_CLAIMS)[0].caller == ALICE
