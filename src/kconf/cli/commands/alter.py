"""`kconf set`, `unset`, `append`, `subtract`: change keys of one resource or of thousands."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from kconf.cli.common.confirm import add_change
from kconf.cli.common.target import add_target, target
from kconf.cli.output.result import CommandResult, command
from kconf.errors import ConfigurationError
from kconf.model.alteration import AlterConfigOp, OpType
from kconf.operations.execute import add_bulk, execute_plan
from kconf.operations.selectors import is_one_resource, is_selector, parse_selector, parse_selectors, resolve

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kconf.client.admin_sync import SyncAdminClient
    from kconf.errors import ApiError
    from kconf.model.resource import Resource
    from kconf.operations.execute import Outcomes, Send
    from kconf.operations.planned_change import ChangePlan, PlannedChange

_VERBS: Final = {
    "set": (
        OpType.SET,
        "set keys of topics, brokers, groups",
        "KEY=VALUE",
        "Set keys. Values may have units: 7d, 1GiB.",
    ),
    "unset": (OpType.DELETE, "remove what is set, so that what is inherited holds", "KEY", "Remove what is set."),
    "append": (OpType.APPEND, "add items to a list", "KEY=ITEM,…", "Add items to lists; what is there already stays."),
    "subtract": (OpType.SUBTRACT, "take items out of a list", "KEY=ITEM,…", "Take items out of lists."),
}
EXAMPLES: Final = {
    "set": """\
examples:
  kconf set topic:orders retention.ms=7d max.message.bytes=2MiB
  kconf set 'topic:logs.*' segment.bytes=256MiB --dry-run
  kconf set topic:@names.txt compression.type=zstd --yes --resume done.txt --rate 500
  kconf set broker:default log.cleaner.threads=2 --yes
  kconf set broker:1 listener.name.sasl.ssl.keystore.password=@/run/secrets/keystore --dry-run

A value that begins with @ is the name of a file that holds it, env:NAME names a variable, and - asks for it: a secret
need not stand on the command line. @@ and \\env: stand for themselves.
""",
    "unset": """\
examples:
  kconf unset topic:orders max.message.bytes
  kconf unset 'topic:/^logs/' segment.bytes --yes
""",
    "append": """\
examples:
  kconf append topic:orders cleanup.policy=compact --allow-data-loss
""",
    "subtract": """\
examples:
  kconf subtract topic:orders cleanup.policy=compact
""",
}


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    for verb, (op, brief, form, about) in _VERBS.items():
        parser = commands.add_parser(
            verb,
            help=brief,
            description=f"{about} One named resource changes at once; a pattern or a default is asked about first.",
            epilog=EXAMPLES[verb],
        )
        parser.add_argument("words", metavar=f"RESOURCE… {form}…", nargs="+", help="what to change, and how")
        add_change(parser)
        add_bulk(parser)
        add_target(parser)
        parser.set_defaults(run=command(verb, alter), op=op, rest="words")


def alter(options: argparse.Namespace, answer: CommandResult) -> None:
    selectors = parse_selectors(each for each in options.words if is_selector(each))
    rest = [each for each in options.words if not is_selector(each)]
    if not selectors:
        if "=" not in rest[0]:
            parse_selector(rest[0])  # says what is wrong with it
        raise ConfigurationError(f"kconf {answer.command} needs a resource, such as topic:NAME")
    kinds = {each.type for each in selectors}
    if len(kinds) > 1:
        raise ConfigurationError("resources of several types have no keys in common; change them one type at a time")
    from kconf.operations.assignments import alterations

    chosen = target(options)
    chosen.check_writable()
    wanted = alterations(options.op, kinds.pop(), rest)
    with chosen.open() as admin:
        from kconf.operations.planned_change import plan_configs

        resources = resolve(admin, selectors)
        wishes = dict.fromkeys(resources, wanted)
        plan = plan_configs(admin, wishes)
        _note_what_is_not_set(answer, plan)
        execute_plan(
            answer,
            options,
            chosen,
            admin,
            plan,
            send_configs(admin, wishes, options.reason),
            asks=not is_one_resource(selectors),
            what=f"change {_count(resources)}",
            wish=repr([tuple(each) for each in wanted]),
        )


def _note_what_is_not_set(answer: CommandResult, plan: ChangePlan) -> None:
    """No server complains about it: a misspelt key, perhaps."""
    by_key: dict[str, list[PlannedChange]] = {}
    for edit in plan.edits:
        by_key.setdefault(edit.key, []).append(edit)
    for key, edits in by_key.items():
        if all(each.op == "delete" and each.unchanged for each in edits):
            answer.notes.append(f"{key} is set nowhere there; nothing is removed")


def send_configs(
    admin: SyncAdminClient, wishes: Mapping[Resource, Sequence[AlterConfigOp]], reason: str | None
) -> Send:
    """Incremental alterations, pipelined. On a kconf server the reason is journalled, too."""

    def send(resources: Sequence[Resource], validate_only: bool) -> Outcomes:
        results = admin.incremental_alter_configs(
            {each: wishes[each] for each in resources}, validate_only=validate_only, reason=reason
        )
        failures = results.failures
        return {each: _scrubbed(failures.get(each), each, wishes[each]) for each in resources}

    return send


def _scrubbed(failure: ApiError | None, resource: Resource, wishes: Sequence[AlterConfigOp]) -> ApiError | None:
    """A server's words, less the secrets that we sent it."""
    if failure is None or not failure.message:
        return failure
    from kconf.configdef.lookup import known_key
    from kconf.configdef.sensitive import HIDDEN
    from kconf.operations.planned_change import is_sensitive

    said = failure.message
    for each in wishes:
        if each.value and is_sensitive(resource, each.key, known_key(resource.type, each.key), None):
            said = said.replace(each.value, HIDDEN)
    return failure._replace(message=said)


def _count(resources: Sequence[Resource]) -> str:
    if len(resources) == 1:
        return str(resources[0])
    return f"{len(resources)} {resources[0].type.word}s"
