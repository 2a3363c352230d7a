"""Declarative files on a real kconf server; on real brokers: tests/conformance/test_declare.py."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cli.commands.stories import People
from tests.cli.declarative.apply_stories import APPLY_STORIES
from tests.cli.declarative.stories import STORIES


@pytest.mark.parametrize("story", [*STORIES, *APPLY_STORIES], ids=lambda each: str(each.__name__))
def test_a_story(people: People, story: Callable[[People], None]) -> None:
    story(people)
