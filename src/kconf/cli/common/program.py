"""The interface of the program for its commands: the shell runs other commands, and completion reads parsers."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple


class Program(NamedTuple):
    """`commands` are those with a parser; `parser` returns the parser of all or one. Available as `options.program`."""

    commands: Collection[str]
    kafka_tools: Collection[str]
    parser: Callable[[str | None], argparse.ArgumentParser]
    parse: Callable[[Sequence[str]], argparse.Namespace]


class UsageError(Exception):
    """Invalid arguments, and the parser that rejected them."""

    def __init__(self, parser: argparse.ArgumentParser, message: str) -> None:
        super().__init__(message)
        self.parser = parser

    def print(self, arguments: Sequence[str]) -> int:
        """Print the message and a pointer to help, or a JSON object if JSON was requested. Returns the exit code."""
        if "json" in arguments or any(each.endswith("=json") for each in arguments):
            from kconf.cli.output.formats import print_result
            from kconf.cli.output.result import CommandResult
            from kconf.errors import ConfigurationError

            result = CommandResult(self.parser.prog.removeprefix("kconf").strip(), output="json")
            result.error = ConfigurationError(str(self))
            return print_result(result)
        more = "" if ";" in str(self) else f"; see {self.parser.prog} --help"
        print(f"{self.parser.prog}: {self}{more}", file=sys.stderr)
        return 2
