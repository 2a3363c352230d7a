"""`kconf acl`: list, add and delete ACLs, and show who has access."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from kconf.cli.common.command import command
from kconf.cli.common.confirm import add_change
from kconf.cli.common.execute import execute
from kconf.cli.common.help import add_verb
from kconf.cli.common.target import add_target, on_each, target, targets
from kconf.cli.output.result import CommandResult, ResultColumn
from kconf.errors import ConfigurationError
from kconf.model.acl import AclBinding, AclFilter, AclType, Operation, PatternType, Permission
from kconf.operations.access.acls import (
    NO_ACL,
    NOBODY,
    OPERATIONS,
    RESOURCE_TYPES,
    SUPER_USERS,
    acl_fields,
    acl_text,
    add_request,
    delete_request,
    find_acls,
    matching_filter,
    operation_text,
    parse_named_resource,
    parse_operation,
    parse_operations,
    parse_principal,
    parse_resource_pattern,
)

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.operations.target import Target

EXAMPLES: Final = """\
examples:
  kconf acl list --principal User:alice
  kconf acl list --on topic:orders
  kconf acl who-can read topic:orders
  kconf acl add --principal User:alice --operation read,describe --on topic:orders
  kconf acl add --principal User:bob --operation all --on 'topic:logs.*' --on 'group:logs.*' --yes
  kconf acl add --principal User:eve --operation write --on cluster --deny --dry-run
  kconf acl delete --principal User:alice --yes

