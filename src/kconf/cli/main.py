"""The program `kconf`: finds the command and runs it. A command's module is imported only when it runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Any, Final, NoReturn

from kconf.cli import collect_rarely
from kconf.cli.common.help import Help, ends_of, share_examples
from kconf.cli.common.program import Program, UsageError
from kconf.cli.output.safe_text import guarded_output
from kconf.errors import KconfError
from kconf.version import __version__

_VERSION: Final = f"kconf {__version__}"
OTHERS: Final = "Kafka-compatible commands"
GROUPS: Final[dict[str, dict[str, str]]] = {
    "configuration": {
        "context": "commands.context",
        "describe": "commands.describe",
        "explain": "commands.explain",
        **dict.fromkeys(("set", "unset", "append", "subtract"), "commands.alter"),
        "topic": "commands.topic",
        "quota": "commands.quota.main",
        "acl": "commands.acl",
        "scram": "commands.scram",
    },
    "declarative configuration": {
        "export": "commands.export",
        **dict.fromkeys(("plan", "apply"), "commands.plan"),
    },
    "change history": {
        **dict.fromkeys(("history", "blame"), "commands.history.history"),
        "diff": "commands.history.diff",
        "rollback": "commands.history.rollback",
        "watch": "commands.history.watch",
    },
    "KRaft clusters": {
        "follow": "commands.follow",
        "check": "commands.check",
    },
    "server": {
        "serve": "commands.serve",
        "console": "commands.console",
        "policy": "commands.policy",
        "backup": "commands.backup",
        "store": "commands.store",
        "archive": "commands.archive",
    },
    "data pipeline": {
        "snapshot": "commands.snapshot",
        "pipeline": "commands.pipeline",
        "lake": "commands.lake.main",
    },
    "interactive use": {
        "shell": "commands.shell",
        "completion": "commands.completion",
    },
    OTHERS: {
        "config-command": "compat.kip248.config_command",
        "kafka": "compat.kip21.command",
        "scram-credentials": "compat.kip248.scram_credentials",
    },
}
"""The commands by purpose, with their modules in this package. A module's `register` adds one or several commands."""
COMMANDS: Final = {name: module for group in GROUPS.values() for name, module in group.items()}

KAFKA_TOOLS: Final = {
    "kafka-configs": ("compat.kafka_configs.main", "kafka-configs.sh without the JVM"),
}
"""Kafka's own tools, which parse their arguments themselves."""
_OTHER_WORDS: Final = {
    "get": ("describe", "explain"),
    "show": ("describe", "explain"),
    "alter": ("set", "unset"),
    "configure": ("set",),
    "list": ("topic list", "describe"),
    "create": ("topic create",),
    "delete": ("unset", "topic delete"),
    "remove": ("unset", "topic delete"),
    "log": ("history",),
    "undo": ("rollback",),
    "revert": ("rollback",),
    "restore": ("rollback",),
    "import": ("apply",),
}
"""Command names of other tools, and the corresponding kconf commands."""
EPILOG: Final = """\
Use `kconf COMMAND --help` for options and examples.
Select the cluster with -b HOST:PORT or -C CONTEXT; the default is the current context.
"""


class _Parser(argparse.ArgumentParser):
    """Abbreviated options are rejected: --allow must not mean --allow-data-loss."""

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

    def _no_command(self, name: str) -> str:
        from difflib import get_close_matches

        names = [one for each in self._actions if isinstance(each, argparse._SubParsersAction) for one in each.choices]
        meant = [each for each in _OTHER_WORDS.get(name, ()) if each.partition(" ")[0] in names]
        near = [" or ".join(meant)] if meant else get_close_matches(name, names, n=1)
        return f"unknown command {name!r}; " + (f"did you mean {near[0]}?" if near else f"see {self.prog} --help")


class _TopParser(_Parser):
    """The parser of the program itself; its help lists the commands by purpose."""

    def format_help(self) -> str:
        found = next(each for each in self._actions if isinstance(each, argparse._SubParsersAction))
        about = {each.dest: each.help or "" for each in found._choices_actions}
        lines = [self.format_usage(), "", self.description or ""]
        for title, group in GROUPS.items():
            names = [*group, *(KAFKA_TOOLS if title == OTHERS else ())]
            lines += ["", f"{title}:", *(f"    {name:<19}{about[name]}" for name in names if name in about)]
        return "\n".join([*lines, "", self.epilog or "", ""]).replace("\n\n\n", "\n\n")


def parser(only: str | None = None) -> argparse.ArgumentParser:
    """The parser of all commands, or of one, which also creates `--help`."""
    top = _TopParser(
        prog="kconf",
        description="Manage the configuration of Kafka clusters: topics, brokers, quotas, ACLs and users.",
        epilog=EPILOG,
    )
    top.add_argument("--version", action="version", version=_VERSION)
    top.set_defaults(program=PROGRAM)
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=_Parser)
    for module in dict.fromkeys(COMMANDS.values() if only is None else [COMMANDS[only]]):
        import_module(f"kconf.cli.{module}").register(commands)
    if only is None:
        for name, (_, about) in KAFKA_TOOLS.items():
            commands.add_parser(name, help=about, add_help=False)
    share_examples(top)
    return top


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a command line; their `run` executes it. Raises `UsageError`."""
    first = arguments[0] if arguments else ""
    whole = parser(first if first in COMMANDS else None)
    if any("\udc80" <= character <= "\udcff" for each in arguments for character in each):
        raise UsageError(whole, "the command line is not UTF-8")
    if first.startswith("-") and first not in ("-h", "--help", "--version"):
        command = next((each for each in arguments if each in COMMANDS), "COMMAND")
        raise UsageError(whole, f"pass options after the command: kconf {command} {first} …")
    options, unparsed = whole.parse_known_args(arguments)
    place = getattr(options, "rest", None)
    if unparsed and (place is None or any(each.startswith("-") for each in unparsed)):
        raise UsageError(_parser_of(whole, arguments), f"unrecognized arguments: {' '.join(unparsed)}")
    if place is not None:
        getattr(options, place).extend(unparsed)  # argparse does not collect arguments that follow an option
    return options


PROGRAM: Final = Program(tuple(COMMANDS), tuple(KAFKA_TOOLS), parser, parse_arguments)


def _parser_of(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of the command that the arguments begin with."""
    for each in arguments:
        below = [found.choices for found in parser._actions if isinstance(found, argparse._SubParsersAction)]
        if not below or each not in below[0]:
            break
        parser = below[0][each]
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. 0: done; 1: it failed; 2: usage error; more in output/result.py."""
    collect_rarely()
    arguments = (sys.argv[1:] if argv is None else list(argv)) or ["--help"]
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name may not fit the terminal encoding
    with guarded_output():
        return _main(arguments)


def _main(arguments: list[str]) -> int:
    first = arguments[0]
    if first == "--version":  # without the parser, which imports all commands
        print(_VERSION)
        return 0
    if first in KAFKA_TOOLS:
        module = import_module(f"kconf.cli.{KAFKA_TOOLS[first][0]}")
        return int(module.main(arguments[1:]))
    try:
        options = parse_arguments(arguments)
        status = int(options.run(options))
        sys.stdout.flush()
    except BrokenPipeError:  # from a command that prints while it runs
        from kconf.cli.output.pipes import SIGPIPE_STATUS, discard_output

        discard_output()
        return SIGPIPE_STATUS
    except UsageError as error:
        return error.print(arguments)
    except KconfError as error:
        print(f"kconf: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return status


if __name__ == "__main__":
    sys.exit(main())
