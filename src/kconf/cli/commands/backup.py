"""`kconf backup`: copy a store, even while a server uses it."""

from __future__ import annotations

import argparse
from pathlib import Path

_EXAMPLES = """\
examples:
  kconf backup /backups/kconf-monday.db
  kconf backup --store sqlite:////var/lib/kconf/kconf.db /backups/kconf.db --force

The copy is a complete store. To restore it, stop the server, replace the store file and its .key file with the copy,
and start the server.
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "backup",
        help="back up a store, even while a server uses it",
        description="Make a consistent copy of a store, even while a server uses it.",
        epilog=_EXAMPLES,
    )
    command.add_argument("file", metavar="FILE", type=Path, help="file to write the copy to")
    command.add_argument(
        "--store", metavar="URL", default="sqlite:///kconf.db", help="the store to copy (default: %(default)s)"
    )
    command.add_argument("--force", action="store_true", help="replace FILE if it exists")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from kconf.store.registry import backup_store

    made = backup_store(options.store, options.file, overwrite=options.force)
    print(f"{options.file}: revision {made.revision}, {made.bytes} bytes")
    return 0
