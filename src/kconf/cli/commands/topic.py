"""`kconf topic`: list, create, delete, grow."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kconf.cli.common.confirm import add_change, plan_columns
from kconf.cli.common.help import add_verb
from kconf.cli.common.target import add_target, on_each, target, targets
from kconf.cli.output.result import CommandResult, ResultColumn, command
from kconf.errors import ApiError, ConfigurationError, ErrorCode
from kconf.model.resource import INTERNAL_TOPICS, Resource, ResourceType
from kconf.operations.execute import add_bulk, execute_plan
from kconf.operations.planned_change import TOPIC, ChangePlan, PlannedChange
from kconf.operations.policy_check import judge_creation, judge_growth
from kconf.operations.selectors import is_one_resource, parse_selector, resolve

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.errors import Results
    from kconf.model.alteration import NewTopic
    from kconf.model.cluster import TopicDescription
    from kconf.operations.execute import Outcomes, Send
    from kconf.operations.selectors import Selector

EXAMPLES: Final = """\
examples:
  kconf topic list
  kconf topic list 'logs.*' --long --output csv
  kconf topic create payments --partitions 6 --replication-factor 1 --config retention.ms=3d
  kconf topic grow payments --partitions 12
  kconf topic delete payments --allow-data-loss
  kconf topic delete 'tmp.*' --dry-run
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "topic",
        help="list, create, delete and grow topics",
        description="List, create, delete and grow topics.",
        epilog=EXAMPLES,
    )
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    listing = add_verb(verbs, "list", "all topics, or some", "List topics.", EXAMPLES)
    listing.add_argument("names", metavar="TOPIC", nargs="*", help="a name, a glob, a /regular expression/, @FILE")
    listing.add_argument("--internal", action="store_true", help="Kafka's own, too")
    listing.add_argument("--long", action="store_true", help="replicas and what is wrong with them, too")
    add_target(listing, several=True)
    listing.set_defaults(run=command("topic list", list_topics), rest="names")
    _verb(verbs, "create", create, "make topics", "Make topics; one at once, several are asked about.", _add_create)
    _verb(verbs, "delete", delete, "delete topics", "Delete topics and their data, for good.", add_bulk)
    _verb(verbs, "grow", grow, "give topics more partitions", "Give topics more partitions.", _add_grow)


def _verb(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    run: Callable[[argparse.Namespace, CommandResult], None],
    brief: str,
    about: str,
    more: Callable[[argparse.ArgumentParser], None],
) -> None:
    parser = add_verb(verbs, name, brief, about, EXAMPLES)
    what = "a name" if name == "create" else "a name, a glob, a /regular expression/, @FILE"
    parser.add_argument("names", metavar="TOPIC", nargs="+", help=what)
    more(parser)
    add_change(parser)
    add_target(parser)
    parser.set_defaults(run=command(f"topic {name}", run), rest="names")


