"""`kconf quota`: who may use how much, on kconf and on any Kafka. Here: what can be asked; changes: `quota_changes.py`.

A quota stands at an entity: a user, a client id, a pair of them, an address, or the default of any. Which one holds for
a user with a client id is decided on eight levels; `explain` tells all of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from kconf.cli.common.target import add_target, target
from kconf.cli.output.result import CommandResult, ResultColumn, command
from kconf.errors import ConfigurationError
from kconf.operations.selectors import add_quota_entity, quota_entity

if TYPE_CHECKING:
    from kconf.cli.output.result import Item, Verb
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.model.quota import QuotaCandidate, QuotaEntity, QuotaFilter, QuotaSource

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

Quotas: producer_byte_rate, consumer_byte_rate, request_percentage and controller_mutation_rate of users and clients,
connection_creation_rate of addresses.
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    top = commands.add_parser(
        "quota",
        help="list, explain and change quotas, one or ten thousand",
        description="List, explain and change the quotas of users, client ids and addresses.",
        epilog=_EXAMPLES,
        allow_abbrev=False,
    )
    verbs = top.add_subparsers(title="verbs", metavar="VERB", required=True)
    add_quota_entity(_verb(verbs, "list", "tell quotas as they are stored, all or those of some", _list))
    explain = _verb(
        verbs, "explain", "tell which quota holds for someone, where it comes from, and what loses", _explain
    )
    explain.add_argument("keys", nargs="*", metavar="KEY", help="of these quotas only")
    explain.add_argument("--all", action="store_true", help="all levels, also those where nothing is set")
    add_quota_entity(explain)
    what_if = _verb(verbs, "what-if", "tell whose quota would be another, and change nothing", _what_if)
    what_if.add_argument("changes", nargs="+", metavar="KEY=VALUE", help="a quota to set; KEY=none: to remove")
    add_quota_entity(what_if)
    what_if.add_argument(
        "--pairs", metavar="FILE", help="CSV of users and client ids to look at, in place of those known to the cluster"
    )
    from kconf.cli.commands.quota import changes as quota_changes

    for name, about, verb, add in quota_changes.VERBS:
        add(_verb(verbs, name, about, verb))


def _verb(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser], name: str, about: str, verb: Verb
) -> argparse.ArgumentParser:
    parser = verbs.add_parser(name, help=about, description=f"{about.capitalize()}.", allow_abbrev=False)
    add_target(parser)
    parser.set_defaults(run=command(f"quota {name}", verb))
    return parser


def needed_entity(options: argparse.Namespace) -> QuotaEntity:
    entity = quota_entity(options)
    if entity is None:
        raise ConfigurationError("say whose quota: --user, --client-id, both, --ip, or one of their defaults")
    return entity


def quota_number(value: float) -> str:
    """A quota as a text: whole numbers as such."""
    return str(int(value)) if value.is_integer() and abs(value) < 2**63 else repr(value)


def entity_text(entity: Mapping[str, str | None]) -> str:
    """`user alice, client-id (default)`."""
    order = ("user", "client-id", "ip")
    named = sorted(entity.items(), key=lambda part: order.index(part[0]) if part[0] in order else len(order))
    return ", ".join(f"{kind} {'(default)' if name is None else name}" for kind, name in named)


def _shown(field: str, empty: str = "") -> ResultColumn:
    from kconf.configdef.units import shown_value

    def show(item: Item) -> str:
        return empty if item[field] is None else shown_value(item["key"], item[field])

    return ResultColumn(field, show=show)


def _named(entity: QuotaEntity) -> dict[str, Any]:
    return {"resource": str(entity.resource), "entity": dict(entity.parts)}


def resource_text(text: str) -> str:
    """What an item calls its resource, for a table: an entity of quotas in words, anything else as it is."""
    from json import loads

    return entity_text(loads(text.removeprefix("quota:"))) if text.startswith("quota:") else text


def _entity_column() -> ResultColumn:
    return ResultColumn(
        "resource", "ENTITY", lambda item: "" if item["entity"] is None else entity_text(item["entity"])
    )


# -- list ------------------------------------------------------------------------------------------------------------


def stored_quotas(admin: SyncAdminClient, wanted: QuotaEntity | None) -> dict[QuotaEntity, dict[str, float]]:
    """All quotas, or those of an entity and of those within it, by name with the defaults first."""
    found = admin.describe_client_quotas(None if wanted is None else _at_least(wanted))
    return {each: found[each] for each in sorted(found, key=_order)}


def _at_least(entity: QuotaEntity) -> QuotaFilter:
    from kconf.model.quota import QuotaFilter

    return QuotaFilter.exactly(entity)._replace(strict=False)


def _order(entity: QuotaEntity) -> tuple[int, list[tuple[str, bool, str]]]:
    """Users, their clients, clients, addresses."""
    parts = dict(entity.parts)
    rank = 0 if "user" in parts else 1 if "client-id" in parts else 2
    return rank, [(kind, name is not None, name or "") for kind, name in reversed(entity.parts)]


def _list(options: argparse.Namespace, answer: CommandResult) -> None:
    answer.columns = [_entity_column(), ResultColumn("key"), _shown("value")]
    entity, cluster = quota_entity(options), target(options)
    answer.facts.update(context=cluster.name)
    with cluster.open() as admin:
        for each, quotas in stored_quotas(admin, entity).items():
            for key, value in sorted(quotas.items()):
                answer.add(**_named(each), key=key, value=quota_number(value))


# -- explain ---------------------------------------------------------------------------------------------------------


def _explain(options: argparse.Namespace, answer: CommandResult) -> None:
    """One item per key and level, the one that holds first; a key that nothing limits has one without a level."""
    entity, cluster = needed_entity(options), target(options)
    keys = known_keys(entity, options.keys)
    answer.columns = [
        ResultColumn("key"),
        _shown("value", "-"),
        ResultColumn("source", "LEVEL"),
        _entity_column(),
        ResultColumn("outcome", ""),
    ]
    answer.facts.update(context=cluster.name, entity=dict(entity.parts))
    with cluster.open() as admin:
        ladders = ladders_of(admin, entity)
    for key in keys:
        rungs = [(source, rung, values.get(key)) for source, rung, values in ladders]
        holder = next((number for number, rung in enumerate(rungs) if rung[2] is not None), None)
        if holder is None:
            answer.add(key=key, value=None, source=None, resource=None, entity=None, outcome="no limit")
            continue
        for number, (source, rung, value) in enumerate(rungs):
            outcome = "not set" if value is None else "holds" if number == holder else "loses"
            if value is None and not options.all:
                continue
            told = None if value is None else quota_number(value)
            answer.add(key=key, value=told, source=source, **_named(rung), outcome=outcome)


def known_keys(entity: QuotaEntity, wanted: list[str]) -> list[str]:
    """The quotas that an entity can have, or those that are wanted out of them."""
    from kconf.engine.quotas.alter import keys_of
    from kconf.errors import InvalidRequest

    try:
        keys = keys_of(entity, lambda _: True)
    except InvalidRequest as error:
        raise ConfigurationError(str(error)) from None
    for each in wanted:
        if each not in keys:
            raise ConfigurationError(f"{each!r} is no quota of {entity_text(dict(entity.parts))}: {', '.join(keys)}")
    return wanted or list(keys)


Rung = tuple[str, "QuotaEntity", Mapping[str, float]]


def ladders_of(admin: SyncAdminClient, entity: QuotaEntity) -> list[Rung]:
    """What is set at each level that counts for an entity, the strongest first."""
    from kconf.engine.quotas.precedence import levels, who
    from kconf.model.quota import IP, QuotaEntity, QuotaFilter

    if IP in dict(entity.parts):
        places = {entity: "ip", QuotaEntity.of({IP: None}): "default ip"}
        if entity == QuotaEntity.of({IP: None}):
            places = {entity: "default ip"}
        found = {each: admin.describe_client_quotas(QuotaFilter.exactly(each)).get(each, {}) for each in places}
        return [(word, each, found[each]) for each, word in places.items()]
    stored: dict[QuotaSource, dict[str, float]] = {}
    for key, quota in admin.describe_quotas([entity])[entity].items():
        for source, value in ((quota.source, quota.value), *quota.losers):
            stored.setdefault(source, {})[key] = value
    return [(level_word(source), each, stored.get(source, {})) for each, source in levels(*who(entity)).items()]


def level_word(source: QuotaSource) -> str:
    return source.name.lower().replace("_", " ")


# -- what-if ---------------------------------------------------------------------------------------------------------


def _what_if(options: argparse.Namespace, answer: CommandResult) -> None:
    from kconf.cli.commands.quota.changes import parse_changes

    entity, cluster = needed_entity(options), target(options)
    if "ip" in dict(entity.parts):
        raise ConfigurationError("what-if is about users and clients: an address has one level, and its default")
    changes = parse_changes(entity, options.changes)
    pairs = None if options.pairs is None else list(_pairs(options.pairs))
    columns = [
        ResultColumn("user"),
        ResultColumn("client_id"),
        ResultColumn("key"),
        _shown("old", "no limit"),
        ResultColumn("old_source", "FROM"),
    ]
    answer.columns = [*columns, _shown("new", "no limit"), ResultColumn("new_source", "FROM")]
    answer.facts.update(context=cluster.name, entity=dict(entity.parts))
    with cluster.open() as admin:
        shifts = admin.what_if(entity, changes, pairs=pairs)
    for each in shifts:
        before, after = _told("old", each.before), _told("new", each.after)
        answer.add(user=each.user, client_id=each.client_id, key=each.key, **before, **after)


def _told(when: str, quota: QuotaCandidate | None) -> dict[str, Any]:
    value, source = (None, None) if quota is None else (quota_number(quota.value), level_word(quota.source))
    return {when: value, f"{when}_source": source}


def _pairs(path: str) -> Iterator[tuple[str, str]]:
    from kconf.cli.commands.quota.file import csv_rows

    for line, row in csv_rows(path, ("user", "client-id")):
        user, client_id = row.get("user", ""), row.get("client-id", "")
        if not user and not client_id:
            raise ConfigurationError(f"{path} line {line} names neither a user nor a client id")
        yield user, client_id
