"""The program `kconf`: finds the command and calls it. Commands are imported when they are asked for."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from kconf.errors import KconfError
from kconf.version import __version__


def parser() -> argparse.ArgumentParser:
    """All commands and their options; `--help` is made from it, and so is docs/reference/cli.md."""
    from kconf.cli import backup, policy, serve

    top = argparse.ArgumentParser(prog="kconf", description="The configuration plane of Kafka.")
    top.add_argument("--version", action="version", version=f"kconf {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    serve.add_to(commands)
    backup.add_to(commands)
    policy.add_to(commands)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. 0: done; 1: it failed; 2: it was asked for wrongly."""
    options = parser().parse_args(argv)
    try:
        return int(options.run(options))
    except KconfError as error:
        print(f"kconf: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
