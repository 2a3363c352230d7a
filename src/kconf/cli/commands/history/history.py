"""`kconf history` and `kconf blame`: what was changed, when, who changed it, and why."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from kconf.cli.common.command import command
from kconf.cli.common.history_output import (
    add_history,
    attribution_fields,
    author_cell,
    history_columns,
    history_item,
    milliseconds,
    names_of,
    who,
)
from kconf.cli.common.target import add_target, target
from kconf.cli.output.cells import resource_cell, value_cell
from kconf.cli.output.result import FAILED, CommandResult, Item, ResultColumn
from kconf.operations.display_names import SENSITIVE, value_of
from kconf.util.iso_time import iso_time
from kconf.util.time_text import TIME_HELP

if TYPE_CHECKING:
    from kconf.operations.history.blame import BlameEntry
    from kconf.operations.history.entries import RecordedHistory

EXAMPLES: Final = {
    "history": """\
examples:
  kconf history
  kconf history topic:orders --since 2d
  kconf history 'topic:orders.*' quota --since 2026-11-01 --until now --key retention.ms --output csv
  kconf history topic:orders --metadata-log /var/lib/kafka/data/__cluster_metadata-0

For a kconf server, the changes come from its journal; for another cluster, from the `journal:` directory and the
`lake:` of the context. Use --metadata-log if `kconf follow` was not running: the metadata log of a KRaft controller
contains the changes of all tools, as far back as the cluster keeps it. With --metadata-log and -C, kconf also shows the
authors of changes that it recorded in the context's `journal:`.

WHO is "unknown" if no author is recorded: the metadata log and snapshots do not contain authors.
""",
    "blame": """\
examples:
  kconf blame topic:orders
  kconf blame broker --output json

If other tools also change the cluster, a value that differs from the last recorded one has no author. WHO is then
"changed outside kconf": by another tool, or by kconf with another journal. It is "unknown: not recorded" if there is no
record of the key. Kafka does not return secrets: for a secret, WHO is the last recorded author, "unless changed outside
kconf since".
""",
}


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    history = commands.add_parser(
        "history",
        help="show changes: what, when, who and why",
        description="Show changes, oldest first: what, when, who and why.",
        epilog=EXAMPLES["history"],
    )
    add_history(history)
    history.add_argument("--since", metavar="TIME", help=f"start time: {TIME_HELP}")
    history.add_argument("--until", metavar="TIME", help="end time")
    history.add_argument("--key", metavar="KEY", help="only this key")
    history.add_argument("--last", metavar="N", type=int, help="only the last N changes")
    history.add_argument(
        "--metadata-log", metavar="DIR", help="read a controller's metadata directory (__cluster_metadata-0) instead"
    )
    add_target(history)
    history.set_defaults(run=command("history", run_history))
    blame = commands.add_parser(
        "blame",
        help="show who set each current value",
        description="Show who set each current value, when and why.",
        epilog=EXAMPLES["blame"],
    )
    add_history(blame)
    add_target(blame)
    blame.set_defaults(run=command("blame", run_blame))


def run_history(options: argparse.Namespace, result: CommandResult) -> None:
    since = 0 if options.since is None else milliseconds(options.since)
    until = None if options.until is None else milliseconds(options.until)
    history = _read(options, result, "history", since)
    result.columns = history_columns()
    result.hidden = frozenset({"revision"} if history.source != "feed" else ())
    if not any(each.outcome != "done" for each in history.entries):
        result.hidden |= {"outcome"}
    entries = [
        each
        for each in history.entries
        if (until is None or each.time <= until) and options.key in (None, each.change.key)
    ]
    for each in entries[-options.last :] if options.last else entries:
        result.add(**history_item(each))
    if not result.items:
        result.notes.append("no changes recorded")


def run_blame(options: argparse.Namespace, result: CommandResult) -> None:
    from kconf.operations.history.absent import absent_notes
    from kconf.operations.history.blame import blame, unreadable
    from kconf.operations.history.wording import unreadable_note
    from kconf.operations.selection.scopes import parse_scopes
    from kconf.operations.state import read_state

    history = _read(options, result, "blame", 0)
    scopes = parse_scopes(options.selectors, "blame")
    state = read_state(target(options), scopes)
    result.notes += absent_notes(scopes, history, state).values()
    result.columns = [
        ResultColumn("resource", show=resource_cell),
        ResultColumn("key"),
        ResultColumn("value", show=lambda item: value_cell(item, "value")),
        ResultColumn("time", show=lambda item: str(item["time"] or "")[:19].replace("T", " ")),
        ResultColumn("principal", "WHO", author_cell if not history.is_complete else _recorded_author),
        ResultColumn("reason"),
    ]
    for each in blame(state, history):
        last = each.attribution.author
        result.add(
            **names_of(each.change),
            value=_blamed_value(each),
            time=None if last is None else iso_time(last.time),
            revision=None if last is None else last.revision,
            principal=None if last is None else last.caller.principal,
            os_user=None if last is None else last.os_user,
            reason=None if last is None else last.caller.reason,
            origin=None if last is None else last.origin,
            **attribution_fields(each.attribution),
        )
    if not result.items:
        result.notes.append("nothing is set")
    unread = [each for each in state.missing if not each.is_absent]
    if unread:
        result.notes += [f"cannot read {each.what}; its values are not shown" for each in unread]
        result.status = FAILED
    if not history.is_complete:
        result.notes += [unreadable_note(each) for each in unreadable(state, history)]
        if any(each["record"] == "unreadable" for each in result.items):
            result.notes.append(
                "clusters do not show secrets: WHO is the author of the last recorded change of a secret, which may "
                "have been changed outside kconf since"
            )
    elif any(each["time"] is None for each in result.items):
        result.notes.append(
            "rows without a time have no recorded change: they were set before recording began, or by another tool"
        )


def _blamed_value(entry: BlameEntry) -> str | None:
    """The value, or a placeholder for a secret that is set, because it cannot be read."""
    if entry.is_set and entry.value is None:
        return SENSITIVE
    return value_of(entry.change, entry.value if entry.is_set else None)


def _recorded_author(item: Item) -> str:
    return who(item) if item["time"] else ""


def _read(options: argparse.Namespace, result: CommandResult, command: str, since: int) -> RecordedHistory:
    from kconf.operations.history.absent import check_recorded
    from kconf.operations.history.sources import read_history
    from kconf.operations.selection.scopes import parse_scopes

    scopes = parse_scopes(options.selectors, command)
    if getattr(options, "metadata_log", None) is not None:
        from kconf.operations.history.metadata_log import read_metadata_log

        journal = None if options.context is None else target(options).context.journal
        history = read_metadata_log(options.metadata_log, scopes, since, journal=journal)
        result.facts.update(context=None, cluster=history.cluster, source=history.source)
        result.notes += history.notes
        return history
    cluster = target(options)
    with cluster.open() as admin:
        history = read_history(cluster, admin, scopes, which=options.source)
    check_recorded(cluster, scopes, history)
    history = history._replace(entries=[each for each in history.entries if each.time >= since])
    result.facts.update(context=cluster.name, cluster=history.cluster, source=history.source)
    result.notes += history.notes
    return history
