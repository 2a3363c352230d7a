"""One console for all tests here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab.broker import KafkaBroker
from tests.conformance.console.world import World, console_world


@pytest.fixture(scope="package")
def world(kafka_431: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with console_world(kafka_431, tmp_path_factory.mktemp("console")) as found:
        yield found
