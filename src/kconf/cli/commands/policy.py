"""`kconf policy`: check a policy file, or test it against a cluster."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kconf.cli.common.command import command
from kconf.cli.common.target import add_target, on_each, targets
from kconf.cli.output.result import FAILED, CommandResult, ResultColumn
from kconf.errors import ConfigurationError

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.engine.policy.conditions import Rule
    from kconf.engine.policy.risk_rules import RiskRule
    from kconf.engine.policy.rules import Rules
    from kconf.model.resource import Resource

_EXAMPLES = """\
examples:
  kconf policy check policy.yaml
  kconf policy test policy.yaml
  kconf policy test policy.yaml -C 'prod-*' --output json
  kconf policy test policy.yaml -b broker:9093 --command-config client.properties

Policy language: docs/how-to/write-a-policy.md. A server enforces the policy that its policy.file names.
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "policy",
        help="check a policy file, or test it against a cluster",
        description="Check a policy file, or test it against a cluster.",
        epilog=_EXAMPLES,
    )
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    check = verbs.add_parser(
        "check",
        help="list every error in a policy file",
        description="List every error in a policy file, with line and column. Exit code 0: no errors; 2: errors found.",
    )
    check.add_argument("file", metavar="FILE", type=Path, help="the policy file")
    check.set_defaults(run=run_check)
    test = verbs.add_parser(
        "test",
        help="show what the policy would refuse on a cluster now",
        description=(
            "Evaluate the policy against the current state of clusters. Nothing is changed. Exit code 0: no "
            "violations; 1: violations found; 2: the policy file has errors."
        ),
    )
    test.add_argument("file", metavar="FILE", type=Path, help="the policy file")
    add_target(test, several=True)
    test.set_defaults(run=command("policy test", run_test))


def run_check(options: argparse.Namespace) -> int:
    rules = _load(options.file)
    if rules is None:
        return 2
    print(f"{options.file}: {_count(rules.count, 'rule')}, no errors")
    return 0


def _load(path: Path) -> Rules | None:
    from kconf.configdef.catalog import kafka_43
    from kconf.server.policy.rules_file import load_rules

    try:
        return load_rules(str(path), kafka_43())
    except ConfigurationError as error:
        print(error, file=sys.stderr)
        return None


def run_test(options: argparse.Namespace, result: CommandResult) -> None:
    from kconf.configdef.catalog import kafka_43
    from kconf.server.policy.rules_file import load_rules

    rules = load_rules(str(options.file), kafka_43())
    counts = dict.fromkeys(("evaluated", "errors", "warnings"), 0)
    result.columns = [ResultColumn("context"), *map(ResultColumn, ("resource", "severity", "rule", "key", "finding"))]
    result.hidden = frozenset({"rule", "key"})
    on_each(targets(options), result, lambda here, admin: _evaluate(result, here.name, admin, rules, counts))
    result.facts.update(file=str(options.file), rules=rules.count, **counts)
    total = f"{_count(counts['evaluated'], 'resource')} checked against {_count(rules.count, 'rule')}"
    result.notes.append(f"{total}: {_count(counts['errors'], 'error')}, {_count(counts['warnings'], 'warning')}")
    result.status = FAILED if counts["errors"] else result.status


def _evaluate(
    result: CommandResult, context: str, admin: SyncAdminClient, rules: Rules, counts: dict[str, int]
) -> None:
    """Add the findings for one cluster to the result, and count them in `counts`."""
    from kconf.engine.policy.selectors import Severity
    from kconf.operations.policy.report import NotListed, evaluate_cluster

    evaluated: set[Resource] = set()
    for each in evaluate_cluster(admin, rules):
        if isinstance(each, NotListed):
            types = " and ".join(kind.word for kind in each.types)
            result.notes.append(f"{context} cannot list {types} resources; they were not checked")
            continue
        place = {"context": context, "resource": str(each.resource)}
        if each.failure is not None:
            result.add(each.failure, **place, severity=None, rule=None, key=None, finding=None)
            continue
        counts["evaluated"] += (
            each.resource not in evaluated
        )  # a broker is also checked for the values that topics inherit from it
        evaluated.add(each.resource)
        for found in each.findings:
            rule = found.rule
            result.add(**place, severity=str(rule.severity), rule=rule.id, key=_key_of(rule), finding=found.text)
            counts["errors" if rule.severity is Severity.ERROR else "warnings"] += 1


def _key_of(rule: Rule | RiskRule) -> str | None:
    from kconf.engine.policy.conditions import Rule

    return rule.key.name if isinstance(rule, Rule) else None  # a rule about risks has no key


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
