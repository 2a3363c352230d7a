"""`kconf rollback`: set things back to what they were at a time, or at a revision."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from kconf.cli.common.confirm import IN_OTHER_WORDS, add_change, item_of, plan_columns
from kconf.cli.common.history_output import add_past, moment_of, scopes_of
from kconf.cli.common.target import add_target, target
from kconf.cli.output.result import CommandResult, command
from kconf.errors import ApiError, ErrorCode
from kconf.model.journal import ChangeKind
from kconf.model.resource import ResourceType
from kconf.operations.execute import add_bulk

if TYPE_CHECKING:
    from kconf.engine.declarative.diff import Difference
    from kconf.model.cluster_state import ClusterState
    from kconf.operations.declarative.staleness import State
    from kconf.operations.history.point_in_time import HistoryRange, Name
    from kconf.operations.history.sources import HistoryEntry, RecordedHistory

EXAMPLES: Final = """\
examples:
  kconf rollback topic:orders --to 2h --dry-run
  kconf rollback 'topic:orders*' --to 09:30 --yes --allow-data-loss
  kconf rollback --to 4711 --yes --reason 'undo the experiment'

A number is a revision, all else is a time. Secrets are not set back, since no record has them; topics are neither made
nor deleted.
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "rollback",
        help="set things back to what they were",
        description="Set things back to what they were at a time or a revision. The plan is shown and asked about.",
        epilog=EXAMPLES,
    )
    add_past(parser)
    parser.add_argument("--to", metavar="TIME|REVISION", required=True, help="2h, 09:30, 2026-11-15T09:30, or 4711")
    add_change(parser)
    add_bulk(parser)
    add_target(parser)
    parser.set_defaults(run=command("rollback", run))


def run(options: argparse.Namespace, answer: CommandResult) -> None:
    from kconf.cli.commands.plan import carry_out_differences
    from kconf.operations.declarative.plan import Planned
    from kconf.operations.declarative.staleness import state_of
    from kconf.operations.history.point_in_time import read_state, spans
    from kconf.operations.history.sources import read_past

    chosen = target(options)
    chosen.check_writable()
    scopes = scopes_of(options, "rollback")
    with chosen.open() as admin:
        past = read_past(chosen, admin, scopes, which=options.source)
    answer.facts.update(context=chosen.name, cluster=past.cluster, source=past.source)
    answer.notes += past.notes
    since = spans(_after(past, options.to))
    reading = read_state(chosen, scopes, synonyms=True)
    undoing = _Undoing(since, state_of(reading), reading)
    found = undoing.differences()
    _tell_secrets(answer, undoing.secrets)
    answer.notes += undoing.notes
    if not found:
        answer.columns, answer.hidden = plan_columns(), IN_OTHER_WORDS
        answer.notes.append("there is nothing to set back")
        return
    planned = Planned(past.cluster, found, {}, [], reading.revision)
    carry_out_differences(answer, options, chosen, planned)


def _after(past: RecordedHistory, to: str) -> list[HistoryEntry]:
    """What came after a revision, or a time."""
    if to.isascii() and to.isdigit():
        past.check_reaches(revision=int(to))
        return [each for each in past.lines if each.revision > int(to)]
    moment = moment_of(to)
    past.check_reaches(moment=moment)
    return [each for each in past.lines if each.time > moment]


def _tell_secrets(answer: CommandResult, secrets: list[Difference]) -> None:
    from kconf.operations.declarative.display import edits_of

    refused = ApiError(ErrorCode.INVALID_REQUEST, "it is a secret, and no record has its value: set it anew")
    for each in edits_of(secrets):
        answer.add(refused, **item_of(each, "failed"))


class _Undoing:
    """What leads back from the state of now."""

    def __init__(self, since: dict[Name, HistoryRange], state: State, reading: ClusterState) -> None:
        self.since, self.state, self.reading = since, state, reading
        self.secrets: list[Difference] = []
        self.notes: list[str] = []
        self._entries = {
            (resource, entry.name): entry for resource, view in reading.configs.items() for entry in view.entries
        }

    def differences(self) -> list[Difference]:
        reborn = {resource for (resource, key), span in self.since.items() if self._is_reborn(key, span)}
        found = []
        for (resource, key), span in self.since.items():
            if span.first.change.kind is ChangeKind.TOPIC:
                self._note_topic(span)
            elif resource not in reborn:
                made = self._difference((resource, key), span)
                if made is not None:
                    found.append(made)
        return found

    @staticmethod
    def _is_reborn(key: str, span: HistoryRange) -> bool:
        """Whether a topic was made or deleted since: then what is set there now was never otherwise."""
        return span.first.change.kind is ChangeKind.TOPIC and {span.first.change.op, span.last.change.op} != {"grow"}

    def _note_topic(self, span: HistoryRange) -> None:
        resource = span.first.change.resource
        if span.first.change.before is None:
            self.notes.append(f"{resource} was made since; a rollback does not delete it")
        elif span.last.change.after is None:
            self.notes.append(f"{resource} was deleted since; it cannot be brought back")
        elif "grow" in (span.first.change.op, span.last.change.op):
            self.notes.append(f"{resource} has grown since; partitions cannot be taken away")
        else:
            self.notes.append(f"{resource} was made anew since; it is left alone")

    def _difference(self, name: Name, span: HistoryRange) -> Difference | None:
        from kconf.engine.declarative.diff import Difference
        from kconf.model.entry import own_source

        (resource, key), change = name, span.first.change
        wanted, now = change.before, self.state.get(name)
        if change.sensitive or (name in self.state and now is None):
            hidden = Difference(ChangeKind.CONFIG, resource, "set", key, "", "", sensitive=True)
            if change.before != span.last.change.after:
                self.secrets.append(hidden)
            return None
        if now == wanted or (resource.type is ResourceType.TOPIC and resource.name not in self.reading.topics):
            return None
        entry = self._entries.get(name)
        own = own_source(resource)
        old = now if entry is None else entry.value
        rest = None if entry is None else next((each.value for each in entry.synonyms if each.source != own), None)
        op, new = ("set", wanted) if wanted is not None else ("delete", rest)
        return Difference(ChangeKind.CONFIG, resource, op, key, now, wanted, old, new, entry.source if entry else None)
