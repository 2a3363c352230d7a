"""`kconf export`: a cluster as files that declare it."""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import TYPE_CHECKING, Final

from kconf.cli.common.target import Target, add_target, target
from kconf.cli.output.result import CommandResult, ResultColumn, command
from kconf.errors import ConfigurationError

if TYPE_CHECKING:
    from kconf.engine.declarative.model import Scope
    from kconf.model.cluster_state import ClusterState
    from kconf.model.resource import Resource

EXAMPLES: Final = """\
examples:
  kconf export --to clusters/prod
  kconf export --to clusters/prod 'topic:orders.*' quota --force
  kconf export topic:orders

Without --to the files are printed. Secrets and passwords are in none of them; `kconf plan -f` of what was exported
finds nothing to change.
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "export",
        help="write a cluster as files that declare it",
        description="Write a cluster, or some of it, as files that declare it.",
        epilog=EXAMPLES,
    )
    parser.add_argument("selectors", metavar="SELECTOR", nargs="*", help="topic:NAME|GLOB, broker, quota, user, acl, …")
    parser.add_argument("--to", metavar="DIR", help="where the files go")
    parser.add_argument("--force", action="store_true", help="replace files that are there")
    add_target(parser)
    parser.set_defaults(run=command("export", run))


def run(options: argparse.Namespace, answer: CommandResult) -> None:
    from kconf.engine.declarative.export import declared_files
    from kconf.engine.declarative.model import Declared
    from kconf.engine.declarative.tree import read_scopes
    from kconf.operations.declarative.files import ignored_by, write_files

    chosen = target(options)
    try:
        scopes = read_scopes(options.selectors, "export")
    except ValueError as error:
        raise ConfigurationError(str(error)) from None
    reading = asyncio.run(_read(chosen, scopes))
    answer.facts.update(context=chosen.name, cluster=reading.cluster)
    declared = Declared(selectors=scopes, ignored=ignored_by(chosen.context))
    files = declared_files(reading, declared, _written)
    answer.columns = [ResultColumn("file"), ResultColumn("lines")]
    for each in reading.missing:
        answer.notes.append(f"{each.what} is left out: {each.failure.message or each.failure.code.name}")
    if options.to is None and options.output == "table":
        first, *others = files.values() or [""]
        sys.stdout.write(first + "".join(each.partition("\n")[2] for each in others))  # one document, one version
        return
    if options.to is not None:
        for _ in write_files(options.to, files, force=options.force):
            pass
    for name, text in files.items():
        where = {"text": text} if options.to is None else {}
        answer.add(file=name if options.to is None else f"{options.to}/{name}", lines=text.count("\n"), **where)


async def _read(chosen: Target, scopes: tuple[Scope, ...]) -> ClusterState:
    from kconf.client.cluster_reader import PARTS, read_cluster
    from kconf.engine.declarative.model import SCOPES

    kinds = {SCOPES[each.word] for each in scopes} or set(PARTS.values())

    def wanted(resource: Resource) -> bool:
        return not scopes or any(each.covers(resource, (resource.name,)) for each in scopes)

    parts = [part for part, kind in PARTS.items() if kind in kinds]
    async with chosen.open_async() as admin:
        return await read_cluster(admin, parts, wanted=wanted)


def _written(name: str, raw: str) -> str:
    """A value with its unit, where it reads back as the same."""
    from kconf.configdef.units import shown_value

    return shown_value(name, raw) if raw.isdigit() and raw != "0" else raw
