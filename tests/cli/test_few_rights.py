"""A user with few rights, on a kconf server; on a real broker: tests/conformance/test_few_rights.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.commands.scenarios import People
from tests.cli.few_rights import SCENARIOS, Pair
from tests.security.conftest import certificates, secured  # noqa: F401 – fixtures
from tests.security.sasl_server import ALICE, ROOT, Secured, User


@pytest.fixture
def pair(secured: Secured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pair:  # noqa: F811
    def someone(user: User) -> People:
        directory = tmp_path / user.name
        directory.mkdir()
        properties = secured.java("SASL_PLAINTEXT", "PLAIN", user)
        return People(directory, secured.server.address("SASL_PLAINTEXT"), properties)

    return Pair(someone(ROOT), someone(ALICE), monkeypatch)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: str(each.__name__))
def test_a_scenario_succeeds(pair: Pair, scenario: Callable[[Pair], None]) -> None:
    scenario(pair)
