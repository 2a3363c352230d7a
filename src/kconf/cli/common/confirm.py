"""Confirmation of changes, and the options of every command that makes some.

One named resource changes at once. For a pattern, a default or several resources the plan is printed and confirmed.
If stdin is not a terminal, `--yes` confirms, or `--confirm NAME` for a protected context; else nothing is done and the
exit code is 2.
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

_MAX_LINES: Final = 200  # of a plan that is to be confirmed; `--dry-run` prints them all


def add_change(parser: argparse.ArgumentParser) -> None:
    """The options of every command that changes something."""
    add = parser.add_argument_group("safety").add_argument
    add("--dry-run", action="store_true", help="let the server and the policy judge it, tell it, and do nothing")
    add("-y", "--yes", action="store_true", help="do not ask")
    add("--confirm", metavar="NAME", help="the context's name: answers every question, that of a protected one too")
    add("--allow-data-loss", action="store_true", help=f"do also what is marked '{MARK}'; or --allow-risk data-loss")
    add(
        "--allow-risk",
        metavar="NAME,…",
        action="append",
        default=[],
        help="do also what is marked '! NAME'; may be repeated; `kconf explain --risks` lists the names",
    )
    add("--reason", metavar="TEXT", help="why; for the journal")


def add_bulk(parser: argparse.ArgumentParser) -> None:
    """The options of commands that may change thousands of resources."""
    add = parser.add_argument_group("many at once").add_argument
    add("--rate", metavar="N", type=_rate, help="at most so many resources per second")
    add("--resume", metavar="FILE", help="note there what is done, and leave out what was done before")


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return rate


def confirmation(target: Target, options: argparse.Namespace, columns: Sequence[ResultColumn]) -> Confirm:
    """Confirms a plan at the terminal, or with the options."""
    context = target.context

    def confirm(changes: Sequence[PlannedChange], summary: str, *, required: bool) -> None:
        if options.confirm is not None:
            if options.confirm != context.name:
                raise ConfigurationError(f"--confirm {options.confirm} is not the name of the context {target.name}")
        elif context.protected:
            question = f"{context.name} is protected. To {summary}, type its name: "
            if _ask(changes, columns, question, f"--confirm {context.name}") != context.name:
                raise Aborted("this was not its name; nothing was done")
        elif required and not options.yes:
            question = f"{summary.capitalize()} on {target.name}? [y/N] "
            if _ask(changes, columns, question, "--yes").lower() not in ("y", "yes"):
                raise Aborted("nothing was done")

    return confirm


def _ask(changes: Sequence[PlannedChange], columns: Sequence[ResultColumn], question: str, otherwise: str) -> str:
    if not sys.stdin.isatty():
        raise Aborted(f"nobody is here to be asked; nothing was done: this needs {otherwise}")
    lines = plan_lines(changes[: _MAX_LINES + 1], columns)
    hidden = len(lines) + max(0, len(changes) - _MAX_LINES - 1) - _MAX_LINES
    for line in lines[:_MAX_LINES]:
        print(line, file=sys.stderr)
    if hidden > 0:
        print(f"… and {hidden} more lines; --dry-run tells them all", file=sys.stderr)
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip()
