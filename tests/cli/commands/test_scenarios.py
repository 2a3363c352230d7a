"""The commands on a real kconf process; on real brokers: tests/conformance/test_commands.py."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cli.commands.scenarios import SCENARIOS, People


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: str(each.__name__))
def test_a_scenario_succeeds(people: People, scenario: Callable[[People], None]) -> None:
    scenario(people)
