"""`kconf diff`: compare two clusters, two times, or files and a cluster."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from kconf.cli.common.command import command
from kconf.cli.common.history_output import (
    add_history,
    attribution_fields,
    author_cell,
    history_item,
    milliseconds,
    names_of,
)
from kconf.cli.common.options.declarative import add_files
from kconf.cli.common.target import add_target, target
from kconf.cli.output.cells import resource_cell
from kconf.cli.output.result import DIFFERENT, CommandResult, Item, ResultColumn
from kconf.errors import ConfigurationError
from kconf.operations.display_names import value_of
from kconf.operations.history.entries import FEED
from kconf.operations.selection.scopes import parse_scopes
from kconf.operations.target import Target
from kconf.util.time_text import TIME_HELP

if TYPE_CHECKING:
    from kconf.engine.declarative.model import Scope
    from kconf.model.cluster_state import ClusterState
    from kconf.operations.history.diff import RecordedDifference
    from kconf.operations.history.entries import RecordedHistory
    from kconf.operations.history.record import Moment

EXAMPLES: Final = """\
examples:
  kconf diff -C prod-eu --against prod-us 'topic:orders.*'
  kconf diff --from 2026-11-14 --to now topic:orders
  kconf diff --from 2h
  kconf diff -f clusters/prod
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "diff",
        help="show differences between clusters, times or files",
        description="Show differences between two clusters, two points in time, or files and a cluster.",
        epilog=EXAMPLES,
    )
    add_history(parser)
    parser.add_argument("--against", metavar="CONTEXT", help="the cluster to compare with")
    parser.add_argument("--from", dest="begin", metavar="TIME", help=f"compare with this time: {TIME_HELP}")
    parser.add_argument("--to", dest="end", metavar="TIME", help="end of the time range (default: now)")
    add_files(parser, required=False)
    add_target(parser)
    parser.set_defaults(run=command("diff", run))


def run(options: argparse.Namespace, result: CommandResult) -> None:
    ways = [options.against is not None, options.begin is not None, bool(options.file)]
    if sum(ways) != 1:
        raise ConfigurationError("pass exactly one of --against CONTEXT, --from TIME or -f DIR")
    if options.end is not None and options.begin is None:
        raise ConfigurationError("--to requires --from")
    if options.file:
        _with_files(options, result)
    elif options.begin is not None:
        _between_times(options, result)
    else:
        _with_cluster(options, result)
    if result.items and not result.failed:
        result.status = DIFFERENT
    if not result.items:
        is_partial = result.facts.get("source", FEED) != FEED
        result.notes.append("no differences recorded" if is_partial else "no differences")


def _with_files(options: argparse.Namespace, result: CommandResult) -> None:
    from kconf.cli.common.declarative_output import print_plan
    from kconf.operations.declarative.plan import plan_files

    if options.selectors:
        raise ConfigurationError("-f compares everything the files declare; remove the resource arguments")
    cluster = target(options)
    print_plan(result, cluster, plan_files(options.file, cluster, None))


def _between_times(options: argparse.Namespace, result: CommandResult) -> None:
    from kconf.operations.history.absent import check_recorded
    from kconf.operations.history.record import Moment
    from kconf.operations.history.sources import read_history
    from kconf.operations.selection.unknown_names import named_topics
    from kconf.operations.state import read_state

    cluster, now = target(options), milliseconds("now")
    begin, end = milliseconds(options.begin), None if options.end is None else milliseconds(options.end)
    if end is not None and end < begin:
        raise ConfigurationError("--from is after --to")
    scopes = parse_scopes(options.selectors, "diff")
    with cluster.open() as admin:
        history = read_history(cluster, admin, scopes, which=options.source)
    check_recorded(cluster, scopes, history)
    result.facts.update(context=cluster.name, cluster=history.cluster, source=history.source, unknown=[], uncertain=[])
    result.notes += history.notes
    if history.is_complete:
        _by_journal(result, history, Moment(begin), None if end is None else Moment(end))
        if named_topics(scopes):
            _add_absent(result, scopes, history, read_state(cluster, scopes))
    else:
        _by_record(options, result, history, Moment(begin), None if end is None or end >= now else Moment(end))


