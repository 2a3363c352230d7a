"""`kconf diff`: two clusters, two times, or files and a cluster."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from kconf.cli.common.history_output import add_past, item_of, moment_of, names_of, scopes_of, subject, value_of
from kconf.cli.common.target import Target, add_target, target
from kconf.cli.output.result import DIFFERENT, CommandResult, ResultColumn, command
from kconf.errors import ConfigurationError
from kconf.model.entry import own_source
from kconf.model.resource import ResourceType
from kconf.operations.declarative.files import add_files

if TYPE_CHECKING:
    from kconf.engine.declarative.model import Scope
    from kconf.model.cluster_state import ClusterState
    from kconf.model.entry import Entry
    from kconf.operations.history.point_in_time import Name

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
        help="what differs between clusters, times, files",
        description="Tell what differs between two clusters, two times, or files and a cluster.",
        epilog=EXAMPLES,
    )
    add_past(parser)
    parser.add_argument("--against", metavar="CONTEXT", help="the cluster to compare with")
    parser.add_argument("--from", dest="begin", metavar="TIME", help="the time to compare with")
    parser.add_argument("--to", dest="end", metavar="TIME", help="up to then (default: now)")
    add_files(parser, required=False)
    add_target(parser)
    parser.set_defaults(run=command("diff", run))


def run(options: argparse.Namespace, answer: CommandResult) -> None:
    ways = [options.against is not None, options.begin is not None, bool(options.file)]
    if sum(ways) != 1:
        raise ConfigurationError("compare with one thing: --against CONTEXT, --from TIME, or -f DIR")
    if options.end is not None and options.begin is None:
        raise ConfigurationError("--to ends what --from begins")
    if options.file:
        _with_files(options, answer)
    elif options.begin is not None:
        _between(options, answer)
    else:
        _with_cluster(options, answer)
    if answer.items and not answer.failed:
        answer.status = DIFFERENT
    if not answer.items:
        answer.notes.append("there is no difference")


def _with_files(options: argparse.Namespace, answer: CommandResult) -> None:
    from kconf.cli.commands.plan import tell_plan

    if options.selectors:
        raise ConfigurationError("files say themselves what they are about; leave the selectors out")
    options.prune = None
    tell_plan(answer, target(options), options)


def _between(options: argparse.Namespace, answer: CommandResult) -> None:
    from kconf.operations.history.point_in_time import spans
    from kconf.operations.history.sources import read_past

    chosen = target(options)
    begin, end = moment_of(options.begin), None if options.end is None else moment_of(options.end)
    if end is not None and end < begin:
        raise ConfigurationError("--from is after --to")
    with chosen.open() as admin:
        past = read_past(chosen, admin, scopes_of(options, "diff"), which=options.source)
    answer.facts.update(context=chosen.name, cluster=past.cluster, source=past.source)
    answer.notes += past.notes
    past.check_reaches(moment=begin)
    answer.columns = _columns("before", "after")
    within = [each for each in past.lines if each.time > begin and (end is None or each.time <= end)]
    for _, (first, last) in sorted(spans(within).items()):
        if first.change.before != last.change.after:
            told = item_of(last)
            told["before"] = value_of(first.change, first.change.before)
            answer.add(**told)


def _with_cluster(options: argparse.Namespace, answer: CommandResult) -> None:
    from kconf.client.contexts.load import load_contexts
    from kconf.operations.history.point_in_time import read_state

    one = target(options)
    other = Target(load_contexts().named(options.against), timeout=options.timeout)
    scopes: Sequence[Scope] = scopes_of(options, "diff")
    first, second = read_state(one, scopes), read_state(other, scopes)
    answer.facts.update(context=one.name, against=other.name)
    answer.columns = _columns("here", "there", one.name, other.name)
    for name, here, there in _differences(first, second):
        answer.add(**name, here=here, there=there)
    for each, reading in ((one, first), (other, second)):
        answer.notes += [f"{each.name}: {missing.what} cannot be read" for missing in reading.missing]


def _differences(first: ClusterState, second: ClusterState) -> Iterator[tuple[dict[str, Any], str | None, str | None]]:
    """What is set on one side at least, and does not mean the same on both."""
    from kconf.cli.common.units import keys_for
    from kconf.engine.declarative.diff import same, type_of
    from kconf.operations.declarative.staleness import state_of
    from kconf.operations.history.point_in_time import change_of

    one, other = state_of(first), state_of(second)
    entries, others = _entries(first), _entries(second)
    for name in sorted({*one, *other}):
        resource, key = name
        mine, theirs = entries.get(name), others.get(name)
        if mine is not None and theirs is not None:
            if same(type_of(resource, mine, keys_for), mine.value, theirs.value):
                continue
            here, there = mine.value, theirs.value
        else:
            here, there = one.get(name), other.get(name)
            if (name in one) == (name in other) and here == there:
                continue
        change = change_of(resource, key, here if here is not None else there)
        yield names_of(change), value_of(change, here), value_of(change, there)


def _entries(reading: ClusterState) -> dict[Name, Entry]:
    """What holds, under every name; of the cluster default only what is set there."""
    return {
        (resource, entry.name): entry
        for resource, view in reading.configs.items()
        for entry in view.entries
        if resource.type is not ResourceType.BROKER or entry.source == own_source(resource)
    }


def _columns(left: str, right: str, one: str = "", other: str = "") -> list[ResultColumn]:
    from kconf.cli.common.units import shown_value

    def shown(name: str) -> Any:
        return lambda item: shown_value(item["key"] or "", item[name]) if item[name] is not None else "(unset)"

    return [
        ResultColumn("resource", show=subject),
        ResultColumn("key"),
        ResultColumn(left, one.upper(), shown(left)),
        ResultColumn(right, other.upper(), shown(right)),
    ]
