"""Output on a terminal: prompts, colors, tables that fit, progress bars."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import pytest

from tests.cli.commands.scenarios import People, a_name
from tests.support.terminal import Terminal


def terminal(*words: str, columns: int = 120, environment: Mapping[str, str] | None = None) -> Terminal:
    return Terminal([sys.executable, "-m", "kconf", *words], columns=columns, environment=environment)


@pytest.mark.parametrize(("answer", "status", "done"), [("y", 0, True), ("n", 2, False), ("", 2, False)])
def test_a_pattern_needs_confirmation(people: People, answer: str, status: int, done: bool) -> None:
    prefix = a_name("q")
    people.topics(f"{prefix}.a", f"{prefix}.b")
    with terminal("set", f"topic:{prefix}.*", "segment.ms=1h") as screen:
        screen.expect(f"topic:{prefix}.b")
        screen.expect("Change 2 topics on here? [y/N]")
        screen.type(f"{answer}\r")
        assert screen.end() == status
    assert bool(people.overrides(f"topic:{prefix}.a")) is done


@pytest.mark.parametrize(("answer", "status"), [("prod", 0), ("prud", 2)])
def test_a_protected_context_asks_for_its_name(people: People, answer: str, status: int) -> None:
    name = a_name()
    people.topics(name)
    people.add_context("prod", protected=True)
    with terminal("set", f"topic:{name}", "segment.ms=1h", "-C", "prod") as screen:
        screen.expect("type its name:")
        screen.type(f"{answer}\r")
        assert screen.end() == status
    assert bool(people.overrides(f"topic:{name}")) is (status == 0)


def test_a_table_is_not_wider_than_the_terminal(people: People) -> None:
    name = a_name()
    people.topics(name)
    with terminal("describe", f"topic:{name}", "--all", columns=60, environment={"NO_COLOR": "1"}) as screen:
        assert screen.end() == 0
    lines = screen.screen.splitlines()
    assert len(lines) > 33
    assert max(map(len, lines)) <= 60
    assert "\x1b" not in screen.screen


def test_colors_are_printed_only_on_a_terminal(people: People) -> None:
    name = a_name()
    people.topics(name)
    with terminal("describe", f"topic:{name}", "--all") as screen:
        assert screen.end() == 0
    assert "\x1b[1m" in screen.screen
    assert "\x1b" not in people(f"describe topic:{name} --all").out


def test_a_progress_bar_shows_how_many_changes_are_done(people: People) -> None:
    prefix = a_name("bar")
    people.topics(*(f"{prefix}.{number}" for number in range(300)))
    with terminal("set", f"topic:{prefix}.*", "segment.ms=1h", "--yes", "--rate", "200") as screen:
        screen.expect("0/300")
        screen.expect("200/300")
        screen.expect("300/300")
        assert screen.end() == 0


def test_the_prompt_for_a_secret_does_not_echo_it(people: People) -> None:
    with terminal("scram", "set", "--user", a_name("u")) as screen:
        screen.expect("Password for")
        screen.type("s3cret-word\r")
        screen.expect("Repeat password:")
        screen.type("s3cret-word\r")
        assert screen.end() == 0
    assert "s3cret-word" not in screen.screen
