"""`kconf backup`: copy a store, also while a server uses it."""

from __future__ import annotations

import argparse
from pathlib import Path

_EXAMPLES = """\
examples:
  kconf backup /backups/kconf-monday.db
  kconf backup --store sqlite:////var/lib/kconf/kconf.db /backups/kconf.db --force

The copy is a whole store: stop the server, put it in place of the old file, with its .key file, and start again.
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "backup",
        help="copy a store consistently, also while a server uses it",
        description="Copy a store consistently, also while a server uses it.",
        epilog=_EXAMPLES,
    )
    command.add_argument("file", metavar="FILE", type=Path, help="where the copy goes")
    command.add_argument(
        "--store", metavar="URL", default="sqlite:///kconf.db", help="the store to copy (default: %(default)s)"
    )
    command.add_argument("--force", action="store_true", help="replace FILE if it is there")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from kconf.store.registry import backup_store

    made = backup_store(options.store, options.file, overwrite=options.force)
    print(f"{options.file}: revision {made.revision}, {made.bytes} bytes")
    return 0
