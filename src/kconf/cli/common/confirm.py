"""Before something is changed: read-only and protected contexts, the plan, the question, the policy.

One named resource changes at once. A pattern, a default or several resources print what would be done and ask. Without
a terminal `--yes` answers, and in a protected context `--confirm NAME`; else nothing is done and the exit code is 2.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from kconf.cli.output.result import Aborted, ResultColumn
from kconf.errors import ConfigurationError
from kconf.operations.data_loss import MARK

if TYPE_CHECKING:
    from kconf.cli.common.target import Target
    from kconf.cli.output.result import Item
    from kconf.operations.planned_change import PlannedChange

_MOST_SHOWN: Final = 200  # lines of a plan that is asked about; `--dry-run` tells them all


def add_change(parser: argparse.ArgumentParser) -> None:
    """The options of every command that changes something."""
    add = parser.add_argument_group("safety").add_argument
    add("--dry-run", action="store_true", help="let the server and the policy judge it, tell it, and do nothing")
    add("-y", "--yes", action="store_true", help="do not ask")
    add("--confirm", metavar="NAME", help="the context's name: answers every question, that of a protected one too")
    add("--allow-data-loss", action="store_true", help=f"do also what is marked '{MARK}'")
    add("--reason", metavar="TEXT", help="why; for the journal")


IN_OTHER_WORDS: Final = frozenset(["op", "data_loss"])
"""The columns of a plan that a table tells in the others."""


def plan_columns(*, keys: bool = True) -> list[ResultColumn]:
    """The table of a plan, and of what was done; without `keys`, of things that are there or not."""
    from kconf.cli.commands.quota.main import resource_text

    of_keys = [ResultColumn("key")] if keys else []
    where = [ResultColumn("source")] if keys else []
    return [
        ResultColumn("resource", show=lambda item: resource_text(item["resource"])),
        *of_keys,
        ResultColumn("old", show=lambda item: _value(item, "old")),
        ResultColumn("new", show=lambda item: _value(item, "new")),
        *where,
        ResultColumn("data_loss"),
        ResultColumn("outcome", show=_outcome),
    ]


def _value(item: Item, name: str) -> str:
    from kconf.configdef.units import shown_value

    if item[name] is None:
        return "(unset)" if item["key"] else "-"
    text: str = item[name]
    for key, value in (item.get("configs") or {}).items():  # of a topic that is made
        text = text.replace(f", {key}={value}", f", {key}={shown_value(key, value)}")
    return shown_value(item["key"] or "", text)


def _outcome(item: Item) -> str:
    return f"{item['outcome']} {MARK}: {item['data_loss']}".strip() if item["data_loss"] else item["outcome"]


def item_of(edit: PlannedChange, outcome: str) -> dict[str, Any]:
    """An edit as the fields of an item."""
    return {
        "resource": str(edit.resource),
        "key": edit.key or None,
        "op": edit.op,
        "old": edit.old,
        "new": edit.new,
        "source": edit.source or None,
        **edit.shown,
        "data_loss": edit.loss or None,
        "outcome": outcome,
    }


def check_loss(edits: Sequence[PlannedChange], options: argparse.Namespace) -> None:
    """Refuse what cannot be undone, unless it was allowed."""
    risky = [each for each in edits if each.loss]
    if not risky or options.allow_data_loss:
        return
    first = risky[0]
    more = f", and {len(risky) - 1} more" if len(risky) > 1 else ""
    what = f"{first.resource} {first.key}".strip()
    raise Aborted(f"{what}: {MARK} ({first.loss}){more}; nothing was done: this needs --allow-data-loss")


def confirm(target: Target, options: argparse.Namespace, shown: Sequence[str], what: str, *, asks: bool) -> None:
    """Ask, where it must be asked; `Aborted` where the answer is no, or nobody is there to ask."""
    context = target.context
    if options.confirm is not None:
        if options.confirm != context.name:
            raise ConfigurationError(f"--confirm {options.confirm} is not the name of the context {target.name}")
    elif context.protected:
        answer = _ask(shown, f"{context.name} is protected. To {what}, type its name: ", f"--confirm {context.name}")
        if answer != context.name:
            raise Aborted("this was not its name; nothing was done")
    elif (
        asks and not options.yes and not _agrees(_ask(shown, f"{what.capitalize()} on {target.name}? [y/N] ", "--yes"))
    ):
        raise Aborted("nothing was done")


def _agrees(answer: str) -> bool:
    return answer.lower() in ("y", "yes")


def _show(lines: Sequence[str]) -> None:
    for line in lines[:_MOST_SHOWN]:
        print(line, file=sys.stderr)
    if len(lines) > _MOST_SHOWN:
        print(f"… and {len(lines) - _MOST_SHOWN} more lines; --dry-run tells them all", file=sys.stderr)


def _ask(shown: Sequence[str], question: str, otherwise: str) -> str:
    if not sys.stdin.isatty():
        raise Aborted(f"nobody is here to be asked; nothing was done: this needs {otherwise}")
    _show(shown)
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip()


def plan_lines(edits: Sequence[PlannedChange], columns: Sequence[ResultColumn]) -> list[str]:
    """The plan as a table, for the one who is asked."""
    from kconf.cli.output.tables import table, terminal_width

    columns = [each for each in columns if each.name not in IN_OTHER_WORDS]
    items = [item_of(each, "") for each in edits[: _MOST_SHOWN + 1]]
    rows = [[each.text(item) for each in columns] for item in items]
    lines = table([each.heading for each in columns], rows, width=terminal_width()) if rows else []
    return lines + [""] * (len(edits) - len(rows))
