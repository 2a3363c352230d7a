"""`kconf check`: compare a cluster with its metadata log, and its brokers with each other."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from kconf.cli.common.command import command
from kconf.cli.common.options.controllers import add_controllers, with_controllers
from kconf.cli.common.target import add_target, target
from kconf.cli.output.result import FAILED, CommandResult, ResultColumn

if TYPE_CHECKING:
    from kconf.operations.target import Target

EXAMPLES: Final = """\
examples:
  kconf check -C prod
  kconf check -b localhost:9092 --controllers localhost:9093 --output json
  kconf check -C prod --upstream User:gateway

Finds ghost configs, brokers whose values differ, and unknown keys, and prints a fix for each. A ghost config is a
config of a deleted topic that a broker restores when it restarts. Finding one requires the metadata log, which no
longer has the config. Nothing is changed.
"""
_FOUND: Final = 3
_DIRECT: Final = "direct right"


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "check",
        help="find ghost configs, differing brokers, unknown keys",
        description="Compare a cluster with its metadata log, and its brokers with each other.",
        epilog=EXAMPLES,
    )
    add_target(parser)
    add_controllers(parser)
    parser.add_argument(
        "--upstream",
        metavar="PRINCIPAL",
        help="also list who may change the cluster without its gateway; PRINCIPAL is the gateway's account there",
    )
    parser.set_defaults(run=command("check", run_check))


def run_check(options: argparse.Namespace, result: CommandResult) -> None:
    from kconf.operations.metadata_log.check import check_cluster

    cluster = with_controllers(target(options), options)
    found = check_cluster(cluster)
    result.columns = [ResultColumn(each) for each in ("finding", "resource", "key", "detail")]
    result.columns.append(ResultColumn("cure", "FIX"))
    result.facts.update(context=cluster.name)
    for each in found.findings:
        result.add(finding=each.kind, resource=str(each.resource), key=each.key, detail=each.detail, cure=each.cure)
    if options.upstream is not None:
        _add_direct_rights(cluster, options.upstream, result)
    result.facts.update(unread=found.unread)
    result.notes += [*found.notes, *found.unread]
    if found.unread:
        result.status = FAILED
        result.notes.append("the check is incomplete: the resources named above could not be read")
    elif result.items:
        result.status = _FOUND
    else:
        result.notes.append("no problems found")


def _add_direct_rights(cluster: Target, account: str, result: CommandResult) -> None:
    from kconf.operations.access.acls import acl_text, parse_principal, resource_text
    from kconf.operations.access.direct_changes import NO_AUTHORIZER, NOT_SHOWN, SHARED_ACLS, direct_rights

    with cluster.open() as client:
        rights = direct_rights(client, parse_principal(account))
    if rights is None:
        result.add(finding=_DIRECT, resource="cluster", key="", detail=NO_AUTHORIZER, cure="configure an authorizer")
        return
    for each in rights:
        detail = f"{each.binding.principal} can {acl_text(each.binding)} directly, without the gateway"
        result.add(finding=_DIRECT, resource=resource_text(each.binding), key="", detail=detail, cure=each.cure)
    result.notes += [NOT_SHOWN, *([SHARED_ACLS] if rights else [])]
