"""Declarative files on a real broker with an authorizer; the same scenarios as on kconf."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.broker import KafkaBroker
from tests.cli.commands.stories import People
from tests.cli.declarative.apply_stories import APPLY_STORIES
from tests.cli.declarative.conftest import AUTHORIZER
from tests.cli.declarative.stories import STORIES
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


@pytest.mark.parametrize("story", [*STORIES, *APPLY_STORIES], ids=lambda each: str(each.__name__))
def test_a_story(people: People, story: Callable[[People], None]) -> None:
    story(people)
