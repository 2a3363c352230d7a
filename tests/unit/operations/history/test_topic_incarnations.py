"""Topics with the same name share nothing: their entries are kept apart, by IDs where these are recorded."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kconf.model.journal import Change, ChangeKind, RequestContext
from kconf.model.resource import Resource
from kconf.operations.history.entries import HistoryEntry
from kconf.operations.history.topic_incarnations import Incarnation, TopicIncarnations, same_topic

TOPIC = Resource.topic("orders")


def shape(partitions: int, topic_id: str | None = None, **more: Any) -> str:
    return json.dumps({"partitions": partitions, **({} if topic_id is None else {"id": topic_id}), **more})


def entries(*changes: tuple[str | None, str | None] | str) -> list[HistoryEntry]:
    """A pair is a change of the topic, a string sets a config to this value."""
    found = []
    for number, each in enumerate(changes, 1):
        kind = ChangeKind.CONFIG if isinstance(each, str) else ChangeKind.TOPIC
        before, after = (None, each) if isinstance(each, str) else each
        change = Change(kind, TOPIC, "k" if isinstance(each, str) else "", before, after, "set")
        found.append(HistoryEntry(number, number, 0, change, RequestContext(), "client"))
    return found


def split(found: TopicIncarnations) -> list[list[int]]:
    """The times of the entries of each incarnation that has any."""
    parts: dict[int, list[int]] = {}
    for incarnation, entry in found.parts:
        parts.setdefault(id(incarnation), []).append(entry.time)
    return list(parts.values())


def test_a_topic_that_was_deleted_and_created_again_is_another_one() -> None:
    found = TopicIncarnations(entries((None, shape(1, "A")), "1", (shape(1, "A"), None), (None, shape(1, "B")), "2"))

    assert split(found) == [[1, 2, 3], [4, 5]]
    absent, first, between, last = found.incarnations
    assert [each.exists for each in found.incarnations] == [False, True, False, True]
    assert (absent.begin, between.last) == (None, None)
    assert [_numbers(each) for each in (first, last)] == [(1, 1, "A", 1, 3), (4, 4, "B", 4, 5)]


def _numbers(each: Incarnation) -> tuple[int | None, int | None, str | None, int | None, int | None]:
    begin, created, identified, last = (
        one and one.time for one in (each.begin, each.created, each.identified, each.last)
    )
    return begin, created, each.topic_id, identified, last


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (shape(1, "B"), shape(2, "B")),
        (
            shape(1, "B"),
            shape(2),
        ),  # what a client requested, if no broker showed it in time
        (shape(1), shape(2, "B")),
    ],
)
def test_an_id_that_was_found_or_made_by_a_change_shows_a_recreation_that_is_not_recorded(
    before: str, after: str
) -> None:
    found = TopicIncarnations(entries((None, shape(1, "A")), "1", (before, after)))

    assert split(found) == [[1, 2], [3]]
    assert found.incarnations[-1].created is None
    assert found.incarnations[-1].exists is True


@pytest.mark.parametrize("before", [None, shape(1), shape(1, "A")])
@pytest.mark.parametrize("after", [shape(2), shape(2, "A")])
def test_growth_without_another_id_belongs_to_the_same_topic(before: str | None, after: str) -> None:
    first = entries((None, shape(1, "A")), "1", (before or shape(1), after))

    assert split(TopicIncarnations(first)) == [[1, 2, 3]]


def test_a_config_that_is_set_after_a_deletion_shows_a_recreation_that_is_not_recorded() -> None:
    found = TopicIncarnations(entries((None, shape(1, "A")), (shape(1, "A"), None), "1"))

    assert split(found) == [[1, 2], [3]]
    assert _numbers(found.incarnations[-1]) == (3, None, None, None, 3)


def test_before_the_first_entry_about_a_topic_its_existence_is_unknown() -> None:
    assert [each.exists for each in TopicIncarnations([]).incarnations] == [None]
    (known,) = TopicIncarnations(entries("1")).incarnations
    assert (known.exists, known.topic_id, known.created) == (True, None, None)
    assert [each.exists for each in TopicIncarnations(entries((None, shape(1)))).incarnations] == [False, True]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (shape(2, "A"), shape(2, "A"), True),
        (shape(2, "A"), shape(2), True),
        (shape(2, "A"), shape(2, "B"), False),
        (shape(2), shape(3), False),
        (shape(2, replication=3), shape(2, replication=1), False),
        (shape(2, replication=3), json.dumps({"replicas": [[1, 2, 3], [2, 3, 1]]}), True),
        (shape(2, replication=3), json.dumps({"replicas": [[1, 2], [2, 3]]}), False),
        (shape(-1, replication=-1), shape(6, replication=3), True),
    ],
)
def test_only_fields_of_both_values_are_compared(one: str, other: str, same: bool) -> None:
    assert same_topic(one, other) is same