A name that ends in * is a prefix pattern; * alone matches every name. `list --on` shows every ACL that matches a
name; `delete --on` deletes only ACLs with exactly that pattern.
"""
_ANY_RESOURCE: Final[tuple[AclType, str | None, PatternType]] = (AclType.ANY, None, PatternType.ANY)
_COLUMNS: Final = tuple(map(ResultColumn, ("resource", "pattern", "principal", "host", "operation", "permission")))


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "acl",
        help="list, add and delete ACLs; show who has access",
        description="List, add and delete ACLs, and show who has access.",
        epilog=EXAMPLES,
    )
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, run, about in (
        ("list", list_acls, "List all ACLs, or those that match the options."),
        ("add", add_acls, "Add an ACL for each operation on each resource. Existing ACLs are kept."),
        (
            "delete",
            delete_acls,
            "Delete the ACLs that match the options. Deleting more than one asks for confirmation.",
        ),
    ):
        summary = about[0].lower() + about[1:].partition(". ")[0].rstrip(".")
        verb = add_verb(verbs, name, summary, about, EXAMPLES)
        _add_filter(verb, required=name == "add")
        if name != "list":
            add_change(verb)
        add_target(verb, several=name == "list")
        verb.set_defaults(run=command(f"acl {name}", run))
    _add_who_can(verbs)


def _add_who_can(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    about = (
        "Show which principals may perform an operation on a resource. As in Kafka, a DENY ACL takes precedence over "
        "every ALLOW ACL."
    )
    parser = add_verb(verbs, "who-can", "show who may perform an operation", about, EXAMPLES)
    parser.add_argument("operation", metavar="OPERATION", help="for example read, write, alter-configs")
    parser.add_argument("resource", metavar="RESOURCE", help=f"{':NAME, '.join(RESOURCE_TYPES)}:NAME")
    add_target(parser, several=True)
    parser.set_defaults(run=command("acl who-can", show_who_can))


_OF_NEW_ACL = (
    "only from this address (default: any)",
    "allow the operation (default)",
    "deny the operation, even if another ACL allows it",
)
_OF_FILTER = ("only ACLs with this host", "only ACLs that allow an operation", "only ACLs that deny an operation")
"""The help of --host, --allow and --deny."""


def _add_filter(parser: argparse.ArgumentParser, *, required: bool) -> None:
    add = parser.add_argument
    add("--principal", metavar="TYPE:NAME", required=required, help="for example User:alice")
    add("--operation", metavar="NAME,…", required=required, help=", ".join(OPERATIONS))
    add("--on", metavar="RESOURCE", action="append", required=required, help=f"{':NAME, '.join(RESOURCE_TYPES)}:NAME")
    host, allow, deny = _OF_NEW_ACL if required else _OF_FILTER
    add("--host", metavar="ADDRESS", default="*" if required else None, help=host)
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--allow", action="store_true", help=allow)
    either.add_argument("--deny", action="store_true", help=deny)


def list_acls(options: argparse.Namespace, result: CommandResult) -> None:
    result.columns = [ResultColumn("context"), *_COLUMNS]

    def query(here: Target, admin: SyncAdminClient) -> None:
        for acl in find_acls(admin, [matching_filter(each) for each in _filters(options)]):
            result.add(context=here.name, **acl_fields(acl))

    on_each(targets(options), result, query)


def show_who_can(options: argparse.Namespace, result: CommandResult) -> None:
    from kconf.engine.access.who_can import who_can

    kind, name = parse_named_resource(options.resource)
    operation = parse_operation(options.operation, kind)
    result.columns = [ResultColumn("context"), *map(ResultColumn, ("principal", "host", "except", "through"))]
    result.facts.update(operation=operation_text(operation), resource=options.resource, super_users=None)

    def query(here: Target, admin: SyncAdminClient) -> None:
        found = find_acls(admin, [AclFilter(kind, name, pattern=PatternType.MATCH)])
        grants = who_can(found, operation, kind, name)
        for each in grants:
            through = [acl_text(acl) for acl in each.through]
            fields = {"principal": each.principal, "host": each.host, "except": list(each.exceptions)}
            result.add(context=here.name, **fields, through=through)
        if not grants:
            result.notes.append(f"{here.name}: {NO_ACL if not found else NOBODY}")

    on_each(targets(options), result, query)
    result.notes.append(SUPER_USERS)
    if kind is AclType.TOPIC and operation is Operation.CREATE:
        result.notes.append(
            "a principal with CREATE on the cluster can create every topic: kconf acl who-can create cluster"
        )


def add_acls(options: argparse.Namespace, result: CommandResult) -> None:
    cluster = target(options)
    cluster.check_writable()
    permission = Permission.DENY if options.deny else Permission.ALLOW
    bindings = [
        AclBinding(kind, name, parse_principal(options.principal), operation, permission, pattern, options.host)
        for kind, name, pattern in map(parse_resource_pattern, options.on)
        for operation in parse_operations(options.operation)
    ]
    with cluster.open() as admin:
        request = add_request(admin, bindings, options.reason, confirm=len(options.on) > 1)
        execute(result, options, cluster, admin, request, [*_COLUMNS, ResultColumn("outcome")])


def delete_acls(options: argparse.Namespace, result: CommandResult) -> None:
    cluster = target(options)
    cluster.check_writable()
    filters = _filters(options)
    if filters == [AclFilter()]:
        raise ConfigurationError(
            "this would delete every ACL; pass at least one of --principal, --operation, --on or --host"
        )
    with cluster.open() as admin:
        found = find_acls(admin, filters)
        if not found:
            result.notes.append("no matching ACLs")
        request = delete_request(admin, found, options.reason)
        execute(result, options, cluster, admin, request, [*_COLUMNS, ResultColumn("outcome")])


def _filters(options: argparse.Namespace) -> list[AclFilter]:
    permission = Permission.DENY if options.deny else Permission.ALLOW if options.allow else Permission.ANY
    principal = None if options.principal is None else parse_principal(options.principal)
    return [
        AclFilter(kind, name, principal, operation, permission, pattern, options.host)
        for kind, name, pattern in (map(parse_resource_pattern, options.on) if options.on else [_ANY_RESOURCE])
        for operation in (parse_operations(options.operation) if options.operation else [Operation.ANY])
    ]
