"""`kconf topic`: list, create, delete, grow."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from kconf.cli.common.command import command
from kconf.cli.common.confirm import add_bulk, add_change
from kconf.cli.common.execute import execute
from kconf.cli.common.help import add_verb
from kconf.cli.common.options.where import add_where, conditions_of, select
from kconf.cli.common.plan_output import plan_columns
from kconf.cli.common.target import add_target, on_each, target, targets
from kconf.cli.output.result import CommandResult, ResultColumn
from kconf.cli.terminal.input import prompt_secret, read_stdin
from kconf.errors import ApiError, ConfigurationError, ErrorCode
from kconf.model.resource import Resource, ResourceType

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.model.cluster import TopicDescription
    from kconf.operations.selection.selectors import Selector
    from kconf.operations.where import WhereCondition

_LISTED: Final = ("partitions", "replication-factor")
EXAMPLES: Final = """\
examples:
  kconf topic list
  kconf topic list 'logs.*' --long --output csv
  kconf topic list --where 'retention.ms>30d' --where 'partitions>=12'
  kconf topic create payments --partitions 6 --replication-factor 1 --config retention.ms=3d
  kconf topic grow payments --partitions 12
  kconf topic delete payments --allow-data-loss
  kconf topic delete 'tmp.*' --dry-run
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "topic",
        help="list, create and delete topics; add partitions",
        description="List, create and delete topics, and add partitions.",
        epilog=EXAMPLES,
    )
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    listing = add_verb(verbs, "list", "list topics", "List topics.", EXAMPLES)
    listing.add_argument("names", metavar="TOPIC", nargs="*", help="a name, a glob, a /regular expression/, @FILE")
    listing.add_argument("--internal", action="store_true", help="include internal topics")
    listing.add_argument("--long", action="store_true", help="also show partitions with too few replicas in sync")
    add_where(listing)
    add_target(listing, several=True)
    listing.set_defaults(run=command("topic list", list_topics), rest="names")
    _verb(
        verbs,
        "create",
        create,
        "create topics",
        "Create topics. Creating more than one asks for confirmation.",
        _add_create,
    )
    _verb(verbs, "delete", delete, "delete topics", "Delete topics and their data. This cannot be undone.", add_bulk)
    _verb(verbs, "grow", grow, "add partitions to topics", "Add partitions to topics.", _add_grow)


def _verb(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    run: Callable[[argparse.Namespace, CommandResult], None],
    brief: str,
    about: str,
    more: Callable[[argparse.ArgumentParser], None],
) -> None:
    parser = add_verb(verbs, name, brief, about, EXAMPLES)
    what = "name of the topic" if name == "create" else "a name, a glob, a /regular expression/, @FILE"
    parser.add_argument("names", metavar="TOPIC", nargs="+", help=what)
    more(parser)
    add_change(parser)
    add_target(parser)
    parser.set_defaults(run=command(f"topic {name}", run), rest="names")