def _add_absent(result: CommandResult, scopes: Sequence[Scope], history: RecordedHistory, state: ClusterState) -> None:
    """Add notes about named topics that do not exist, unless an item already shows that."""
    from kconf.operations.history.absent import absent_notes

    shown = {each["resource"] for each in result.items if each["key"] is None}
    result.notes += [text for each, text in absent_notes(scopes, history, state).items() if str(each) not in shown]


def _by_journal(result: CommandResult, history: RecordedHistory, begin: Moment, end: Moment | None) -> None:
    from kconf.operations.history.diff import diff_times
    from kconf.operations.history.point_in_time import entries_between
    from kconf.operations.history.record import Attribution, Fit

    result.columns = _columns("before", "after")
    for first, last in diff_times(entries_between(history, begin, end)):
        before = value_of(first.change, first.change.before)
        result.add(**{**history_item(last), "before": before, **attribution_fields(Attribution(Fit.MATCHES))})


def _by_record(
    options: argparse.Namespace, result: CommandResult, history: RecordedHistory, begin: Moment, end: Moment | None
) -> None:
    from kconf.operations.history.diff import diff_record
    from kconf.operations.history.live_values import LiveValues
    from kconf.operations.history.record import HistoryByKey
    from kconf.operations.history.wording import gap_note, name_text, secret_notes, unknown_notes, unreadable_note
    from kconf.operations.state import read_state

    scopes = parse_scopes(options.selectors, "diff")
    state = read_state(target(options), scopes)
    found = diff_record(HistoryByKey(history.entries, LiveValues(state)), begin, end)
    result.columns = [*_columns("before", "after"), ResultColumn("principal", "WHO", author_cell)]
    for each in found.differences:
        result.add(**_recorded_item(each))
    _add_absent(result, scopes, history, state)
    result.notes += dict.fromkeys(gap_note(*each) for each in found.gaps)
    result.notes += [unreadable_note(each) for each in found.unread]
    result.notes += [*unknown_notes(found.unknown, begin), *secret_notes(found.unreadable)]
    result.facts["unknown"] = [name_text(each) for each in (*found.unknown, *found.unreadable)]
    result.facts["uncertain"] = list(dict.fromkeys(name_text(name) for name, _, _ in found.gaps))


def _recorded_item(difference: RecordedDifference) -> Item:
    """The fields of a history entry; null for a change that was not recorded."""
    change, last = difference.change, difference.attribution.author
    values = {"before": value_of(change, difference.before), "after": value_of(change, difference.after)}
    if last is None:
        fields = dict.fromkeys((*_ENTRY_FIELDS[:3], *names_of(change), *_ENTRY_FIELDS[3:]))
    else:
        fields = history_item(last)
    secret = {"sensitive": change.sensitive}
    return {**fields, **names_of(change), **values, **secret, **attribution_fields(difference.attribution)}


_ENTRY_FIELDS: Final = (
    *("time", "revision", "line", "op", "before", "after", "sensitive", "principal", "os_user", "client_id"),
    *("host", "api", "reason", "origin", "outcome"),
)


def _with_cluster(options: argparse.Namespace, result: CommandResult) -> None:
    from kconf.client.contexts.load import load_contexts
    from kconf.operations.history.diff import diff_clusters
    from kconf.operations.selection.unknown_names import check_scopes
    from kconf.operations.state import read_state, set_values

    one = target(options)
    other = Target(load_contexts().named(options.against), timeout=options.timeout)
    scopes = parse_scopes(options.selectors, "diff")
    states = read_state(one, scopes), read_state(other, scopes)
    check_scopes([one, other], scopes, {name for each in states for name in set_values(each)}, has_record=False)
    result.facts.update(context=one.name, against=other.name)
    result.columns = _columns("here", "there", one.name, other.name)
    for change, here, there in diff_clusters(*states):
        result.add(**names_of(change), here=value_of(change, here), there=value_of(change, there))
    for each, state in zip((one, other), states, strict=True):
        result.notes += [f"{each.name}: {missing.what} cannot be read" for missing in state.missing]


def _columns(left: str, right: str, one: str = "", other: str = "") -> list[ResultColumn]:
    from kconf.configdef.units import shown_value

    def shown(name: str) -> Any:
        return lambda item: shown_value(item["key"] or "", item[name]) if item[name] is not None else "(unset)"

    return [
        ResultColumn("resource", show=resource_cell),
        ResultColumn("key"),
        ResultColumn(left, one.upper(), shown(left)),
        ResultColumn(right, other.upper(), shown(right)),
    ]
