"""History commands on real brokers without a journal: kconf records its own changes and shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.broker import KafkaBroker
from tests.cli.commands.scenarios import People
from tests.cli.declarative.conftest import AUTHORIZER
from tests.cli.history.scenarios import SCENARIOS, SECRET, a_watch_tells_changes_as_they_come


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    with KafkaBroker(properties=AUTHORIZER) as found:
        yield found


@pytest.fixture
def people(broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> People:
    found = People(tmp_path, broker.bootstrap)
    found.add_context("here", journal=str(tmp_path / "journal"))
    monkeypatch.setenv("KCONF_CONFIG", str(found.config))
    monkeypatch.delenv("KCONF_CONTEXT", raising=False)
    return found


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: str(each.__name__))
def test_a_scenario_succeeds_and_its_journal_has_no_secret(people: People, scenario: Callable[[People], None]) -> None:
    scenario(people)

    files = [each for each in (people.directory / "journal").rglob("*") if each.is_file()]
    assert files
    assert not [each for each in files if SECRET.encode() in each.read_bytes()]


def test_a_watch_polls_and_reports_its_cost(people: People) -> None:
    lines = a_watch_tells_changes_as_they_come(people, "--every", "1s", "--key", "segment.ms")

    assert {each["origin"] for each in lines} == {"outside"}
    assert "--every" in people("watch topic:x", status=2).err


def test_history_without_a_journal_is_refused(people: People) -> None:
    people.add_context("here")

    told = people.whole("history topic:x", status=2)

    assert "has no journal" in told["message"]
