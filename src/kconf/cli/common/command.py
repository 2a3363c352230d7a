"""Runs a command: it fills a `CommandResult`, which is printed even if the command fails."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from kconf.cli.output.formats import print_result
from kconf.cli.output.pipes import discard_output
from kconf.cli.output.result import CommandResult, Interrupted
from kconf.errors import KconfError

if TYPE_CHECKING:
    import argparse

Command = Callable[["argparse.Namespace", CommandResult], None]


def command(name: str, run: Command) -> Callable[[argparse.Namespace], int]:
    """The function that a parser runs, with the exit code as its result."""

    def run_command(options: argparse.Namespace) -> int:
        result = CommandResult(name, output=options.output)
        result.csv_guard = options.csv_guard
        try:
            run(options, result)
        except KconfError as error:
            result.error = error
        except KeyboardInterrupt:
            result.error = Interrupted("interrupted")
        if result.failed or result.error is not None:
            from kconf.cli.common.hints import hints

            result.hints = hints(options, result.failed, result.error)
        try:
            return print_result(result)
        except BrokenPipeError:  # the command has finished, even if nobody reads its output
            discard_output()
            with suppress(BrokenPipeError):  # as in `2>&1 | head`
                print_result(result)  # failures and notes, which are for stderr
            return result.exit_code()

    return run_command
