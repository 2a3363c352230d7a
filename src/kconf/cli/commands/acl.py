"""`kconf acl`: who may do what."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from kconf.cli.common.confirm import add_change
from kconf.cli.common.help import add_verb
from kconf.cli.common.target import add_target, on_each, target, targets
from kconf.cli.output.result import CommandResult, ResultColumn, command
from kconf.errors import ConfigurationError
from kconf.model.acl import CLUSTER_NAME, AclBinding, AclFilter, AclType, Operation, PatternType, Permission
from kconf.operations.execute import execute_plan
from kconf.operations.planned_change import ChangePlan, PlannedChange

if TYPE_CHECKING:
    from kconf.cli.common.target import Target
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.model.resource import Resource
    from kconf.operations.execute import Outcomes, Send

EXAMPLES: Final = """\
examples:
  kconf acl list --principal User:alice
  kconf acl add --principal User:alice --operation read,describe --on topic:orders
  kconf acl add --principal User:bob --operation all --on 'topic:logs.*' --on 'group:logs.*' --yes
  kconf acl add --principal User:eve --operation write --on cluster --deny --dry-run
  kconf acl delete --principal User:alice --yes

A name that ends in * means all names that begin with what is before it; * alone means every name.
"""
_TYPES: Final = {
    "topic": AclType.TOPIC,
    "group": AclType.GROUP,
    "cluster": AclType.CLUSTER,
    "transactional-id": AclType.TRANSACTIONAL_ID,
    "delegation-token": AclType.DELEGATION_TOKEN,
    "user": AclType.USER,
}
_WORDS: Final = {each: word for word, each in _TYPES.items()}
_OPERATIONS: Final = {
    each.name.lower().replace("_", "-"): each for each in Operation if each not in (Operation.UNKNOWN, Operation.ANY)
}


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "acl",
        help="list, add and delete ACLs",
        description="List, add and delete ACLs: who may do what.",
        epilog=EXAMPLES,
    )
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, run, about in (
        ("list", list_acls, "List ACLs: all, or those that the options match."),
        ("add", add_acls, "Add ACLs: each operation on each resource. What is there already stays."),
        (
            "delete",
            delete_acls,
            "Delete the ACLs that the options match. One is deleted at once, more are asked about.",
        ),
    ):
        verb = add_verb(verbs, name, about.partition(":")[0].rstrip(".").lower(), about, EXAMPLES)
        _add_whom(verb, required=name == "add")
        if name != "list":
            add_change(verb)
        add_target(verb, several=name == "list")
        verb.set_defaults(run=command(f"acl {name}", run))


def _add_whom(parser: argparse.ArgumentParser, *, required: bool) -> None:
    add = parser.add_argument
    add("--principal", metavar="TYPE:NAME", required=required, help="such as User:alice")
    add("--operation", metavar="NAME,…", required=required, help=", ".join(_OPERATIONS))
    add("--on", metavar="RESOURCE", action="append", required=required, help=f"{':NAME, '.join(_WORDS.values())}:NAME")
    add("--host", metavar="ADDRESS", default="*" if required else None, help="from there only")
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--allow", action="store_true", help="may do it" + (" (default)" if required else ""))
    either.add_argument("--deny", action="store_true", help="may not do it, whatever else allows it")


def list_acls(options: argparse.Namespace, answer: CommandResult) -> None:
    answer.columns = [ResultColumn("context"), *_COLUMNS]

    def look(here: Target, admin: SyncAdminClient) -> None:
        for acl in dict.fromkeys(acl for wanted in _filters(options) for acl in admin.describe_acls(wanted)):
            answer.add(context=here.name, **fields_of(acl))

    on_each(targets(options), answer, look)


def add_acls(options: argparse.Namespace, answer: CommandResult) -> None:
    chosen = target(options)
    chosen.check_writable()
    permission = Permission.DENY if options.deny else Permission.ALLOW
    bindings = [
        AclBinding(kind, name, _principal(options.principal), operation, permission, pattern, options.host)
        for kind, name, pattern in map(_resource, options.on)
        for operation in _operations(options.operation)
    ]
    with chosen.open() as admin:
        there = {acl for each in bindings for acl in admin.describe_acls(each.filter())}
        edits = {each: _edit(each, before=each in there, after=True) for each in bindings}

        def send(resources: Sequence[Resource], _: bool) -> Outcomes:
            wanted = {acl: edit for acl, edit in edits.items() if edit.resource in resources and acl not in there}
            failures = admin.create_acls(wanted).failures
            return {(edit.resource, edit.key): failures.get(acl) for acl, edit in wanted.items()}

        _carry_out(answer, options, chosen, admin, list(edits.values()), send, asks=len(options.on) > 1, verb="add")


def delete_acls(options: argparse.Namespace, answer: CommandResult) -> None:
    chosen = target(options)
    chosen.check_writable()
    wanted = _filters(options)
    if wanted == [AclFilter()]:
        raise ConfigurationError("this would delete every ACL; say at least --principal, --operation, --on or --host")
    with chosen.open() as admin:
        found = list(dict.fromkeys(acl for each in wanted for acl in admin.describe_acls(each)))
        if not found:
            answer.notes.append("no ACL is like that")
        edits = {each: _edit(each, before=True, after=False) for each in found}

        def send(resources: Sequence[Resource], _: bool) -> Outcomes:
            some = {acl.filter(): edit for acl, edit in edits.items() if edit.resource in resources}
            failures = admin.delete_acls(some).failures
            return {(edit.resource, edit.key): failures.get(each) for each, edit in some.items()}

        _carry_out(answer, options, chosen, admin, list(edits.values()), send, asks=len(edits) > 1, verb="delete")


def _carry_out(
    answer: CommandResult,
    options: argparse.Namespace,
    chosen: Target,
    admin: SyncAdminClient,
    edits: Sequence[PlannedChange],
    send: Send,
    *,
    asks: bool,
    verb: str,
) -> None:
    what = f"{verb} {len(edits)} ACL{'' if len(edits) == 1 else 's'}"
    columns = [*_COLUMNS, ResultColumn("outcome")]
    plan = ChangePlan(list(edits), {})
    execute_plan(answer, options, chosen, admin, plan, send, asks=asks, what=what, validates=False, columns=columns)


def fields_of(acl: AclBinding) -> dict[str, Any]:
    name = f"{acl.name}*" if acl.pattern is PatternType.PREFIXED else acl.name
    word = _WORDS.get(acl.resource_type, acl.resource_type.name.lower())
    return {
        "resource": word if acl.resource_type is AclType.CLUSTER else f"{word}:{name}",
        "pattern": acl.pattern.name.lower(),
        "principal": acl.principal,
        "host": acl.host,
        "operation": acl.operation.name.lower().replace("_", "-"),
        "permission": acl.permission.name.lower(),
    }


def _edit(acl: AclBinding, *, before: bool, after: bool) -> PlannedChange:
    from kconf.engine.access.acls import key_of, pattern_of

    text = {True: "", False: None}
    shown = {"key": None, **fields_of(acl)}
    op = "set" if after else "delete"
    return PlannedChange(pattern_of(acl).resource, key_of(acl), text[before], text[after], op, shown=shown)


def _filters(options: argparse.Namespace) -> list[AclFilter]:
    permission = Permission.DENY if options.deny else Permission.ALLOW if options.allow else Permission.ANY
    principal = None if options.principal is None else _principal(options.principal)
    return [
        AclFilter(kind, name, principal, operation, permission, pattern, options.host)
        for kind, name, pattern in ([_resource(each) for each in options.on] if options.on else [_ANYWHERE])
        for operation in (_operations(options.operation) if options.operation else [Operation.ANY])
    ]


_ANYWHERE: Final[tuple[AclType, str | None, PatternType]] = (AclType.ANY, None, PatternType.ANY)


def _resource(word: str) -> tuple[AclType, str, PatternType]:
    kind_word, colon, name = word.partition(":")
    kind = _TYPES.get(kind_word)
    if kind is None or (not name and kind is not AclType.CLUSTER):
        names = ", ".join(each if each == "cluster" else f"{each}:NAME" for each in _TYPES)
        raise ConfigurationError(f"{word!r} is nothing that ACLs are about; write {names}")
    if kind is AclType.CLUSTER:
        if colon and name != CLUSTER_NAME:
            raise ConfigurationError("the cluster has no other name; write cluster")
        return kind, CLUSTER_NAME, PatternType.LITERAL
    if name != "*" and name.endswith("*"):
        return kind, name[:-1], PatternType.PREFIXED
    return kind, name, PatternType.LITERAL


def _operations(text: str) -> list[Operation]:
    words = [each.strip().lower().replace("_", "-") for each in text.split(",") if each.strip()]
    for each in words:
        if each not in _OPERATIONS:
            raise ConfigurationError(f"{each!r} is no operation; they are {', '.join(_OPERATIONS)}")
    if not words:
        raise ConfigurationError("--operation names none")
    return [_OPERATIONS[each] for each in dict.fromkeys(words)]


def _principal(text: str) -> str:
    kind, colon, name = text.partition(":")
    if not colon or not kind or not name:
        raise ConfigurationError(f"{text!r} is no principal; write User:NAME")
    return text


_COLUMNS: Final = tuple(map(ResultColumn, ("resource", "pattern", "principal", "host", "operation", "permission")))
