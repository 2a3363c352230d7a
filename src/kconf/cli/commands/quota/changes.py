"""The verbs of `kconf quota` that change something, and `export`, which writes what `load` reads.

One named entity changes at once. A default is for many, and a file may be about thousands: they show the plan and ask.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kconf.cli.commands.quota.main import (
    entity_text,
    known_keys,
    ladders_of,
    level_word,
    needed_entity,
    quota_number,
    stored_quotas,
)
from kconf.cli.common.target import target
from kconf.cli.output.result import CommandResult
from kconf.errors import ApiError, ConfigurationError, KafkaError
from kconf.operations.selectors import add_quota_entity, quota_entity

if TYPE_CHECKING:
    from kconf.cli.common.target import Target
    from kconf.client.admin_sync import SyncAdminClient
    from kconf.engine.quotas.precedence import Stored
    from kconf.model.quota import QuotaEntity
    from kconf.model.resource import Resource
    from kconf.operations.planned_change import PlannedChange

Changes = Mapping[str, float | None]


def _add_set(parser: argparse.ArgumentParser) -> None:
    from kconf.cli.common.confirm import add_change

    parser.add_argument("changes", nargs="+", metavar="KEY=VALUE", help="a quota; byte rates take units: 10MiB")
    add_quota_entity(parser)
    add_change(parser)


def _add_unset(parser: argparse.ArgumentParser) -> None:
    from kconf.cli.common.confirm import add_change

    parser.add_argument("keys", nargs="*", metavar="KEY", help="the quotas to remove")
    parser.add_argument("--all", action="store_true", help="remove all that the entity has")
    add_quota_entity(parser)
    add_change(parser)


def _add_load(parser: argparse.ArgumentParser) -> None:
    from kconf.cli.common.confirm import add_change
    from kconf.operations.execute import add_bulk

    parser.add_argument("file", metavar="FILE", help="YAML, or CSV where it is called so; - is standard input")
    parser.add_argument("--format", choices=("yaml", "csv"), help="where the name does not tell")
    add_change(parser)
    add_bulk(parser)


def _add_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", metavar="FILE", help="where to write it (default: standard output)")
    parser.add_argument("--format", choices=("yaml", "csv"), help="default: by the name of the file, else YAML")
    add_quota_entity(parser)


# -- what is wanted --------------------------------------------------------------------------------------------------


def parse_changes(entity: QuotaEntity, words: Sequence[str]) -> dict[str, float | None]:
    """KEY=VALUE for each; `none` removes."""
    found: dict[str, float | None] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals:
            raise ConfigurationError(f"{word!r} is no KEY=VALUE")
        if key in found:
            raise ConfigurationError(f"{key} is given twice")
        found[key] = read_change(entity, key, text)
    return found


def read_change(entity: QuotaEntity, key: str, text: str) -> float | None:
    """The number that a text means for a quota; None where it is to go."""
    from kconf.cli.common.units import raw_value
    from kconf.engine.quotas.alter import QUOTA_KEYS, quota_text
    from kconf.errors import InvalidRequest

    known_keys(entity, [key])
    if text.strip() == "none":
        return None
    raw = raw_value(QUOTA_KEYS[key], text)
    try:
        return float(quota_text(QUOTA_KEYS[key], float(raw)))
    except ValueError:
        raise ConfigurationError(f"{key} is a number, and {text!r} is none") from None
    except InvalidRequest as error:
        raise ConfigurationError(str(error)) from None


# -- set, unset, load ------------------------------------------------------------------------------------------------


def _set(options: argparse.Namespace, answer: CommandResult) -> None:
    entity = needed_entity(options)
    changes = parse_changes(entity, options.changes)
    if None in changes.values():
        raise ConfigurationError("to remove a quota: kconf quota unset")
    _change_one(options, answer, entity, changes)


def _unset(options: argparse.Namespace, answer: CommandResult) -> None:
    entity = needed_entity(options)
    if options.all == bool(options.keys):
        raise ConfigurationError("name the quotas to remove, or give --all")
    _change_one(options, answer, entity, dict.fromkeys(known_keys(entity, options.keys)) if options.keys else {})


def _change_one(options: argparse.Namespace, answer: CommandResult, entity: QuotaEntity, changes: Changes) -> None:
    """Without changes all that is set goes."""
    cluster = target(options)
    cluster.check_writable()
    with cluster.open() as admin:
        ladders = ladders_of(admin, entity)
        _source, own, stored = next(each for each in ladders if each[1] == entity)
        known = {rung: values for _, rung, values in ladders}
        _carry_out(options, answer, cluster, admin, {own: changes or dict.fromkeys(stored)}, known)


def _load(options: argparse.Namespace, answer: CommandResult) -> None:
    from kconf.cli.commands.quota.file import read_quotas

    cluster = target(options)
    cluster.check_writable()
    rows = read_quotas(options.file, options.format)
    lines = {str(row.entity.resource): row.line for row in rows}
    try:
        with cluster.open() as admin:
            wanted = {row.entity: row.changes for row in rows}
            _carry_out(options, answer, cluster, admin, wanted, admin.describe_client_quotas(), asks=True)
    finally:
        _by_line(answer, lines)


def _by_line(answer: CommandResult, lines: Mapping[str, int]) -> None:
    """Results by line of the file. A table leaves out what was as it should be."""
    from kconf.cli.output.result import ResultColumn

    same = [each for each in answer.items if each["outcome"] == "unchanged"]
    if answer.output == "table" and same:
        answer.items[:] = [each for each in answer.items if each["outcome"] != "unchanged"]
        answer.notes.append(f"{len(same)} quotas are as the file has them already")
    answer.items[:] = [{"line": lines[each["resource"]], **each} for each in answer.items]
    answer.columns[:0] = [ResultColumn("line")]


def _carry_out(
    options: argparse.Namespace,
    answer: CommandResult,
    cluster: Target,
    admin: SyncAdminClient,
    wanted: Mapping[QuotaEntity, Changes],
    stored: Stored,
    *,
    asks: bool = False,
) -> None:
    from kconf.operations.execute import execute_plan
    from kconf.operations.planned_change import ChangePlan

    before = _Before(stored)
    edits = [each for entity, changes in wanted.items() for each in before.edits(entity, changes)]
    by_resource = {entity.resource: (entity, changes) for entity, changes in wanted.items()}

    def send(resources: Sequence[Resource], validate_only: bool) -> Mapping[Resource, ApiError | None]:
        asked = dict(by_resource[each] for each in resources)
        failures = _alter(admin, asked, validate_only=validate_only, reason=options.reason)
        return {each: failures.get(by_resource[each][0]) for each in resources}

    one = next(iter(wanted))
    what = f"change quotas of {entity_text(dict(one.parts)) if len(wanted) == 1 else f'{len(wanted)} entities'}"
    asks = asks or any(name is None for entity in wanted for _, name in entity.parts)
    execute_plan(answer, options, cluster, admin, ChangePlan(edits, {}), send, asks=asks, what=what)


class _Before:
    """Quotas as they were found."""

    def __init__(self, stored: Stored) -> None:
        from kconf.engine.quotas.precedence import StoredQuotas

        self._stored, self._quotas = stored, StoredQuotas(stored)

    def edits(self, entity: QuotaEntity, changes: Changes) -> list[PlannedChange]:
        """What would change at the entity itself, and what holds there before and after."""
        from kconf.operations.planned_change import PlannedChange

        own, resource, edits = self._stored.get(entity, {}), entity.resource, []
        for key, value in changes.items():
            before, after = _text(own.get(key)), _text(value)
            source, inherited = self._inherited(entity, key)
            op, old, new = "set" if after else "delete", before or inherited, after or inherited
            edits.append(PlannedChange(resource, key, before, after, op, old, new, "own" if before else source))
        return edits

    def _inherited(self, entity: QuotaEntity, key: str) -> tuple[str, str | None]:
        """What would hold for an entity without a quota of its own, and where that comes from."""
        from kconf.engine.quotas.precedence import level, who
        from kconf.model.quota import IP, QuotaEntity

        if IP in dict(entity.parts):
            everyone = QuotaEntity.of({IP: None})
            value = None if entity == everyone else self._stored.get(everyone, {}).get(key)
            return ("", None) if value is None else ("default ip", quota_number(value))
        own = level(entity, *who(entity))
        for source, number in self._quotas.candidates(key, *who(entity)):
            if source is not own:
                return level_word(source), quota_number(number)
        return "", None


def _text(value: float | None) -> str | None:
    return None if value is None else quota_number(value)


def _alter(
    admin: SyncAdminClient, wanted: Mapping[QuotaEntity, Changes], *, validate_only: bool, reason: str | None
) -> dict[QuotaEntity, ApiError]:
    """Users and clients by KIP-248, which takes a reason along; addresses as Kafka has them."""
    from kconf.model.quota import IP

    addresses = {each: changes for each, changes in wanted.items() if IP in dict(each.parts)}
    others = {each: changes for each, changes in wanted.items() if each not in addresses}
    failures: dict[QuotaEntity, ApiError] = {}
    if others:
        failures.update(admin.alter_quotas(others, validate_only=validate_only, reason=reason).failures)
    if addresses:
        try:
            failures.update(admin.alter_client_quotas(addresses, validate_only=validate_only).failures)
        except KafkaError as error:
            if not others:
                raise
            failures.update(dict.fromkeys(addresses, error.failure()))  # the others are done
    return failures


# -- export ----------------------------------------------------------------------------------------------------------


def _export(options: argparse.Namespace, answer: CommandResult) -> None:
    from kconf.cli.commands.quota.file import as_csv, as_yaml, file_kind, unreal

    cluster = target(options)
    with cluster.open() as admin:
        stored = stored_quotas(admin, quota_entity(options))
    text = as_csv(stored) if file_kind(options.out or "", options.format) == "csv" else as_yaml(stored)
    answer.facts.update(context=cluster.name, entities=len(stored), file=options.out)
    answer.notes += [f"{each}: left out, for it is no quota that could be loaded" for each in unreal(stored)]
    if options.out is not None:
        _write(options.out, text)
        answer.notes.append(f"{options.out}: {len(stored)} entities")
    elif answer.output == "json":
        answer.facts["document"] = text
    else:
        print(text, end="")


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}") from None


VERBS = (
    ("set", "set quotas of an entity", _set, _add_set),
    ("unset", "remove quotas of an entity", _unset, _add_unset),
    ("load", "set what a file says, for thousands of entities at once", _load, _add_load),
    ("export", "write quotas as a file that load reads", _export, _add_export),
)
