"""History commands on a real kconf process; on real brokers: tests/conformance/test_history_commands.py."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cli.commands.scenarios import People
from tests.cli.history.scenarios import SCENARIOS, a_watch_tells_changes_as_they_come


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: str(each.__name__))
def test_a_scenario_succeeds(people: People, scenario: Callable[[People], None]) -> None:
    scenario(people)


def test_a_watch_follows_the_feed(people: People) -> None:
    lines = a_watch_tells_changes_as_they_come(people)

    assert {each["principal"] for each in lines} == {"User:ANONYMOUS"}


def test_nothing_is_recorded_for_a_server_with_a_journal(people: People) -> None:
    people.add_context("here", journal=str(people.directory / "journal"))
    people("topic create no-record-needed --partitions 1 --replication-factor 1")

    assert not (people.directory / "journal").exists()
    assert people.whole("history topic:no-record-needed")["source"] == "feed"
