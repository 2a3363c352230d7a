"""The program `kconf`: finds the command and calls it. Commands are imported when they are asked for."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Any, Final, NoReturn

from kconf.cli.common.help import Help, ends_of, share_examples
from kconf.errors import KconfError
from kconf.version import __version__

OTHERS: Final = "in the words of others"
GROUPS: Final[dict[str, dict[str, str]]] = {
    "look and change": {
        "context": "commands.context",
        "describe": "commands.describe",
        "explain": "commands.explain",
        **dict.fromkeys(("set", "unset", "append", "subtract"), "commands.alter"),
        "topic": "commands.topic",
        "quota": "commands.quota.main",
        "acl": "commands.acl",
        "scram": "commands.scram",
    },
    "a cluster as files": {
        "export": "commands.export",
        **dict.fromkeys(("plan", "apply"), "commands.plan"),
    },
    "the past": {
        **dict.fromkeys(("history", "blame"), "commands.history.history"),
        "diff": "commands.history.diff",
        "rollback": "commands.history.rollback",
        "watch": "commands.history.watch",
    },
    "a server": {
        "serve": "commands.serve",
        "policy": "commands.policy",
        "backup": "commands.backup",
        "store": "commands.store",
        "archive": "commands.archive",
    },
    "many clusters": {
        "snapshot": "commands.snapshot",
        "pipeline": "commands.pipeline",
        "lake": "commands.lake.main",
    },
    "at the prompt": {
        "shell": "commands.shell",
        "completion": "commands.completion",
    },
    OTHERS: {
        "config-command": "compat.kip248.config_command",
        "kafka": "compat.kip21.command",
        "scram-credentials": "compat.kip248.scram_credentials",
    },
}
"""The commands by purpose, each with its module in this package, which has `register` and may add several at once."""
COMMANDS: Final = {name: module for group in GROUPS.values() for name, module in group.items()}

KAFKAS: Final = {
    "kafka-configs": ("compat.kafka_configs.main", "Kafka's own configuration command, for any cluster"),
}
"""More of those in the words of others: they read their command line themselves."""
EPILOG: Final = """\
`kconf COMMAND --help` has the options, and examples.
Which cluster: -b HOST:PORT, or -C NAME, a context; else the current context.
"""


class UsageError(Exception):
    """A command line that makes no sense, and the parser that says so."""

    def __init__(self, parser: argparse.ArgumentParser, message: str) -> None:
        super().__init__(message)
        self.parser = parser

    def tell(self, words: Sequence[str]) -> int:
        """A sentence and where to look, or where JSON was asked for an object that says it."""
        if "json" in words or any(word.endswith("=json") for word in words):
            from kconf.cli.output.result import CommandResult
            from kconf.errors import ConfigurationError

            answer = CommandResult(self.parser.prog.removeprefix("kconf").strip(), output="json")
            answer.trouble = ConfigurationError(str(self))
            return answer.tell()
        more = "" if ";" in str(self) else f"; {self.parser.prog} --help tells what it takes"
        print(f"{self.parser.prog}: {self}{more}", file=sys.stderr)
        return 2


class _Parser(argparse.ArgumentParser):
    """Options are written out: --allow must not be taken for --allow-data-loss."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **options, "formatter_class": Help})

    def format_help(self) -> str:
        from shutil import get_terminal_size
        from textwrap import fill

        width = get_terminal_size().columns - 2
        ends = [fill(each, width, subsequent_indent="  ", break_on_hyphens=False) for each in ends_of(self)]
        return "\n".join([super().format_help(), *ends, ""])

    def error(self, message: str) -> NoReturn:
        import re

        unknown = re.match("argument COMMAND: invalid choice: '(.*?)'", message)
        raise UsageError(self, message if unknown is None else self._no_command(unknown[1]))

    def _no_command(self, word: str) -> str:
        from difflib import get_close_matches

        names = [
            name for each in self._actions if isinstance(each, argparse._SubParsersAction) for name in each.choices
        ]
        near = get_close_matches(word, names, n=1)
        return f"there is no command {word!r}; " + (
            f"did you mean {near[0]}?" if near else f"{self.prog} --help lists them"
        )


class _Top(_Parser):
    """The program itself: its help has the commands by purpose."""

    def format_help(self) -> str:
        found = next(each for each in self._actions if isinstance(each, argparse._SubParsersAction))
        about = {each.dest: each.help or "" for each in found._choices_actions}
        lines = [self.format_usage(), "", self.description or ""]
        for title, group in GROUPS.items():
            names = [*group, *(KAFKAS if title == OTHERS else ())]
            lines += ["", f"{title}:", *(f"    {name:<19}{about[name]}" for name in names if name in about)]
        return "\n".join([*lines, "", self.epilog or "", ""]).replace("\n\n\n", "\n\n")


def parser(only: str | None = None) -> argparse.ArgumentParser:
    """All commands and their options, or those of one; `--help` is made from it."""
    top = _Top(prog="kconf", description="The configuration plane of Kafka.", epilog=EPILOG)
    top.add_argument("--version", action="version", version=f"kconf {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=_Parser)
    for module in dict.fromkeys(COMMANDS.values() if only is None else [COMMANDS[only]]):
        import_module(f"kconf.cli.{module}").register(commands)
    if only is None:
        for name, (_, about) in KAFKAS.items():
            commands.add_parser(name, help=about, add_help=False)
    share_examples(top)
    return top


def read_words(words: Sequence[str]) -> argparse.Namespace:
    """A command line as options, of which `run` carries it out; `UsageError` where it makes no sense."""
    first = words[0] if words else ""
    whole = parser(first if first in COMMANDS else None)
    if any("\udc80" <= character <= "\udcff" for word in words for character in word):
        raise UsageError(whole, "the command line is not UTF-8")
    options, stragglers = whole.parse_known_args(words)
    place = getattr(options, "rest", None)
    if stragglers and (place is None or any(word.startswith("-") for word in stragglers)):
        raise UsageError(_asked(whole, words), f"unrecognized arguments: {' '.join(stragglers)}")
    if place is not None:
        getattr(options, place).extend(stragglers)  # argparse takes words behind an option for another argument's
    return options


def _asked(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of the command that the words begin with."""
    for each in words:
        below = [found.choices for found in parser._actions if isinstance(found, argparse._SubParsersAction)]
        if not below or each not in below[0]:
            break
        parser = below[0][each]
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. 0: done; 1: it failed; 2: it was asked for wrongly; more in output/result.py."""
    words = (sys.argv[1:] if argv is None else list(argv)) or ["--help"]
    first = words[0]
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
    except UsageError as error:
        return error.tell(words)
    except KconfError as error:
        print(f"kconf: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return status


if __name__ == "__main__":
    sys.exit(main())
