"""`kconf pipeline`: update and maintain the tables of a lake."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from kconf.cli.commands.pipeline_follow import add_follow, run_follow
from kconf.cli.common.pipeline.options import add_inputs, add_sources, inputs_of, sources_of
from kconf.cli.common.pipeline.spark_session import add_session, lake_at, say
from kconf.errors import ConfigurationError

_MOST_SKIPPED = 10
_EXAMPLES = """\
examples:
  kconf pipeline run --archive /var/lib/kconf/archive --lake /var/lib/kconf/lake
  kconf pipeline run --lake lake --snapshot prod --snapshot /var/lib/kconf/snapshots
  kconf pipeline run --lake lake --metadata-log /var/lib/kafka/data/__cluster_metadata-0
  kconf pipeline run --lake lake --archive archive --declared clusters/prod --policy policy.yaml --owners owners.csv
  kconf pipeline follow --lake lake --archive archive --server prod --metrics 127.0.0.1:9406
  kconf pipeline run --lake s3://bucket/lake --archive s3://bucket/archive
  kconf pipeline prepare
  kconf pipeline status --lake lake
  kconf pipeline rebuild --lake lake --declared clusters/prod
  kconf pipeline compact --lake lake
  kconf pipeline vacuum --lake lake --hours 336

Tables and columns: docs/reference/tables.md. Query them with `kconf lake`.
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "pipeline",
        help="build tables from archives, snapshots and clusters",
        description="Build tables from archives, snapshots and live clusters, with Spark.",
        epilog=_EXAMPLES,
    )
    verbs = command.add_subparsers(title="commands", metavar="COMMAND", required=True)
    run = _verb(verbs, "run", "read new input and update all tables", run_run)
    add_sources(run)
    add_follow(_verb(verbs, "follow", "keep all tables current, until interrupted", run_follow))
    rebuild = _verb(verbs, "rebuild", "rebuild history and gold tables from bronze", run_rebuild)
    for each in (run, rebuild):
        add_inputs(each)
    prepare = _verb(
        verbs, "prepare", "download jars and write a JVM class archive once, for faster starts", run_prepare
    )
    prepare.add_argument("--log", metavar="FILE", type=Path, help="file for Spark's own log")
    prepare.add_argument("--s3", action="store_true", help="also download the jars for lakes and archives on S3")
    _verb(verbs, "status", "show the last run and the size of each table", run_status)
    _verb(verbs, "compact", "merge small files", run_compact)
    vacuum = _verb(verbs, "vacuum", "delete files that no recent table version needs", run_vacuum)
    vacuum.add_argument(
        "--hours", metavar="N", type=int, default=168, help="retention of old table versions (default: 168)"
    )


def _verb(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser], name: str, about: str, run: object
) -> argparse.ArgumentParser:
    verb = verbs.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}.")
    if name != "prepare":
        verb.add_argument("--lake", metavar="URI", required=True, help="URI of the tables")
    if name not in ("prepare", "status"):
        add_session(verb)
    verb.set_defaults(run=run)
    return verb


def run_run(options: argparse.Namespace) -> int:
    """Update the tables."""
    if not options.archive and not options.snapshot and not options.metadata_log:
        raise ConfigurationError("nothing to read: pass --archive, --snapshot or --metadata-log")
    began = time.monotonic()
    sources, inputs = sources_of(options), inputs_of(options)
    more = bool(sources.clusters or sources.metadata_logs)
    with lake_at(options.lake, options, (*sources.archives, *sources.snapshots), more=more) as lake:
        from kconf.spark.runner import run

        done = run(lake, sources, inputs, say)
    say("")
    _print_migrated(done.migrated)
    _print_skipped(done.read.skipped)
    _print_notes(done.read.notes)
    if done.number is None:
        print("nothing new")
        return 0
    numbers = (
        (done.read.journal, "change"),
        (done.read.attempts, "attempt"),
        (done.read.facts, "snapshot row"),
        (done.read.quarantined, "line", " quarantined"),
    )
    counts = ", ".join(f"{count} {what}{'' if count == 1 else 's'}{''.join(more)}" for count, what, *more in numbers)
    print(f"run {done.number}: {counts}, in {time.monotonic() - began:.1f} s")
    _advise()
    return 0


def _print_notes(notes: Sequence[str]) -> None:
    for each in notes:
        print(each, file=sys.stderr)


def _print_migrated(migrated: Mapping[str, Sequence[str]]) -> None:
    """Print which tables of an older version got new columns; older rows may have no value there."""
    tables: dict[str, list[str]] = {}
    for path, columns in migrated.items():
        for each in columns:
            tables.setdefault(each, []).append(path)
    for column, paths in tables.items():
        print(f"migrated the lake: new column {column} in {', '.join(paths)}", file=sys.stderr)


def _print_skipped(skipped: Mapping[str, str]) -> None:
    """Print which files were not read, and why."""
    for path, reason in sorted(skipped.items())[:_MOST_SKIPPED]:
        print(f"skipped {path}: {reason}", file=sys.stderr)
    if len(skipped) > _MOST_SKIPPED:
        more = len(skipped) - _MOST_SKIPPED
        print(f"skipped {more:,} more files; see table bronze/files for all", file=sys.stderr)


def _advise() -> None:
    """Print how the next run can be faster."""
    from kconf.spark import session
    from kconf.spark.startup import class_archive

    if sys.stderr.isatty():
        file = session.archive(session.check_java())
        if file is None or not class_archive.is_ours(file):
            print("Run `kconf pipeline prepare` once to make every run start faster.", file=sys.stderr)


def run_rebuild(options: argparse.Namespace) -> int:
    inputs = inputs_of(options)
    with lake_at(options.lake, options) as lake:
        from kconf.spark.runner import rebuild

        done = rebuild(lake, inputs, say)
    say("")
    _print_notes(done.read.notes)
    print(f"run {done.number}: history and gold tables rebuilt")
    return 0


def run_compact(options: argparse.Namespace) -> int:
    with lake_at(options.lake, options) as lake:
        from kconf.spark.runner import compact

        removed, added = compact(lake, say)
    say("")
    print(f"compacted {removed} files into {added}" if removed else "nothing to compact")
    return 0


def run_vacuum(options: argparse.Namespace) -> int:
    if options.hours < 168:
        raise ConfigurationError(
            "--hours must be at least 168: readers and running jobs may need files of the last week"
        )
    with lake_at(options.lake, options) as lake:
        from kconf.spark.runner import vacuum

        vacuum(lake, options.hours, say)
    say("")
    print(f"deleted files that no version of the last {options.hours} hours needs")
    return 0


def run_prepare(options: argparse.Namespace) -> int:
    """Download the jars and archive the classes, for faster starts."""
    say("starting Spark …")
    from kconf.spark.startup.warmup import prepare

    file = prepare(options.log, say, s3=options.s3)
    say("")
    print(f"wrote the JVM class archive {file}, {file.stat().st_size // (1024 * 1024)} MB")
    return 0


def run_status(options: argparse.Namespace) -> int:
    """Show the last run and the tables, without Spark."""
    from kconf.lake.status import status

    for line in status(options.lake):
        print(line)
    return 0
