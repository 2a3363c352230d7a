"""The terminal output of commands equals tests/cli/screens.txt, which is reviewed by hand."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kconf.cli.common.help import ends_of
from kconf.cli.main import COMMANDS, parser
from tests.cli.screens import GOLDEN, screens

ROOT = Path(__file__).parents[2]
TELL = "look at it by eye, and write it down with: python -m tests.cli.screens"


def test_the_screens_are_unchanged(tmp_path: Path) -> None:
    wanted = GOLDEN.read_text("utf-8").split("\n\n$ ")

    shown = "".join(screens(tmp_path)).split("\n\n$ ")

    assert [each for each in shown if each not in wanted] == [], TELL
    assert len(shown) == len(wanted), TELL


def test_only_text_that_cannot_be_broken_is_wider_than_the_terminal() -> None:
    tables = [line for line in GOLDEN.read_text("utf-8").splitlines() if "  " in line and not line.startswith("$")]

    assert len(tables) > 50
    assert [line for line in tables if len(line) > 80] == []


def leaves(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parsers without subcommands."""
    below = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    for verb in [verb for each in below for verb in each.choices.values()]:
        yield from leaves(verb)
    if not below and parser.add_help:
        yield parser


def test_the_help_of_every_command_and_verb_has_all_sections() -> None:
    """Like a man page: synopsis, description, options, examples, exit codes, see also."""
    found = list(leaves(parser()))
    assert len(found) > 50
    for each in found:
        text = each.format_help()
        parts = (
            "usage: ",
            f"\n{(each.description or '?').split()[0]} ",
            "-h, --help",
            "examples:",
            "exit codes: 0 ",
            "see also: ",
        )
        places = [text.find(part) for part in parts]
        assert places == sorted(places), (each.prog, places)
        assert -1 not in places, (each.prog, places)


def test_pages_and_commands_that_help_names_exist() -> None:
    ends = [ends_of(each)[1] for each in leaves(parser())]
    pages = {page for end in ends for page in re.findall(r"docs/[\w/-]+\.md", end)}
    commands = {name for end in ends for name in re.findall(r"kconf ([\w-]+)", end)}

    assert len(pages) > 10
    assert {page for page in pages if not (ROOT / page).is_file()} == set()
    assert commands - set(COMMANDS) == set()


def test_sentences_of_help_fit_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples are not wrapped."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = [(each.prog, line) for each in leaves(parser()) for line in each.format_help().splitlines()]

    assert len(lines) > 1000
    assert [line for line in lines if len(line[1]) > 80 and not line[1].startswith("  ")] == []


def test_the_help_of_every_command_and_verb_has_examples_of_it() -> None:
    texts = {each.prog: each.format_help() for each in leaves(parser())}

    assert len(texts) > 50
    assert [prog for prog, text in texts.items() if f"\n  {prog}" not in text.partition("examples:")[2]] == []
