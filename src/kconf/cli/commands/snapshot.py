"""`kconf snapshot`: the configuration of whole clusters as files, for the pipeline; without a JVM, for cron."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from kconf.cli.common.target import Target, add_target, targets
from kconf.cli.output.result import CommandResult, ResultColumn, command
from kconf.errors import ConfigurationError, KafkaError

if TYPE_CHECKING:
    from kconf.model.cluster_state import ClusterState

EXAMPLES: Final = """\
examples:
  kconf snapshot --out /var/lib/kconf/snapshots
  kconf snapshot -C 'prod-*' --out file:///var/lib/kconf/snapshots --output json

One file per cluster, DIR/<cluster id>/<time>.jsonl: docs/reference/formats.md. What a cluster refuses is noted in it.
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "snapshot",
        help="write down whole clusters, for the pipeline",
        description="Write the configuration of whole clusters, one file each, as the pipeline reads it.",
        epilog=EXAMPLES,
    )
    parser.add_argument("--out", metavar="DIR|URI", required=True, help="a directory, or a file:// URI of one")
    add_target(parser, several=True)
    parser.set_defaults(run=command("snapshot", run))


def run(options: argparse.Namespace, answer: CommandResult) -> None:
    import asyncio

    directory = _directory(options.out)
    chosen = targets(options)
    names = ("context", "cluster", "topics", "lines", "bytes", "missing", "file")
    answer.columns = [ResultColumn(each) for each in names]
    readings = asyncio.run(_read_all(chosen))
    for target, reading in zip(chosen, readings, strict=True):
        if isinstance(reading, KafkaError):
            if len(chosen) == 1:
                raise reading
            answer.add(reading, context=target.name, **dict.fromkeys(names[1:]))
        else:
            answer.add(context=target.name, **_written(directory, target, reading))
            answer.notes += [
                f"{target.name}: {each.what} is missing: {each.failure.message or each.failure.code.name}"
                for each in reading.missing
            ]


async def _read_all(chosen: Sequence[Target]) -> list[ClusterState | KafkaError]:
    """All clusters at the same time; one that does not answer leaves the others alone."""
    import asyncio

    return await asyncio.gather(*(_read(each) for each in chosen))


async def _read(target: Target) -> ClusterState | KafkaError:
    from kconf.client.cluster_reader import read_cluster

    try:
        async with target.open_async() as admin:
            return await read_cluster(admin)
    except KafkaError as error:
        return error


def _directory(out: str) -> str:
    scheme, separator, path = out.partition("://")
    if not separator:
        return out
    if scheme != "file" or not path.startswith("/"):
        raise ConfigurationError(
            f"snapshots are written to a directory or a file:///… URI, and not to {out}: "
            f"write them to a directory, and let the tool of your store copy it"
        )
    from urllib.parse import unquote

    return unquote(path)


def _written(directory: str, target: Target, reading: ClusterState) -> dict[str, Any]:
    from kconf.model.journal_json import to_json
    from kconf.model.snapshot_json import snapshot_lines
    from kconf.util.atomic_files import PartialFile, cluster_directory, private_directory
    from kconf.version import __version__

    place = cluster_directory(directory, reading.cluster)
    count = 0
    try:
        private_directory(place)
        with PartialFile(place) as file:
            for line in snapshot_lines(reading, target.name, target.context.labels, __version__):
                file.write(to_json(line).encode() + b"\n")
                count += 1
            size = file.size
            path = file.publish(f"{_stamp(reading.taken)}.jsonl")
    except OSError as error:
        raise ConfigurationError(f"{place} cannot be written: {error.strerror}") from None
    return {
        "cluster": reading.cluster,
        "topics": len(reading.topics),
        "lines": count,
        "bytes": size,
        "missing": [each.what for each in reading.missing],
        "file": str(path),
    }


def _stamp(taken: int) -> str:
    """Names sort in the order of time."""
    from datetime import UTC, datetime

    moment = datetime.fromtimestamp(taken / 1000, UTC)
    return f"{moment:%Y%m%dT%H%M%S}.{taken % 1000:03}Z"
