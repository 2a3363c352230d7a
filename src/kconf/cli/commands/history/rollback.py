"""`kconf rollback`: restore configs to an earlier time or revision."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from kconf.cli.common.command import command
from kconf.cli.common.confirm import add_bulk, add_change
from kconf.cli.common.history_output import add_history, milliseconds
from kconf.cli.common.options.usage import add_usage
from kconf.cli.common.plan_output import NOT_IN_TABLES, change_item, plan_columns
from kconf.cli.common.target import add_target, target
from kconf.cli.output.result import CommandResult
from kconf.errors import ApiError, ErrorCode
from kconf.util.time_text import TIME_HELP, is_epoch

if TYPE_CHECKING:
    from kconf.model.cluster_state import ClusterState
    from kconf.operations.history.entries import RecordedHistory
    from kconf.operations.history.record import Moment
    from kconf.operations.history.rollback import Rollback

EXAMPLES: Final = """\
examples:
  kconf rollback topic:orders --to 2h --dry-run
  kconf rollback 'topic:orders*' --to 09:30 --yes --allow-data-loss
  kconf rollback --to 4711 --yes --reason 'undo the experiment'

A number is a revision, unless it has 13 digits: then it is a time in milliseconds since 1970. A secret that was not
set at the earlier time is removed; a secret that had another value cannot be restored, because the values of secrets
are not recorded. Topics are neither created nor deleted. Keys without recorded changes are not rolled back; they are
listed as unknown.
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "rollback",
        help="restore configs to an earlier time or revision",
        description="Restore configs to their values at a time or revision. Shows the plan and asks for confirmation.",
        epilog=EXAMPLES,
    )
    add_history(parser)
    parser.add_argument(
        "--to", metavar="TIME|REVISION", required=True, help=f"a revision such as 4711, or a time: {TIME_HELP}"
    )
    add_usage(parser)
    add_change(parser)
    add_bulk(parser)
    add_target(parser)
    parser.set_defaults(run=command("rollback", run))


def run(options: argparse.Namespace, result: CommandResult) -> None:
    from kconf.cli.common.declarative_output import execute_differences
    from kconf.operations.declarative.changes import changes_of
    from kconf.operations.declarative.plan import DifferencePlan
    from kconf.operations.history.absent import check_recorded
    from kconf.operations.history.sources import read_history
    from kconf.operations.history.wording import gap_note, name_text, secret_notes, unknown_notes
    from kconf.operations.selection.scopes import parse_scopes
    from kconf.operations.state import read_state

    cluster = target(options)
    cluster.check_writable()
    scopes = parse_scopes(options.selectors, "rollback")
    with cluster.open() as admin:
        history = read_history(cluster, admin, scopes, which=options.source)
    check_recorded(cluster, scopes, history)
    result.facts.update(context=cluster.name, cluster=history.cluster, source=history.source, unknown=[], uncertain=[])
    result.notes += history.notes
    moment = _moment(options.to)
    history.check_reaches(revision=moment.revision, time=moment.time)
    state = read_state(cluster, scopes, synonyms=True)
    rollback = _plan(history, moment, state)
    for each in changes_of(rollback.secrets):
        why = f"{each.key} is a secret, and its earlier value is not recorded; it cannot be restored: set it again"
        result.add(ApiError(ErrorCode.INVALID_REQUEST, why), **change_item(each, "failed"))
    result.notes += [*rollback.notes, *(gap_note(*each, moment) for each in rollback.gaps)]
    result.notes += [*unknown_notes(rollback.unknown, moment), *secret_notes(rollback.unreadable)]
    result.facts["unknown"] = [name_text(each) for each in (*rollback.unknown, *rollback.unreadable)]
    result.facts["uncertain"] = [name_text(each) for each in rollback.uncertain]
    if not rollback.differences:
        result.columns, result.hidden = plan_columns(), NOT_IN_TABLES
        nothing = "nothing to roll back"
        result.notes.append(nothing if history.is_complete else f"{nothing}, according to the recorded changes")
        return
    plan = DifferencePlan(history.cluster, rollback.differences, {}, [], state.revision)
    execute_differences(result, options, cluster, plan)


def _moment(to: str) -> Moment:
    """A revision or a time; a number of 13 digits is a time."""
    from kconf.operations.history.record import Moment

    is_revision = to.isascii() and to.isdigit() and not is_epoch(to)
    return Moment(revision=int(to)) if is_revision else Moment(milliseconds(to))


def _plan(history: RecordedHistory, moment: Moment, state: ClusterState) -> Rollback:
    from kconf.operations.history.live_values import LiveValues
    from kconf.operations.history.point_in_time import entries_between, ranges
    from kconf.operations.history.record import HistoryByKey
    from kconf.operations.history.rollback import plan_rollback, plan_rollback_by_record

    if history.is_complete:
        return plan_rollback(ranges(entries_between(history, moment)), state)
    return plan_rollback_by_record(HistoryByKey(history.entries, LiveValues(state)), moment)
