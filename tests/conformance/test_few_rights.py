"""A user with few rights on a real broker with an authorizer; the same scenarios as on kconf."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.broker import KafkaBroker
from tests.cli.commands.scenarios import People
from tests.cli.declarative.conftest import AUTHORIZER
from tests.cli.few_rights import ALICE, SCENARIOS, Pair, blame_says_what_it_could_not_read

LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    properties = {
        **AUTHORIZER,
        "super.users": "User:ANONYMOUS",
        "listener.name.sasl.plain.sasl.jaas.config": f'{LOGIN} user_{ALICE}="secret";',
        "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN",
    }
    with KafkaBroker(listeners={"SASL": "SASL_PLAINTEXT"}, properties=properties) as made:
        yield made


@pytest.fixture
def pair(broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pair:
    login = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{LOGIN} username="{ALICE}" password="secret";',
    }
    for name in ("root", "alice"):
        (tmp_path / name).mkdir()
    root = People(tmp_path / "root", broker.bootstrap)
    return Pair(root, People(tmp_path / "alice", broker.address("SASL"), login), monkeypatch)


@pytest.mark.parametrize(
    "scenario", [*SCENARIOS, blame_says_what_it_could_not_read], ids=lambda each: str(each.__name__)
)
def test_a_scenario_succeeds(pair: Pair, scenario: Callable[[Pair], None]) -> None:
    scenario(pair)
