"""The commands of `kconf quota` that change quotas, and `export`, which writes files for `load`.

A change of one named entity needs no confirmation; changes of a default or from a file do.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kconf.cli.common.execute import execute
from kconf.cli.common.options.quota_entity import add_quota_entity, needed_entity, quota_entity
from kconf.cli.common.options.usage import add_usage
from kconf.cli.common.target import target
from kconf.cli.output.result import CommandResult
from kconf.cli.output.safe_text import has_controls
from kconf.errors import ConfigurationError

if TYPE_CHECKING:
    from kconf.model.quota import QuotaEntity
    from kconf.operations.quotas.changes import QuotaChanges


def _add_set(parser: argparse.ArgumentParser) -> None:
    from kconf.cli.common.confirm import add_change

    parser.add_argument("changes", nargs="+", metavar="KEY=VALUE", help="a quota; byte rates accept units: 10MiB")
    add_quota_entity(parser)
    add_usage(parser)
    add_change(parser)


def _add_unset(parser: argparse.ArgumentParser) -> None:
    from kconf.cli.common.confirm import add_change

    parser.add_argument("keys", nargs="*", metavar="KEY", help="the quotas to remove")
    parser.add_argument("--all", action="store_true", help="remove all quotas of the entity")
    add_quota_entity(parser)
    add_usage(parser)
    add_change(parser)


def _add_load(parser: argparse.ArgumentParser) -> None:
    from kconf.cli.common.confirm import add_bulk, add_change

    parser.add_argument("file", metavar="FILE", help="YAML file, or CSV if it ends in .csv; - for standard input")
    parser.add_argument(
        "--format", choices=("yaml", "csv"), help="format (default: from the file name, otherwise YAML)"
    )
    add_usage(parser)
    add_change(parser)
    add_bulk(parser)


def _add_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", metavar="FILE", help="file to write (default: standard output)")
    parser.add_argument(
        "--format", choices=("yaml", "csv"), help="format (default: from the file name, otherwise YAML)"
    )
    add_quota_entity(parser)


# -- set, unset, load ------------------------------------------------------------------------------------------------


def _set(options: argparse.Namespace, result: CommandResult) -> None:
    from kconf.operations.quotas.changes import parse_quotas

    entity = needed_entity(options)
    changes = parse_quotas(entity, options.changes)
    removed = next((key for key, value in changes.items() if value is None), None)
    if removed is not None:
        raise ConfigurationError(f"{removed}=none does not set a quota; to remove it, run kconf quota unset")
    _change_one(options, result, entity, changes)


def _unset(options: argparse.Namespace, result: CommandResult) -> None:
    from kconf.operations.quotas.entities import check_keys

    entity = needed_entity(options)
    if options.all == bool(options.keys):
        raise ConfigurationError("pass the quotas to remove, or --all")
    _change_one(options, result, entity, dict.fromkeys(check_keys(entity, options.keys)) if options.keys else {})


def _change_one(options: argparse.Namespace, result: CommandResult, entity: QuotaEntity, changes: QuotaChanges) -> None:
    """Change one entity; without changes, remove all its quotas."""
    from kconf.operations.quotas.changes import entity_request

    cluster = target(options)
    cluster.check_writable()
    with cluster.open() as admin:
        request = entity_request(result.command, admin, entity, changes, options.reason)
        execute(result, options, cluster, admin, request)


def _load(options: argparse.Namespace, result: CommandResult) -> None:
    from kconf.cli.terminal.input import read_stdin
    from kconf.operations.quotas.changes import quotas_request
    from kconf.operations.quotas.file import read_quotas

    cluster = target(options)
    cluster.check_writable()
    rows = read_quotas(options.file, options.format, read_stdin)
    wanted = {row.entity: row.changes for row in rows}
    try:
        with cluster.open() as admin:
            stored = admin.describe_client_quotas()
            request = quotas_request(result.command, admin, wanted, stored, options.reason, confirm=True)
            execute(result, options, cluster, admin, request)
    finally:
        _add_lines(result, {str(row.entity.resource): row.line for row in rows})


def _add_lines(result: CommandResult, lines: Mapping[str, int]) -> None:
    """Add the line number of the file to each item. Tables omit unchanged quotas."""
    from kconf.cli.output.result import ResultColumn

    same = [each for each in result.items if each["outcome"] == "unchanged"]
    if result.output == "table" and same:
        result.items[:] = [each for each in result.items if each["outcome"] != "unchanged"]
        result.notes.append(f"{len(same)} quotas already match the file")
    result.items[:] = [{"line": lines[each["resource"]], **each} for each in result.items]
    result.columns[:0] = [ResultColumn("line")]


# -- export ----------------------------------------------------------------------------------------------------------


def _export(options: argparse.Namespace, result: CommandResult) -> None:
    from kconf.operations.quotas.entities import stored_quotas
    from kconf.operations.quotas.file import as_csv, as_yaml, file_kind, not_loadable

    cluster = target(options)
    with cluster.open() as admin:
        stored = stored_quotas(admin, quota_entity(options))
    kind = file_kind(options.out or "", options.format)
    text = as_csv(stored) if kind == "csv" else as_yaml(stored)
    if kind == "csv" and options.out is None and has_controls(text):
        raise ConfigurationError("a name contains control characters, which CSV cannot escape: use YAML, or --out FILE")
    result.facts.update(context=cluster.name, entities=len(stored), file=options.out)
    result.notes += [f"skipped {each}: not a quota that `load` accepts" for each in not_loadable(stored)]
    if options.out is not None:
        _write(options.out, text)
        result.notes.append(f"{options.out}: {len(stored)} entities")
    elif result.output == "json":
        result.facts["document"] = text
    else:
        print(text, end="")


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}") from None


VERBS = (
    ("set", "set quotas for an entity", _set, _add_set),
    ("unset", "remove quotas of an entity", _unset, _add_unset),
    ("load", "set quotas from a file, for thousands of entities at once", _load, _add_load),
    ("export", "write quotas to a file for `load`", _export, _add_export),
)
