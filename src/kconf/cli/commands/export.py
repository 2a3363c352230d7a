"""`kconf export`: a cluster as files that declare it."""

from __future__ import annotations

import argparse
import sys
from typing import Final

from kconf.cli.common.command import command
from kconf.cli.common.target import add_target, target
from kconf.cli.output.result import FAILED, CommandResult, ResultColumn

EXAMPLES: Final = """\
examples:
  kconf export --to clusters/prod
  kconf export --to clusters/prod 'topic:orders.*' quota --force
  kconf export topic:orders

Without --to the files are printed. Secrets and passwords are in none of them; `kconf plan -f` of what was exported
finds nothing to change. What you may not read is left out and marked, so that `--prune` leaves it alone; the exit
code is 1 then.
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


def run(options: argparse.Namespace, result: CommandResult) -> None:
    from kconf.operations.declarative.export import export_files
    from kconf.operations.declarative.files import write_files
    from kconf.operations.selection.scopes import parse_scopes

    cluster = target(options)
    files, state = export_files(cluster, parse_scopes(options.selectors, "export"))
    result.facts.update(context=cluster.name, cluster=state.cluster)
    result.columns = [ResultColumn("file"), ResultColumn("lines")]
    unread = [each for each in state.missing if not each.is_absent]
    for each in state.missing:
        if each.is_absent or options.output == "table":
            result.notes.append(f"{each.what} is left out: {each.failure.message or each.failure.code.name}")
    if unread:
        result.status = FAILED
        result.columns.append(ResultColumn("resource"))
        result.hidden = frozenset(["resource"])
        result.notes.append("what could not be read is marked in the files; `--prune` leaves it alone")
    if options.to is None and options.output == "table":
        first, *others = files.values() or [""]
        sys.stdout.write(first + "".join(each.partition("\n")[2] for each in others))  # one document, one version
        return
    if options.to is not None:
        for _ in write_files(options.to, files, force=options.force):
            pass
    for name, text in files.items():
        more = {"text": text} if options.to is None else {}
        result.add(file=name if options.to is None else f"{options.to}/{name}", lines=text.count("\n"), **more)
    if options.output != "table":
        for each in unread:
            result.add(each.failure, file=None, lines=None, resource=each.what)
