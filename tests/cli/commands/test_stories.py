"""The commands on a real kconf process; on real brokers: tests/conformance/test_commands.py."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cli.commands.stories import STORIES, People


@pytest.mark.parametrize("story", STORIES, ids=lambda each: str(each.__name__))
def test_a_story(people: People, story: Callable[[People], None]) -> None:
    story(people)
