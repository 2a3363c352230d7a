"""The program `kconf`: finds the command and calls it. Commands are imported when they are asked for."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Any, Final, NoReturn

from kconf.errors import KconfError
from kconf.version import __version__

COMMANDS: Final = {
    "context": "people.context",
    "describe": "people.describe",
    **dict.fromkeys(("set", "unset", "append", "subtract"), "people.alter"),
    "explain": "people.explain",
    "topic": "people.topic",
    "acl": "people.acl",
    "scram": "people.scram",
    "export": "declare.export",
    **dict.fromkeys(("plan", "apply"), "declare.plan"),
    "snapshot": "declare.snapshot",
    "diff": "past.diff",
    **dict.fromkeys(("history", "blame"), "past.history"),
    "rollback": "past.rollback",
    "watch": "past.watch",
    "shell": "people.shell",
    "completion": "people.completion",
    "serve": "serve",
    "backup": "backup",
    "store": "store",
    "archive": "archive",
    "lake": "lake.main",
    "policy": "policy",
    "quota": "quota",
    "config-command": "config_command",
    "kafka": "kafka",
    "scram-credentials": "scram_credentials",
}
"""The module of each in this package; it has `add_to`, which may add several commands at once."""

KAFKAS: Final = {
    "kafka-configs": ("kafka_configs.main", "Kafka's own configuration command, for any cluster"),
}
"""Commands in the style of others: they read their command line themselves."""


class Misused(Exception):
    """A command line that makes no sense, and the parser that says so."""

    def __init__(self, parser: argparse.ArgumentParser, message: str) -> None:
        super().__init__(message)
        self.parser = parser

    def tell(self, words: Sequence[str]) -> int:
        """The usage and a sentence, or where JSON was asked for an object that says it."""
        if "json" in words or any(word.endswith("=json") for word in words):
            from kconf.cli.people.answers import Answer
            from kconf.errors import ConfigurationError

            answer = Answer(self.parser.prog.removeprefix("kconf").strip(), output="json")
            answer.trouble = ConfigurationError(str(self))
            return answer.tell()
        self.parser.print_usage(sys.stderr)
        print(f"{self.parser.prog}: error: {self}", file=sys.stderr)
        return 2


class _Parser(argparse.ArgumentParser):
    """Options are written out: --allow must not be taken for --allow-data-loss."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **options})

    def error(self, message: str) -> NoReturn:
        raise Misused(self, message)


def parser(only: str | None = None) -> argparse.ArgumentParser:
    """All commands and their options, or those of one; `--help` is made from it."""
    top = _Parser(prog="kconf", description="The configuration plane of Kafka.")
    top.add_argument("--version", action="version", version=f"kconf {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in dict.fromkeys(COMMANDS.values() if only is None else [COMMANDS[only]]):
        import_module(f"kconf.cli.{module}").add_to(commands)
    if only is None:
        for name, (_, about) in KAFKAS.items():
            commands.add_parser(name, help=about, add_help=False)
    return top


def read_words(words: Sequence[str]) -> argparse.Namespace:
    """A command line as options, of which `run` carries it out; `Misused` where it makes no sense."""
    first = words[0] if words else ""
    whole = parser(first if first in COMMANDS else None)
    if any("\udc80" <= character <= "\udcff" for word in words for character in word):
        raise Misused(whole, "the command line is not UTF-8")
    options, stragglers = whole.parse_known_args(words)
    place = getattr(options, "rest", None)
    if stragglers and (place is None or any(word.startswith("-") for word in stragglers)):
        raise Misused(whole, f"unrecognized arguments: {' '.join(stragglers)}")
    if place is not None:
        getattr(options, place).extend(stragglers)  # argparse takes words behind an option for another argument's
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. 0: done; 1: it failed; 2: it was asked for wrongly; more in people/answers.py."""
    words = sys.argv[1:] if argv is None else list(argv)
    first = words[0] if words else ""
    if first in KAFKAS:
        module = import_module(f"kconf.cli.{KAFKAS[first][0]}")
        return int(module.main(words[1:]))
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name may have characters that a terminal has not
    try:
        options = read_words(words)
        status = int(options.run(options))
        sys.stdout.flush()
    except BrokenPipeError:  # `| head` has seen enough
        import os

        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Misused as error:
        return error.tell(words)
    except KconfError as error:
        print(f"kconf: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return status


if __name__ == "__main__":
    sys.exit(main())
