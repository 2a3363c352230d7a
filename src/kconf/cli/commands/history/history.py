"""`kconf history` and `kconf blame`: what was changed, when, by whom, and why."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from kconf.cli.common.history_output import (
    add_past,
    columns,
    iso,
    item_of,
    moment_of,
    names_of,
    scopes_of,
    shown,
    subject,
    value_of,
    who,
)
from kconf.cli.common.target import add_target, target
from kconf.cli.output.result import CommandResult, ResultColumn, command

if TYPE_CHECKING:
    from kconf.model.resource import Resource
    from kconf.operations.history.sources import HistoryEntry, RecordedHistory

EXAMPLES: Final = {
    "history": """\
examples:
  kconf history
  kconf history topic:orders --since 2d
  kconf history 'topic:orders.*' quota --since 2026-11-01 --until now --key retention.ms --output csv

On a kconf server its journal is told; elsewhere the `journal:` directory of the context, or its `lake:`.
""",
    "blame": """\
examples:
  kconf blame topic:orders
  kconf blame broker --output json
""",
}


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    history = commands.add_parser(
        "history",
        help="what was changed, when, by whom and why",
        description="Tell what was changed, when, by whom and why; the oldest first.",
        epilog=EXAMPLES["history"],
    )
    add_past(history)
    history.add_argument("--since", metavar="TIME", help="from then on: 2026-11-15, 2026-11-15T09:30, 09:30, 2h")
    history.add_argument("--until", metavar="TIME", help="up to then")
    history.add_argument("--key", metavar="KEY", help="of one key only")
    history.add_argument("--last", metavar="N", type=int, help="only the last so many")
    add_target(history)
    history.set_defaults(run=command("history", run_history))
    blame = commands.add_parser(
        "blame",
        help="who set what is set now",
        description="Tell of everything that is set now who set it, when and why.",
        epilog=EXAMPLES["blame"],
    )
    add_past(blame)
    add_target(blame)
    blame.set_defaults(run=command("blame", run_blame))


def run_history(options: argparse.Namespace, answer: CommandResult) -> None:
    since = 0 if options.since is None else moment_of(options.since)
    until = None if options.until is None else moment_of(options.until)
    past = _past(options, answer, "history", since)
    answer.columns = columns()
    answer.hidden = frozenset({"revision"} if past.source != "feed" else ())
    if not any(each.outcome != "done" for each in past.lines):
        answer.hidden |= {"outcome"}
    lines = [
        each for each in past.lines if (until is None or each.time <= until) and options.key in (None, each.change.key)
    ]
    for each in lines[-options.last :] if options.last else lines:
        answer.add(**item_of(each))
    if not answer.items:
        answer.notes.append("nothing is told of it")


def run_blame(options: argparse.Namespace, answer: CommandResult) -> None:
    """What is set now is known from the cluster, who set it from the past."""
    from kconf.operations.declarative.staleness import state_of
    from kconf.operations.history.point_in_time import read_state

    past = _past(options, answer, "blame", 0)
    reading = read_state(target(options), scopes_of(options, "blame"))
    last = _last(past)
    answer.columns = [
        ResultColumn("resource", show=subject),
        ResultColumn("key"),
        ResultColumn("value", show=lambda item: shown(item, "value")),
        ResultColumn("time", show=lambda item: str(item["time"] or "")[:19].replace("T", " ")),
        ResultColumn("principal", "WHO", lambda item: who(item) if item["time"] else ""),
        ResultColumn("reason"),
    ]
    from kconf.operations.history.point_in_time import change_of

    for (resource, key), value in sorted(state_of(reading).items()):
        change = change_of(resource, key, value)
        told = last.get((resource, key))
        answer.add(
            **names_of(change),
            value=value_of(change, value),
            time=None if told is None else iso(told.time),
            revision=None if told is None else told.revision,
            principal=None if told is None else told.caller.principal,
            os_user=None if told is None else told.os_user,
            reason=None if told is None else told.caller.reason,
            origin=None if told is None else told.origin,
        )
    if any(each["time"] is None for each in answer.items):
        answer.notes.append("of what has no time nothing is told: it was set before the record begins, or elsewhere")


def _past(options: argparse.Namespace, answer: CommandResult, what: str, since: int) -> RecordedHistory:
    from kconf.operations.history.sources import read_past

    chosen = target(options)
    scopes = scopes_of(options, what)
    with chosen.open() as admin:
        past = read_past(chosen, admin, scopes, which=options.source, since=since)
    answer.facts.update(context=chosen.name, cluster=past.cluster, source=past.source)
    answer.notes += past.notes
    return past


def _last(past: RecordedHistory) -> Mapping[tuple[Resource, str], HistoryEntry]:
    """The last word on everything that is set; what was removed since has none."""
    last: dict[tuple[Resource, str], HistoryEntry] = {}
    for each in past.lines:
        if each.outcome != "done":
            continue
        name = each.change.resource, each.change.key
        if each.change.after is None:
            last.pop(name, None)
        else:
            last[name] = each
    return last
