"""What people's commands show on a terminal is what was looked at: tests/cli/screens.txt."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from kconf.cli.main import parser
from tests.cli.screens import GOLDEN, screens

TELL = "look at it by eye, and write it down with: python -m tests.cli.screens"


def test_the_screens_are_as_they_were_seen(tmp_path: Path) -> None:
    wanted = GOLDEN.read_text("utf-8").split("\n\n$ ")

    shown = "".join(screens(tmp_path)).split("\n\n$ ")

    assert [each for each in shown if each not in wanted] == [], TELL
    assert len(shown) == len(wanted), TELL


def test_only_text_that_cannot_be_broken_is_wider_than_the_terminal() -> None:
    tables = [line for line in GOLDEN.read_text("utf-8").splitlines() if "  " in line and not line.startswith("$")]

    assert [line for line in tables if len(line) > 80] == []


def leaves(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parsers that have no verbs below them."""
    below = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    for verb in [verb for each in below for verb in each.choices.values()]:
        yield from leaves(verb)
    if not below and parser.add_help:
        yield parser


def test_the_help_of_every_command_and_verb_has_examples_of_it() -> None:
    texts = {each.prog: each.format_help() for each in leaves(parser())}

    assert len(texts) > 50
    assert [prog for prog, text in texts.items() if f"\n  {prog}" not in text.partition("examples:")[2]] == []
