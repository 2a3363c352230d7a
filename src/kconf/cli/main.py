"""The program `kconf`: finds the command and calls it. Commands are imported when they are asked for."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from kconf.errors import KconfError
from kconf.version import __version__

COMMANDS: Final = {
    "context": "people.context",
    "describe": "people.describe",
    **dict.fromkeys(("set", "unset", "append", "subtract"), "people.alter"),
    "explain": "people.explain",
    "topic": "people.topic",
    "acl": "people.acl",
    "serve": "serve",
    "backup": "backup",
    "store": "store",
    "archive": "archive",
    "policy": "policy",
    "quota": "quota",
    "config-command": "config_command",
    "kafka": "kafka",
    "scram": "people.scram",
    "scram-credentials": "scram_credentials",
}
"""The module of each in this package; it has `add_to`, which may add several commands at once."""

KAFKAS: Final = {
    "kafka-configs": ("kafka_configs.main", "Kafka's own configuration command, for any cluster"),
}
"""Commands in the style of others: they read their command line themselves."""


def parser(only: str | None = None) -> argparse.ArgumentParser:
    """All commands and their options, or those of one; `--help` is made from it."""
    top = argparse.ArgumentParser(prog="kconf", description="The configuration plane of Kafka.")
    top.add_argument("--version", action="version", version=f"kconf {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in dict.fromkeys(COMMANDS.values() if only is None else [COMMANDS[only]]):
        import_module(f"kconf.cli.{module}").add_to(commands)
    if only is None:
        for name, (_, about) in KAFKAS.items():
            commands.add_parser(name, help=about, add_help=False)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. 0: done; 1: it failed; 2: it was asked for wrongly; more in people/answers.py."""
    words = sys.argv[1:] if argv is None else list(argv)
    first = words[0] if words else ""
    if first in KAFKAS:
        module = import_module(f"kconf.cli.{KAFKAS[first][0]}")
        return int(module.main(words[1:]))
    options = parser(first if first in COMMANDS else None).parse_args(words)
    try:
        status = int(options.run(options))
        sys.stdout.flush()
    except BrokenPipeError:  # `| head` has seen enough
        import os

        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KconfError as error:
        print(f"kconf: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return status


if __name__ == "__main__":
    sys.exit(main())
