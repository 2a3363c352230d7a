"""`kconf describe`: show the configs set on resources, or all effective values, with their sources."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from kconf.cli.common.command import command
from kconf.cli.common.options.where import add_where, conditions_of, select
from kconf.cli.common.target import add_target, on_each, targets
from kconf.cli.output.result import CommandResult, ResultColumn
from kconf.cli.terminal.input import read_stdin
from kconf.errors import ApiError, ErrorCode
from kconf.model.resource import Resource, ResourceType
from kconf.operations.key_notes import unknown_key_notes
from kconf.operations.selection.selectors import is_one_resource, parse_selectors, resolve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kconf.cli.output.result import Item
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.model.entry import Entry, View
    from kconf.operations.selection.selectors import Selector
    from kconf.operations.where import WhereCondition

EXAMPLES = """\
examples:
  kconf describe topic:orders
  kconf describe topic:orders --all
  kconf describe 'topic:logs.*' --key retention.ms --output csv
  kconf describe 'topic:*' --where 'retention.ms>30d' --where cleanup.policy=delete
  kconf describe broker:default 'broker:*'
  kconf describe topic:orders -C 'prod-*' --output json
"""
NOTHING = "has no configs set; use --all to show inherited values"
NO_KEY = "does not set that key and inherits no value; use --all to list its keys"


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "describe",
        help="show configs of topics, brokers and groups",
        description="Show the configs set on resources. With --all, also inherited values.",
        epilog=EXAMPLES,
    )
    parser.add_argument("resources", metavar="RESOURCE", nargs="+", help="topic:NAME, topic:GLOB, broker:1, …")
    parser.add_argument("--all", action="store_true", help="also show inherited values")
    parser.add_argument("--key", metavar="KEY", action="append", help="only these keys, including inherited values")
    add_where(parser)
    add_target(parser, several=True)
    parser.set_defaults(run=command("describe", describe), rest="resources")


def describe(options: argparse.Namespace, result: CommandResult) -> None:
    selectors = parse_selectors(options.resources, read_stdin)
    conditions = conditions_of(options, [each.type for each in selectors])
    chosen = targets(options)
    result.columns = list(_COLUMNS)
    result.facts["contexts"] = [each.name for each in chosen]
    result.hidden = frozenset({"resource", "sensitive"} if is_one_resource(selectors) else {"sensitive"})
    on_each(chosen, result, lambda here, admin: _describe(options, result, here.name, admin, selectors, conditions))


def _describe(
    options: argparse.Namespace,
    result: CommandResult,
    where: str,
    admin: SyncAdminClient,
    selectors: Sequence[Selector],
    conditions: Sequence[WhereCondition],
) -> None:
    resources = resolve(admin, selectors)
    if conditions:
        matching = select(admin, resources, conditions, result, lambda e: {"context": where, **_fields(e, None)})
        resources = list(matching)
    compared = {each.key.name for each in conditions}
    keys = dict.fromkeys(resources, options.key) if options.key else None
    described = admin.describe_configs(resources, keys=keys, synonyms=True)
    failures = described.failures
    unknown = _unknown_keys([described[each] for each in resources if each not in failures], options.key, selectors)
    for each in unknown:
        failure = ApiError(ErrorCode.INVALID_CONFIG, f"unknown key {each}")
        named = " ".join(options.resources)
        result.add(failure, context=where, **{**_fields(resources[0], None), "resource": named, "key": each})
    for resource in resources:
        if resource in failures:
            result.add(failures[resource], context=where, **_fields(resource, None))
            continue
        entries = described[resource].entries
        shown = [e for e in entries if options.all or options.key or e.name in compared or _is_own(resource, e)]
        for entry in shown:
            result.add(context=where, **_fields(resource, entry))
        if not shown and not unknown:
            result.notes.append(f"{resource} " + (NO_KEY if options.key else NOTHING))
    if options.key and _is_default(selectors):
        result.notes += unknown_key_notes(admin.cluster_release(), ((ResourceType.BROKER, e) for e in options.key))


def _unknown_keys(views: Sequence[View], keys: Sequence[str] | None, selectors: Sequence[Selector]) -> list[str]:
    """Misspelled keys: no resource has them, and Kafka does not define them for these types.

    `broker:default` shows only the keys set on it, so a key that it does not show may be a newer one.
    """
    if not views or not keys or _is_default(selectors):
        return []
    from kconf.configdef.lookup import known_key

    present = {entry.name for view in views for entry in view.entries}
    kinds = {each.type for each in selectors}
    missing = [each for each in dict.fromkeys(keys) if each not in present]
    return [each for each in missing if not any(known_key(kind, each) for kind in kinds)]


def _is_default(selectors: Sequence[Selector]) -> bool:
    return all(each.resources == [Resource.brokers()] for each in selectors)


def _is_own(resource: Resource, entry: Entry) -> bool:
    from kconf.model.entry import own_source

    return entry.source == own_source(resource)


def _fields(resource: Resource, entry: Entry | None) -> dict[str, Any]:
    fields: dict[str, Any] = {"resource": str(resource)}
    if entry is None:
        return {**fields, "key": None, "value": None, "source": None, "update": None, "sensitive": None, "synonyms": []}
    from kconf.configdef.lookup import update_mode
    from kconf.operations.planned_change import SOURCES

    return {
        **fields,
        "key": entry.name,
        "value": None if entry.sensitive else entry.value,
        "source": SOURCES[entry.source],
        "update": update_mode(resource, entry),
        "sensitive": entry.sensitive,
        "synonyms": [{"key": e.name, "value": e.value, "source": SOURCES[e.source]} for e in entry.synonyms],
    }


def _value(item: Item) -> str:
    from kconf.configdef.units import shown_value

    return "[hidden]" if item["sensitive"] else shown_value(item["key"], item["value"])


_COLUMNS = (
    ResultColumn("context"),
    ResultColumn("resource"),
    ResultColumn("key"),
    ResultColumn("value", show=_value),
    ResultColumn("source"),
    ResultColumn("update"),
    ResultColumn("sensitive"),
)
