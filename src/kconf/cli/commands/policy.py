"""`kconf policy`: check a file of rules, and try it on a cluster."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kconf.errors import ConfigurationError

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.engine.policy.rules import Rules

_EXAMPLES = """\
examples:
  kconf policy check policy.yaml
  kconf policy test policy.yaml -b 127.0.0.1:9092
  kconf policy test policy.yaml -b broker:9093 --command-config client.properties

The language: docs/how-to/write-a-policy.md. A server judges by the file that its policy.file names.
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "policy",
        help="check a file of rules, or try it on a cluster",
        description="Check a file of rules, or try it on a cluster.",
        epilog=_EXAMPLES,
    )
    verbs = command.add_subparsers(title="commands", metavar="COMMAND", required=True)
    check = verbs.add_parser(
        "check",
        help="list every mistake in a file of rules",
        description="List every mistake in a file of rules, with line and column. 0: there is none; 2: there are some.",
    )
    check.add_argument("file", metavar="FILE", type=Path, help="the rules")
    check.set_defaults(run=run_check)
    test = verbs.add_parser(
        "test",
        help="tell what the rules would refuse today on a cluster",
        description="Judge everything that a cluster has now, and change nothing. "
        "0: nothing is refused; 1: something is; 2: the file has mistakes.",
    )
    test.add_argument("file", metavar="FILE", type=Path, help="the rules")
    test.add_argument("-b", "--bootstrap", metavar="HOST:PORT", required=True, help="any broker of the cluster")
    test.add_argument("--command-config", metavar="FILE", type=Path, help="properties of the client, in Kafka's format")
    test.set_defaults(run=run_test)


def run_check(options: argparse.Namespace) -> int:
    rules = _load(options.file)
    if rules is None:
        return 2
    print(f"{options.file}: {_count(rules.count, 'rule')}, no mistakes")
    return 0


def run_test(options: argparse.Namespace) -> int:
    from kconf.client.admin_sync import SyncAdminClient

    rules = _load(options.file)
    if rules is None:
        return 2
    properties = options.command_config if options.command_config is not None else {}
    with SyncAdminClient.from_properties(properties, options.bootstrap) as client:
        return _report(rules, client)


def _load(path: Path) -> Rules | None:
    from kconf.configdef.catalog import kafka_43
    from kconf.server.policy.rules_file import load_rules

    try:
        return load_rules(str(path), kafka_43())
    except ConfigurationError as error:
        print(error, file=sys.stderr)
        return None


def _report(rules: Rules, client: SyncAdminClient) -> int:
    """Print the findings, resource by resource, and a summary."""
    from kconf.engine.policy.selectors import Severity
    from kconf.operations.policy.report import NotListed, evaluate_cluster

    evaluated = errors = warnings = unread = 0
    for each in evaluate_cluster(client, rules):
        if isinstance(each, NotListed):
            types = " and ".join(kind.word for kind in each.types)
            print(f"this cluster cannot list {types} resources; they were not judged", file=sys.stderr)
            continue
        if each.failure is not None:
            unread += 1
            reason = each.failure.message or each.failure.code.name
            print(f"{each.resource}: cannot be read: {reason}", file=sys.stderr)
            continue
        evaluated += 1
        for finding in each.findings:
            print(f"{each.resource}: {finding.rule.severity}: {finding.text}")
        refusals = sum(finding.rule.severity is Severity.ERROR for finding in each.findings)
        errors, warnings = errors + refusals, warnings + len(each.findings) - refusals
    total = f"{_count(evaluated, 'resource')} judged by {_count(rules.count, 'rule')}"
    print(f"{total}: {_count(errors, 'error')}, {_count(warnings, 'warning')}")
    return 1 if errors or unread else 0


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
