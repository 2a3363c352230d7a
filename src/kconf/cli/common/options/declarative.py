"""The options of commands that read declarative files."""

from __future__ import annotations

import argparse


def add_files(parser: argparse._ActionsContainer, *, required: bool) -> None:
    parser.add_argument(
        "-f",
        "--file",
        metavar="DIR|FILE",
        action="append",
        required=required,
        help="declarative file or directory; may be repeated",
    )


def add_prune(parser: argparse.ArgumentParser) -> None:
    words = "topics, users, acls, quotas"
    add = parser.add_argument_group("resources that no file declares").add_argument
    about = (
        "remove overrides that no file declares, inside `selector:` or, without a selector, on declared resources; "
        f"=WORD,… also removes undeclared {words}"
    )
    add("--prune", metavar="WORD,…", nargs="?", const="", help=about)
    add(
        "--max-deletes",
        metavar="N",
        type=int,
        default=10,
        help="fail if the plan removes more than N items (default: 10)",
    )
