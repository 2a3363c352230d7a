"""Declarative files on a real broker with an authorizer; the same scenarios as on kconf."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.broker import KafkaBroker
from tests.cli.commands.scenarios import People
from tests.cli.declarative.apply_scenarios import APPLY_SCENARIOS
from tests.cli.declarative.conftest import AUTHORIZER
from tests.cli.declarative.scenarios import SCENARIOS
from tests.support.targets import one_of


@pytest.fixture(scope="module", params=one_of("4.3.1", ["3.9.2"]))
def broker(request: pytest.FixtureRequest) -> Iterator[KafkaBroker]:
    with KafkaBroker(request.param, properties=AUTHORIZER) as found:
        yield found


@pytest.fixture
def people(broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> People:
    found = People(tmp_path, broker.bootstrap)
    monkeypatch.setenv("KCONF_CONFIG", str(found.config))
    monkeypatch.delenv("KCONF_CONTEXT", raising=False)
    return found


@pytest.mark.parametrize("scenario", [*SCENARIOS, *APPLY_SCENARIOS], ids=lambda each: str(each.__name__))
def test_a_scenario_succeeds(people: People, scenario: Callable[[People], None]) -> None:
    scenario(people)
