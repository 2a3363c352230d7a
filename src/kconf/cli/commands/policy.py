"""`kconf policy`: check a file of rules, and try it on a cluster."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from kconf.errors import ApiError, ConfigurationError, UnsupportedVersion

if TYPE_CHECKING:
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.engine.policy.rules import Finding, Rules, Subject
    from kconf.model.entry import View
    from kconf.model.resource import Resource

T = TypeVar("T")

_EXAMPLES = """\
examples:
  kconf policy check policy.yaml
  kconf policy test policy.yaml -b 127.0.0.1:9092
  kconf policy test policy.yaml -b broker:9093 --command-config client.properties

The language: docs/how-to/write-a-policy.md. A server judges by the file that its policy.file names.
"""
_AT_ONCE = 200  # resources per request


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
    print(f"{options.file}: {_count(len(rules.rules), 'rule')}, no mistakes")
    return 0


def run_test(options: argparse.Namespace) -> int:
    from kconf.client.admin_sync import SyncAdminClient

    rules = _load(options.file)
    if rules is None:
        return 2
    properties = options.command_config if options.command_config is not None else {}
    with SyncAdminClient.from_properties(properties, options.bootstrap) as client:
        return _report(rules, _subjects(client, rules))


def _load(path: Path) -> Rules | None:
    from kconf.configdef.catalog import kafka_43
    from kconf.server.policy.rules_file import load_rules

    try:
        return load_rules(str(path), kafka_43())
    except ConfigurationError as error:
        print(error, file=sys.stderr)
        return None


def _report(rules: Rules, subjects: Iterable[tuple[Resource, Subject | ApiError]]) -> int:
    """Print what does not hold, resource by resource, and a last line that sums up."""
    from kconf.engine.policy.rules import Severity

    judged = errors = warnings = unread = 0
    for resource, subject in subjects:
        if isinstance(subject, ApiError):
            unread += 1
            print(f"{resource}: cannot be read: {subject.message or subject.code.name}", file=sys.stderr)
            continue
        judged += 1
        findings: Sequence[Finding] = rules.judge(subject)
        for finding in findings:
            print(f"{resource}: {finding.rule.severity}: {finding.text}")
        refusals = sum(finding.rule.severity is Severity.ERROR for finding in findings)
        errors, warnings = errors + refusals, warnings + len(findings) - refusals
    total = f"{_count(judged, 'resource')} judged by {_count(len(rules.rules), 'rule')}"
    print(f"{total}: {_count(errors, 'error')}, {_count(warnings, 'warning')}")
    return 1 if errors or unread else 0


def _subjects(client: SyncAdminClient, rules: Rules) -> Iterator[tuple[Resource, Subject | ApiError]]:
    """What the cluster has, of the types that the rules are about."""
    from kconf.model.resource import Resource, ResourceType

    wanted = frozenset(kind for rule in rules.rules for kind in rule.types)
    if ResourceType.TOPIC in wanted:
        names = sorted(client.list_topics(internal=True))
        for some in _batches(names):
            shapes = client.describe_topics(some)
            yield from _described(
                client,
                [Resource.topic(name) for name in some],
                {
                    Resource.topic(name): (len(shape.partitions), len(shape.partitions[0].replicas))
                    for name, shape in ((name, shapes[name]) for name in some if name not in shapes.failures)
                    if shape.partitions
                },
            )
    if ResourceType.BROKER in wanted:
        nodes = [Resource.broker(number) for number in sorted(client.describe_cluster().nodes)]
        yield from _described(client, [Resource.brokers(), *nodes])
    others = sorted(wanted & {ResourceType.GROUP, ResourceType.CLIENT_METRICS})
    if others:
        try:
            found = sorted(client.list_config_resources(others))
        except UnsupportedVersion:
            words = " and ".join(kind.word for kind in others)
            print(f"this cluster cannot list {words} resources; they were not judged", file=sys.stderr)
            return
        for group in _batches(found):
            yield from _described(client, group)


def _described(
    client: SyncAdminClient, resources: Sequence[Resource], shapes: dict[Resource, tuple[int, int]] | None = None
) -> Iterator[tuple[Resource, Subject | ApiError]]:
    described = client.describe_configs(resources)
    for resource in resources:
        failure = described.failures.get(resource)
        shape = (shapes or {}).get(resource, (None, None))
        yield resource, failure if failure is not None else _subject(resource, described[resource], shape)


def _subject(resource: Resource, view: View, shape: tuple[int | None, int | None]) -> Subject:
    from kconf.engine.policy.rules import Subject
    from kconf.model.entry import own_source

    values = {entry.name: entry.value for entry in view.entries if entry.value is not None}
    own = own_source(resource)
    return Subject(resource, values, frozenset(entry.name for entry in view.entries if entry.source == own), *shape)


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[first : first + _AT_ONCE] for first in range(0, len(items), _AT_ONCE))


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
