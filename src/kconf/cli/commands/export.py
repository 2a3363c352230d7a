"""`kconf export`: write a cluster as declarative files."""

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

Without --to, the files are printed. They contain no secrets or passwords. `kconf plan -f` on exported files finds no
differences. What you are not authorized to read is skipped and marked in the files, so that `--prune` ignores it; the
exit code is then 1.
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "export",
        help="write a cluster's state as declarative files",
        description="Write the state of a cluster, or part of it, as declarative files.",
        epilog=EXAMPLES,
    )
    parser.add_argument("selectors", metavar="SELECTOR", nargs="*", help="topic:NAME|GLOB, broker, quota, user, acl, …")
    parser.add_argument("--to", metavar="DIR", help="directory to write the files to")
    parser.add_argument("--force", action="store_true", help="replace existing files")
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
            result.notes.append(f"skipped {each.what}: {each.failure.message or each.failure.code.name}")
    if unread:
        result.status = FAILED
        result.columns.append(ResultColumn("resource"))
        result.hidden = frozenset(["resource"])
        result.notes.append("what could not be read is marked in the files; `--prune` ignores it")
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
