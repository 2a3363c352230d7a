"""`kconf snapshot`: save the configuration of clusters to files for the pipeline. Needs no JVM, so it suits cron."""

from __future__ import annotations

import argparse
from typing import Final

from kconf.cli.common.command import command
from kconf.cli.common.target import add_target, targets
from kconf.cli.output.result import CommandResult, ResultColumn
from kconf.errors import KafkaError

EXAMPLES: Final = """\
examples:
  kconf snapshot --out /var/lib/kconf/snapshots
  kconf snapshot -C 'prod-*' --out file:///var/lib/kconf/snapshots --output json

Writes one file per cluster, DIR/<cluster id>/<time>.jsonl, in the format of docs/reference/formats.md. The file also
lists what the cluster refused to show.
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "snapshot",
        help="save a cluster's whole configuration to a file",
        description="Save the whole configuration of clusters, one file each, for the pipeline.",
        epilog=EXAMPLES,
    )
    parser.add_argument("--out", metavar="DIR|URI", required=True, help="directory to write to, or a file:// URI")
    add_target(parser, several=True)
    parser.set_defaults(run=command("snapshot", run))


def run(options: argparse.Namespace, result: CommandResult) -> None:
    from kconf.operations.snapshot import read_clusters, snapshot_directory, write_snapshot

    directory = snapshot_directory(options.out)
    clusters = targets(options)
    names = ("context", "cluster", "topics", "lines", "bytes", "missing", "file")
    result.columns = [ResultColumn(each) for each in names]
    for target, state in zip(clusters, read_clusters(clusters), strict=True):
        if isinstance(state, KafkaError):
            if len(clusters) == 1:
                raise state
            result.add(state, context=target.name, **dict.fromkeys(names[1:]))
            continue
        file = write_snapshot(directory, target, state)
        result.add(
            context=target.name,
            cluster=state.cluster,
            topics=len(state.topics),
            lines=file.lines,
            bytes=file.size,
            missing=[each.what for each in state.missing],
            file=str(file.path),
        )
        result.notes += [
            f"{target.name}: the snapshot has no {each.what}: {each.failure.message or each.failure.code.name}"
            for each in state.missing
        ]
