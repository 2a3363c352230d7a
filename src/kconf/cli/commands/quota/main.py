"""`kconf quota`: list and explain quotas, on kconf and on any Kafka. The commands that change quotas are in changes.py.

A quota is set for an entity: a user, a client ID, a pair of them, an IP address, or the default of any. A user with a
client ID can have quotas on several levels, and the first one applies; `explain` shows all of them.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, Final

from kconf.cli.common.command import Command, command
from kconf.cli.common.options.quota_entity import add_quota_entity, needed_entity, quota_entity
from kconf.cli.common.target import add_target, target
from kconf.cli.output.result import CommandResult, ResultColumn
from kconf.errors import ConfigurationError

if TYPE_CHECKING:
    from kconf.cli.output.result import Item
    from kconf.model.quota import QuotaCandidate, QuotaEntity

_EXAMPLES: Final = """\
examples:
  kconf quota set --user alice producer_byte_rate=10MiB consumer_byte_rate=20MiB
  kconf quota set --user-default --client-id-default request_percentage=50 --yes
  kconf quota list --user alice
  kconf quota explain --user alice --client-id app
  kconf quota what-if --user alice producer_byte_rate=5MiB
  kconf quota unset --user alice consumer_byte_rate
  kconf quota export --out quotas.yaml
  kconf quota load quotas.yaml --dry-run

Quotas: producer_byte_rate, consumer_byte_rate, request_percentage and controller_mutation_rate for users and client
IDs, connection_creation_rate for IP addresses.
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    top = commands.add_parser(
        "quota",
        help="list, explain and change quotas",
        description="List, explain and change the quotas of users, client IDs and IP addresses.",
        epilog=_EXAMPLES,
        allow_abbrev=False,
    )
    verbs = top.add_subparsers(title="verbs", metavar="VERB", required=True)
    add_quota_entity(_verb(verbs, "list", "list the stored quotas of all or some entities", _list))
    explain = _verb(
        verbs, "explain", "show which quota applies to a client, where it is set, and what it overrides", _explain
    )
    explain.add_argument("keys", nargs="*", metavar="KEY", help="only these quotas")
    explain.add_argument("--all", action="store_true", help="show all levels, including those without a quota")
    add_quota_entity(explain)
    what_if = _verb(verbs, "what-if", "show whose quota a change would affect, without changing it", _what_if)
    what_if.add_argument("changes", nargs="+", metavar="KEY=VALUE", help="quota to set; KEY=none removes it")
    add_quota_entity(what_if)
    what_if.add_argument(
        "--pairs", metavar="FILE", help="CSV of users and client IDs to evaluate, instead of those known to the cluster"
    )
    from kconf.cli.commands.quota import changes as quota_changes

    for name, about, verb, add in quota_changes.VERBS:
        add(_verb(verbs, name, about, verb))


def _verb(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser], name: str, about: str, run: Command
) -> argparse.ArgumentParser:
    parser = verbs.add_parser(name, help=about, description=f"{about.capitalize()}.", allow_abbrev=False)
    add_target(parser)
    parser.set_defaults(run=command(f"quota {name}", run))
    return parser


def _value_column(field: str, empty: str = "") -> ResultColumn:
    from kconf.configdef.units import shown_value

    def show(item: Item) -> str:
        return empty if item[field] is None else shown_value(item["key"], item[field])

    return ResultColumn(field, show=show)


def _entity_column() -> ResultColumn:
    from kconf.operations.quotas.entities import entity_text

    return ResultColumn(
        "resource", "ENTITY", lambda item: "" if item["entity"] is None else entity_text(item["entity"])
    )


def _entity_fields(entity: QuotaEntity) -> dict[str, Any]:
    return {"resource": str(entity.resource), "entity": dict(entity.parts)}


def _list(options: argparse.Namespace, result: CommandResult) -> None:
    from kconf.operations.quotas.entities import quota_number, stored_quotas

    result.columns = [_entity_column(), ResultColumn("key"), _value_column("value")]
    entity, cluster = quota_entity(options), target(options)
    result.facts.update(context=cluster.name)
    with cluster.open() as admin:
        for each, quotas in stored_quotas(admin, entity).items():
            for key, value in sorted(quotas.items()):
                result.add(**_entity_fields(each), key=key, value=quota_number(value))


def _explain(options: argparse.Namespace, result: CommandResult) -> None:
    """One item per key and level, the effective one first; a key without a limit has one item without a level."""
    from kconf.operations.quotas.entities import check_keys, quota_levels, quota_number

    entity, cluster = needed_entity(options), target(options)
    keys = check_keys(entity, options.keys)
    result.columns = [
        ResultColumn("key"),
        _value_column("value", "-"),
        ResultColumn("source", "LEVEL"),
        _entity_column(),
        ResultColumn("outcome", ""),
    ]
    result.facts.update(context=cluster.name, entity=dict(entity.parts))
    with cluster.open() as admin:
        levels = quota_levels(admin, entity)
    for key in keys:
        in_effect = next((each for each in levels if each.values.get(key) is not None), None)
        if in_effect is None:
            result.add(key=key, value=None, source=None, resource=None, entity=None, outcome="no limit")
            continue
        for level in levels:
            value = level.values.get(key)
            if value is None and not options.all:
                continue
            outcome = "not set" if value is None else "applies" if level is in_effect else "overridden"
            text = None if value is None else quota_number(value)
            result.add(key=key, value=text, source=level.name, **_entity_fields(level.entity), outcome=outcome)


def _what_if(options: argparse.Namespace, result: CommandResult) -> None:
    from kconf.cli.terminal.input import read_stdin
    from kconf.operations.quotas.changes import parse_quotas
    from kconf.operations.quotas.file import read_pairs

    entity, cluster = needed_entity(options), target(options)
    if "ip" in dict(entity.parts):
        raise ConfigurationError("what-if supports only users and client IDs, not IP addresses")
    changes = parse_quotas(entity, options.changes)
    pairs = None if options.pairs is None else list(read_pairs(options.pairs, read_stdin))
    result.columns = [
        ResultColumn("user"),
        ResultColumn("client_id"),
        ResultColumn("key"),
        _value_column("old", "no limit"),
        ResultColumn("old_source", "FROM"),
        _value_column("new", "no limit"),
        ResultColumn("new_source", "FROM"),
    ]
    result.facts.update(context=cluster.name, entity=dict(entity.parts))
    with cluster.open() as admin:
        alterations = admin.what_if(entity, changes, pairs=pairs)
    for each in alterations:
        before, after = _quota_fields("old", each.before), _quota_fields("new", each.after)
        result.add(user=each.user, client_id=each.client_id, key=each.key, **before, **after)


def _quota_fields(prefix: str, quota: QuotaCandidate | None) -> dict[str, Any]:
    from kconf.operations.quotas.entities import level_name, quota_number

    value, source = (None, None) if quota is None else (quota_number(quota.value), level_name(quota.source))
    return {prefix: value, f"{prefix}_source": source}
