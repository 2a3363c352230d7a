"""Declarative files on a real kconf server; on real brokers: tests/conformance/test_declare.py."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cli.commands.scenarios import People
from tests.cli.declarative.apply_scenarios import APPLY_SCENARIOS
from tests.cli.declarative.scenarios import SCENARIOS


@pytest.mark.parametrize("scenario", [*SCENARIOS, *APPLY_SCENARIOS], ids=lambda each: str(each.__name__))
def test_a_scenario_succeeds(people: People, scenario: Callable[[People], None]) -> None:
    scenario(people)
