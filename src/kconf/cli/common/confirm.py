"""Confirmation of changes, and the options of every command that makes changes.

A change to one named resource needs no confirmation. For a pattern, a default or several resources the plan is printed
and confirmed. If stdin is not a terminal, `--yes` confirms, or `--confirm NAME` for a protected context; otherwise
nothing is changed and the exit code is 2.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kconf.cli.common.plan_output import plan_lines
from kconf.errors import ConfigurationError
from kconf.operations.errors import Aborted
from kconf.operations.risks.allowed import MARK

if TYPE_CHECKING:
    from kconf.cli.output.result import ResultColumn
    from kconf.operations.execute import Confirm
    from kconf.operations.planned_change import PlannedChange
    from kconf.operations.target import Target

_MAX_LINES: Final = 200  # lines of a plan shown for confirmation; `--dry-run` prints all


def add_change(parser: argparse.ArgumentParser) -> None:
    """The options of every command that changes something."""
    add = parser.add_argument_group("safety").add_argument
    add(
        "--dry-run",
        action="store_true",
        help="show what would change, validated by the server and the policy; change nothing",
    )
    add("-y", "--yes", action="store_true", help="do not ask for confirmation")
    add("--confirm", metavar="NAME", help="confirm with the context's name, as protected contexts require")
    add(
        "--allow-data-loss",
        action="store_true",
        help=f"also make changes marked '{MARK}'; same as --allow-risk data-loss",
    )
    add(
        "--allow-risk",
        metavar="NAME,…",
        action="append",
        default=[],
        help="also make changes marked '! NAME'; may be repeated; `kconf explain --risks` lists the names",
    )
    add("--reason", metavar="TEXT", help="reason, recorded in the journal")


def add_bulk(parser: argparse.ArgumentParser) -> None:
    """The options of commands that may change thousands of resources."""
    add = parser.add_argument_group("bulk changes").add_argument
    add("--rate", metavar="N", type=_rate, help="maximum number of resources changed per second")
    add("--resume", metavar="FILE", help="record completed changes in this file, and skip those it already lists")


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return rate


def confirmation(target: Target, options: argparse.Namespace, columns: Sequence[ResultColumn]) -> Confirm:
    """Confirms a plan at the terminal, or with the options."""
    context = target.context

    def confirm(changes: Sequence[PlannedChange], summary: str, *, required: bool) -> None:
        if options.confirm is not None:
            if options.confirm != context.name:
                raise ConfigurationError(f"--confirm {options.confirm} is not the context's name, {target.name}")
        elif context.protected:
            question = f"{context.name} is protected. To {summary}, type its name: "
            if _ask(changes, columns, question, f"--confirm {context.name}") != context.name:
                raise Aborted("the name does not match; nothing was changed")
        elif required and not options.yes:
            question = f"{summary.capitalize()} on {target.name}? [y/N] "
            if _ask(changes, columns, question, "--yes").lower() not in ("y", "yes"):
                raise Aborted("nothing was changed")

    return confirm


def _ask(changes: Sequence[PlannedChange], columns: Sequence[ResultColumn], question: str, otherwise: str) -> str:
    if not sys.stdin.isatty():
        raise Aborted(f"stdin is not a terminal; nothing was changed: pass {otherwise} to confirm")
    lines = plan_lines(changes[: _MAX_LINES + 1], columns)
    hidden = len(lines) + max(0, len(changes) - _MAX_LINES - 1) - _MAX_LINES
    for line in lines[:_MAX_LINES]:
        print(line, file=sys.stderr)
    if hidden > 0:
        print(f"… and {hidden} more lines; use --dry-run to see them all", file=sys.stderr)
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip()
