"""`kconf shell`: run commands, one per line, against one cluster. Completes names, keys and values.

A line is a command line without `kconf`; `-C` and `-b` need not be repeated. At a terminal an error does not end the
session; a script stops at the first one, with its exit code.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterable, Iterator
from typing import Final

from kconf.cli.common.target import add_target, target
from kconf.errors import ConfigurationError, KconfError

EXAMPLES: Final = """\
examples:
  kconf shell -C local
  kconf shell -C local --keep-going
"""
HELP: Final = """\
describe topic:orders          show configs; every kconf command works here, without the word kconf
set topic:orders segment.ms=1h change a config
explain segment.ms             show what a key means
use CONTEXT                    switch to another cluster; context use CONTEXT also saves it as current context
help COMMAND                   show the help of a command
exit"""
_NOT_HERE: Final = ("serve", "shell")


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "shell",
        help="interactive shell with completion",
        description="Run commands interactively against one cluster, or from standard input, one per line.",
        epilog=EXAMPLES,
    )
    parser.add_argument("--keep-going", action="store_true", help="in a script, continue after an error")
    add_target(parser)
    parser.set_defaults(run=run)


class Shell:
    """A session on one cluster."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options, self._name = _pinned(options)

    @property
    def prompt(self) -> str:
        return f"{self._name}> "

    def suggestions(self, line: str) -> Iterator[str]:
        from kconf.cli.common.completion import suggestions

        options = self._options
        where = [
            word
            for name, value in (
                ("-C", options.context),
                ("-b", options.bootstrap_server),
                ("--command-config", options.command_config),
            )
            if value is not None
            for word in (name, value)
        ]
        return suggestions(options.program, line, where)

    def run(self, line: str) -> int:
        """Run one line; returns its exit code. Raises EOFError at the end."""
        try:
            arguments = shlex.split(line, comments=True)
        except ValueError as error:
            return _print_error(f"cannot parse the line: {error}")
        match arguments:
            case []:
                return 0
            case ["exit" | "quit"]:
                raise EOFError
            case ["help"]:
                print(HELP)
                return 0
            case ["help", *rest]:
                return self._run([*rest, "--help"])
            case ["use", name]:
                return self._use(name)
            case [first, *_] if first in _NOT_HERE:
                return _print_error(f"{first} is not available in the shell")
            case _:
                return self._run(arguments)

    def _use(self, name: str) -> int:
        fields = {**vars(self._options), "context": name, "bootstrap_server": None, "command_config": None}
        try:
            self._options, self._name = _pinned(argparse.Namespace(**fields))
        except ConfigurationError as error:
            return _print_error(str(error))
        return 0

    def _run(self, arguments: list[str]) -> int:
        from kconf.cli.common.program import UsageError

        try:
            options = self._options.program.parse(arguments)
            self._fill(options)
            status = int(options.run(options))
            return status or self._follow(arguments, options)
        except UsageError as error:
            return error.print(arguments)
        except KconfError as error:
            return _print_error(str(error), 1)
        except SystemExit as error:  # --help
            return int(error.code or 0)

    def _follow(self, arguments: list[str], options: argparse.Namespace) -> int:
        """Switch the session to the new current context."""
        match arguments:
            case ["context", "use", *_]:
                return self._use(options.name)
            case ["context", "add", *_] if options.use:
                return self._use(options.name)
            case _:
                return 0

    def _fill(self, options: argparse.Namespace) -> None:
        """Add the cluster of the session to a command that needs one and does not name it."""
        given = vars(options)
        if "bootstrap_server" in given and given.get("context") is None and given["bootstrap_server"] is None:
            for each in ("context", "bootstrap_server", "command_config", "timeout"):
                if given.get(each) is None:
                    setattr(options, each, getattr(self._options, each))


def _pinned(options: argparse.Namespace) -> tuple[argparse.Namespace, str]:
    """The options with an explicit cluster, and its name: the session stays on it if the current context changes."""
    found = target(options)
    if options.bootstrap_server is not None:
        return options, found.name
    if found.context.name:
        return argparse.Namespace(**{**vars(options), "context": found.context.name}), found.name
    return argparse.Namespace(**{**vars(options), "bootstrap_server": found.context.bootstrap}), found.name


def run(options: argparse.Namespace) -> int:
    try:
        shell = Shell(options)
    except ConfigurationError as error:
        return _print_error(str(error))
    if sys.stdin.isatty():
        _run_lines(shell, _typed(shell), stops=False)
        return 0
    return _run_lines(shell, sys.stdin, stops=not options.keep_going)


def _typed(shell: Shell) -> Iterable[str]:
    from kconf.cli.terminal.line_reader import read_lines

    return read_lines(shell)


def _run_lines(shell: Shell, given: Iterable[str], *, stops: bool) -> int:
    worst = 0
    for line in given:
        try:
            status = shell.run(line)
        except EOFError:
            break
        worst = worst or status
        if status and stops:
            break
    return worst


def _print_error(message: str, status: int = 2) -> int:
    print(f"kconf: {message}", file=sys.stderr)
    return status