def _add_create(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--partitions", metavar="N", type=int, default=-1, help="(default: the cluster's)")
    parser.add_argument("--replication-factor", metavar="N", type=int, default=-1, help="(default: the cluster's)")
    parser.add_argument("--config", metavar="KEY=VALUE", action="append", default=[], help="may be repeated")


def _add_grow(parser: argparse.ArgumentParser) -> None:
    count = parser.add_mutually_exclusive_group(required=True)
    count.add_argument("--partitions", metavar="N", type=int, help="so many in the end")
    count.add_argument("--by", metavar="N", type=int, help="so many more")


def topic_selectors(words: Sequence[str]) -> list[Selector]:
    """Names and patterns; `topic:` may stand before them."""
    return [parse_selector(each if each.startswith("topic:") else f"topic:{each}") for each in words]


def list_topics(options: argparse.Namespace, answer: CommandResult) -> None:
    selectors = topic_selectors(options.names)
    chosen = targets(options)
    answer.columns = [ResultColumn("context"), ResultColumn("topic"), ResultColumn("partitions")]
    answer.columns += (
        [ResultColumn("replication_factor", "REPLICAS"), ResultColumn("under_replicated")] if options.long else []
    )
    answer.columns += [ResultColumn("internal", show=lambda item: "internal" if item["internal"] else "")]
    on_each(chosen, answer, lambda here, admin: _list(options, answer, here.name, admin, selectors))


def _list(
    options: argparse.Namespace,
    answer: CommandResult,
    where: str,
    admin: SyncAdminClient,
    selectors: Sequence[Selector],
) -> None:
    found = admin.list_topics(internal=True)
    names = [name for name, each in found.items() if options.internal or not each.internal]
    if selectors:
        names = [each.name for each in resolve(admin, selectors)]
    described = admin.describe_topics(names) if options.long else None
    for name in names:
        listing = found.get(name)
        if listing is None:
            missing = ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "there is no such topic")
            answer.add(missing, context=where, topic=name, partitions=None, internal=None, topic_id=None)
            continue
        more = {} if described is None or name in described.failures else _shape(described[name])
        answer.add(
            context=where,
            topic=name,
            partitions=listing.partitions,
            **more,
            internal=listing.internal,
            topic_id=str(listing.topic_id),
        )


def _shape(topic: TopicDescription) -> dict[str, int]:
    return {
        "replication_factor": len(topic.partitions[0].replicas) if topic.partitions else 0,
        "under_replicated": sum(len(each.isr) < len(each.replicas) for each in topic.partitions),
    }


def create(options: argparse.Namespace, answer: CommandResult) -> None:
    from kconf.model.alteration import NewTopic, OpType
    from kconf.operations.assignments import alterations

    chosen = target(options)
    chosen.check_writable()
    selectors = topic_selectors(options.names)
    if any(each.pattern is not None for each in selectors):
        raise ConfigurationError("a topic is made by its name, not by a pattern")
    names = list(dict.fromkeys(name for each in selectors for name in each.names))
    wanted = alterations(OpType.SET, ResourceType.TOPIC, options.config) if options.config else ()
    configs = tuple((each.key, each.value) for each in wanted)
    wishes = {name: NewTopic(name, options.partitions, options.replication_factor, (), configs) for name in names}
    with chosen.open() as admin:
        plan = _creation_plan(admin, wishes, chosen.context.policy, answer)
        send = _by_name(lambda some, trial: admin.create_topics([wishes[e] for e in some], validate_only=trial))
        asks = not is_one_resource(selectors)
        what = f"create {_count(names)}"
        execute_plan(answer, options, chosen, admin, plan, send, asks=asks, what=what, columns=_columns())


def _creation_plan(
    admin: SyncAdminClient, wishes: Mapping[str, NewTopic], policy: str | None, answer: CommandResult
) -> ChangePlan:
    """The cluster says what it would make (KIP-525), and the policy judges that."""
    tried = admin.create_topics(wishes.values(), validate_only=True)
    failures = {Resource.topic(name): failure for name, failure in tried.failures.items()}
    edits = []
    for name, wish in wishes.items():
        resource = Resource.topic(name)
        made = None if resource in failures else tried[name]
        counts = (wish.partitions, wish.replication_factor)
        if made is not None and made.num_partitions is not None and made.replication_factor is not None:
            counts = (made.num_partitions, made.replication_factor)
        configs = ", ".join(f"{key}={value}" for key, value in wish.configs)
        new = ", ".join(filter(None, (_shown(*counts), configs)))
        shown = {"partitions": counts[0], "replication_factor": counts[1], "configs": dict(wish.configs)}
        edits.append(PlannedChange(resource, "", None, new, "create", None, new, kind=TOPIC, shown=shown))
        if policy is not None and made is not None:
            verdict = judge_creation(policy, wish, made, answer)
            failures.update({resource: verdict} if verdict is not None else {})
    return ChangePlan(edits, failures)


def delete(options: argparse.Namespace, answer: CommandResult) -> None:
    chosen = target(options)
    chosen.check_writable()
    selectors = topic_selectors(options.names)
    with chosen.open() as admin:
        resources = resolve(admin, selectors)
        described = admin.describe_topics([each.name for each in resources])
        failures = {Resource.topic(str(name)): failure for name, failure in described.failures.items()}
        for each in resources:
            if each.name in INTERNAL_TOPICS:
                failures[each] = ApiError(
                    ErrorCode.INVALID_TOPIC_EXCEPTION, "Kafka's own topics are never deleted here"
                )
        edits = [_deletion(each, described[each.name]) for each in resources if each not in failures]
        send = _by_name(lambda some, _: admin.delete_topics(some))
        what = f"delete {_count([each.name for each in resources])}"
        asks = not is_one_resource(selectors)
        plan = ChangePlan(edits, failures)
        columns = _columns()
        execute_plan(answer, options, chosen, admin, plan, send, asks=asks, what=what, validates=False, columns=columns)


def _deletion(resource: Resource, topic: TopicDescription) -> PlannedChange:
    shape = _shape(topic)
    old = _shown(len(topic.partitions), shape["replication_factor"])
    loss = "the topic and its data"
    return PlannedChange(resource, "", topic_text(topic), None, "delete", old, None, loss=loss, kind=TOPIC)


def topic_text(topic: TopicDescription) -> str:
    """A topic as the journal has it."""
    from kconf.model.resource import Topic
    from kconf.model.snapshot import topic_to_json

    return topic_to_json(Topic(topic.name, topic.topic_id, tuple(each.replicas for each in topic.partitions)))


def grow(options: argparse.Namespace, answer: CommandResult) -> None:
    chosen = target(options)
    chosen.check_writable()
    selectors = topic_selectors(options.names)
    with chosen.open() as admin:
        resources = resolve(admin, selectors)
        described = admin.describe_topics([each.name for each in resources])
        there = {each: described[each.name] for each in resources if each.name not in described.failures}
        counts = {each: _grown(options, len(topic.partitions)) for each, topic in there.items()}
        plan = ChangePlan(
            [_growth(each, topic, counts[each]) for each, topic in there.items()],
            {Resource.topic(str(name)): failure for name, failure in described.failures.items()},
        )
        if chosen.context.policy is not None:
            shapes = {each: (counts[each], _shape(topic)["replication_factor"]) for each, topic in there.items()}
            plan.failures.update(judge_growth(chosen.context.policy, admin, shapes, answer))
        send = _by_name(
            lambda some, trial: admin.create_partitions(
                {name: counts[Resource.topic(name)] for name in some}, validate_only=trial
            )
        )
        answer.notes.append("records with keys go to other partitions once a topic has grown")
        what = f"grow {_count([each.name for each in counts])}"
        asks = not is_one_resource(selectors)
        execute_plan(answer, options, chosen, admin, plan, send, asks=asks, what=what, columns=_columns())


def _grown(options: argparse.Namespace, before: int) -> int:
    count: int = options.partitions if options.partitions is not None else before + options.by
    return count


def _growth(resource: Resource, topic: TopicDescription, count: int) -> PlannedChange:
    old, new = _partitions(len(topic.partitions)), _partitions(count)
    return PlannedChange(resource, "", topic_text(topic), new, "grow", old, new, kind=TOPIC)


def _by_name(ask: Callable[[Sequence[str], bool], Results[Any, Any]]) -> Send:
    def send(resources: Sequence[Resource], validate_only: bool) -> Outcomes:
        failures = ask([each.name for each in resources], validate_only).failures
        return {each: failures.get(each.name) for each in resources}

    return send


def _partitions(count: int) -> str:
    return f"{count} partition{'' if count == 1 else 's'}"


def _columns() -> list[ResultColumn]:
    return plan_columns(keys=False)


def _shown(partitions: int, replicas: int) -> str:
    """Such as `1 partition, 3 replicas`; -1 is the cluster's default."""
    counts = ((partitions, "partition"), (replicas, "replica"))
    return ", ".join(f"{'default' if count < 0 else count} {what}{'' if count == 1 else 's'}" for count, what in counts)


def _count(names: Sequence[str]) -> str:
    return f"topic {names[0]}" if len(names) == 1 else f"{len(names)} topics"