def _add_create(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--partitions", metavar="N", type=int, default=-1, help="number of partitions (default: the cluster's)")
    add("--replication-factor", metavar="N", type=int, default=-1, help="number of replicas (default: the cluster's)")
    add("--config", metavar="KEY=VALUE", action="append", default=[], help="config of the topic; may be repeated")


def _add_grow(parser: argparse.ArgumentParser) -> None:
    count = parser.add_mutually_exclusive_group(required=True)
    count.add_argument("--partitions", metavar="N", type=int, help="total number of partitions afterwards")
    count.add_argument("--by", metavar="N", type=int, help="number of partitions to add")


def list_topics(options: argparse.Namespace, result: CommandResult) -> None:
    from kconf.operations.topics import topic_selectors

    selectors = topic_selectors(options.names, read_stdin)
    conditions = conditions_of(options, [ResourceType.TOPIC])
    clusters = targets(options)
    result.columns = [ResultColumn("context"), ResultColumn("topic"), ResultColumn("partitions")]
    result.columns += [ResultColumn("replication_factor", "REPLICAS")]
    result.columns += [_value_column(each) for each in _compared(conditions)]
    result.columns += [ResultColumn("under_replicated")] if options.long else []
    result.columns += [ResultColumn("internal", show=lambda item: "internal" if item["internal"] else "")]
    on_each(clusters, result, lambda here, admin: _list(options, result, here.name, admin, selectors, conditions))


def _compared(conditions: Sequence[WhereCondition]) -> list[str]:
    """The keys that --where compares, except those that the list already shows."""
    return [each for each in dict.fromkeys(each.key.name for each in conditions) if each not in _LISTED]


def _value_column(key: str) -> ResultColumn:
    from kconf.configdef.units import shown_value

    return ResultColumn(key, key, lambda item: shown_value(key, item.get(key)))


def _list(
    options: argparse.Namespace,
    result: CommandResult,
    context: str,
    admin: SyncAdminClient,
    selectors: Sequence[Selector],
    conditions: Sequence[WhereCondition],
) -> None:
    from kconf.operations.selection.selectors import resolve

    found = admin.list_topics(internal=True)
    names = [name for name, each in found.items() if options.internal or not each.internal]
    if selectors:
        names = [each.name for each in resolve(admin, selectors)]
    values: dict[Resource, dict[str, str]] = {}
    if conditions:
        present = [Resource.topic(each) for each in names if each in found]
        values = select(admin, present, conditions, result, lambda each: _no_listing(context, each.name))
        names = [each for each in names if Resource.topic(each) in values or each not in found]
    described = admin.describe_topics(names) if options.long else None
    for name in names:
        listing = found.get(name)
        if listing is None:
            missing = ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "no such topic")
            result.add(missing, **_no_listing(context, name))
            continue
        more = {} if described is None or name in described.failures else _replicas(described[name])
        result.add(
            context=context,
            topic=name,
            partitions=listing.partitions,
            replication_factor=listing.replication,
            **{each: values[Resource.topic(name)][each] for each in _compared(conditions)},
            **more,
            internal=listing.internal,
            topic_id=str(listing.topic_id),
        )


def _no_listing(context: str, name: str) -> dict[str, Any]:
    unknown = dict.fromkeys(("partitions", "replication_factor", "internal", "topic_id"))
    return {"context": context, "topic": name, **unknown}


def _replicas(topic: TopicDescription) -> dict[str, int]:
    return {"under_replicated": sum(len(each.isr) < len(each.replicas) for each in topic.partitions)}


def create(options: argparse.Namespace, result: CommandResult) -> None:
    from kconf.model.alteration import NewTopic, OpType
    from kconf.operations.assignments import parse_assignments
    from kconf.operations.key_notes import unknown_key_notes
    from kconf.operations.selection.selectors import is_one_resource
    from kconf.operations.topics import create_request, topic_selectors

    cluster = target(options)
    cluster.check_writable()
    selectors = topic_selectors(options.names, read_stdin)
    pattern = next((each for each in selectors if each.pattern is not None), None)
    if pattern is not None:
        raise ConfigurationError(f"{pattern.text} is a pattern; a new topic needs a literal name")
    names = list(dict.fromkeys(name for each in selectors for name in each.names))
    given = options.config
    ops = parse_assignments(OpType.SET, ResourceType.TOPIC, given, prompt_secret) if given else ()
    configs = tuple((each.key, each.value) for each in ops)
    topics = {name: NewTopic(name, options.partitions, options.replication_factor, (), configs) for name in names}
    with cluster.open() as admin:
        request = create_request(
            admin, topics, cluster.context.policy, reason=options.reason, confirm=not is_one_resource(selectors)
        )
        execute(result, options, cluster, admin, request, plan_columns(keys=False))
        if not result.failed:
            keys = ((ResourceType.TOPIC, key) for key, _ in configs)
            result.notes += unknown_key_notes(admin.cluster_release(), keys)


def delete(options: argparse.Namespace, result: CommandResult) -> None:
    from kconf.operations.topics import delete_request, topic_selectors

    cluster = target(options)
    cluster.check_writable()
    selectors = topic_selectors(options.names, read_stdin)
    with cluster.open() as admin:
        request = delete_request(admin, selectors, options.reason)
        execute(result, options, cluster, admin, request, plan_columns(keys=False))


def grow(options: argparse.Namespace, result: CommandResult) -> None:
    from kconf.operations.topics import grow_request, topic_selectors

    def count(present: int) -> int:
        new: int = options.partitions if options.partitions is not None else present + options.by
        return new

    cluster = target(options)
    cluster.check_writable()
    selectors = topic_selectors(options.names, read_stdin)
    with cluster.open() as admin:
        request = grow_request(admin, selectors, count, cluster.context.policy, options.reason)
        result.notes.append("adding partitions changes which partition keyed records go to")
        execute(result, options, cluster, admin, request, plan_columns(keys=False))
