"""`kconf pipeline`: update and maintain the tables of a lake."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kconf.cli.common.spark_session import add_session, lake_at, say
from kconf.errors import ConfigurationError

if TYPE_CHECKING:
    from kconf.spark.inputs import Inputs

_MOST_SKIPPED = 10
_EXAMPLES = """\
examples:
  kconf pipeline run --archive /var/lib/kconf/archive --lake /var/lib/kconf/lake
  kconf pipeline run --lake lake --snapshot prod --snapshot /var/lib/kconf/snapshots
  kconf pipeline run --lake lake --metadata-log /var/lib/kafka/data/__cluster_metadata-0
  kconf pipeline run --lake lake --archive archive --declared clusters/prod --policy policy.yaml --owners owners.csv
  kconf pipeline prepare
  kconf pipeline status --lake lake
  kconf pipeline rebuild --lake lake --declared clusters/prod
  kconf pipeline compact --lake lake
  kconf pipeline vacuum --lake lake --hours 336

What the tables hold: docs/reference/tables.md. `kconf lake` asks them.
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "pipeline",
        help="make tables of archives, snapshots and live clusters",
        description="Make tables of archives, snapshots and live clusters, with Spark.",
        epilog=_EXAMPLES,
    )
    verbs = command.add_subparsers(title="commands", metavar="COMMAND", required=True)
    run = _verb(verbs, "run", "read what is new, and bring all tables up to date", run_run)
    run.add_argument(
        "--archive",
        metavar="URI",
        action="append",
        default=[],
        help="what --archive of `kconf serve` or `kconf follow` says",
    )
    run.add_argument(
        "--snapshot",
        metavar="CONTEXT|URI",
        action="append",
        default=[],
        help="a live cluster by its context or HOST:PORT, or a directory of `kconf snapshot`",
    )
    run.add_argument(
        "--metadata-log",
        metavar="DIR",
        action="append",
        default=[],
        help="a KRaft controller's metadata directory (__cluster_metadata-0), of a cluster that nobody followed",
    )
    rebuild = _verb(verbs, "rebuild", "make history and gold tables anew from what was read", run_rebuild)
    for each in (run, rebuild):
        each.add_argument(
            "--declared",
            metavar="FILE",
            type=Path,
            action="append",
            default=[],
            help="declared YAML, a file or a directory",
        )
        each.add_argument("--policy", metavar="FILE", type=Path, help="rules, as the server's policy.file")
        each.add_argument("--owners", metavar="FILE", type=Path, help="CSV of TOPIC,OWNER: a name, a glob or /regex/")
        each.add_argument("--usage", metavar="FILE", type=Path, help="CSV or Parquet of user, client_id, key, rate")
    prepare = _verb(verbs, "prepare", "fetch jars and archive classes, once, so that runs start sooner", run_prepare)
    prepare.add_argument("--log", metavar="FILE", type=Path, help="where Spark's own log goes")
    _verb(verbs, "status", "the last run, and what each table holds", run_status)
    _verb(verbs, "compact", "make few files of many", run_compact)
    vacuum = _verb(verbs, "vacuum", "remove files that no recent version needs", run_vacuum)
    vacuum.add_argument("--hours", metavar="N", type=int, default=168, help="how long versions are kept (default: 168)")


def _verb(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser], name: str, about: str, run: object
) -> argparse.ArgumentParser:
    verb = verbs.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}.")
    if name != "prepare":
        verb.add_argument("--lake", metavar="URI", required=True, help="where the tables are")
    if name not in ("prepare", "status"):
        add_session(verb)
    verb.set_defaults(run=run)
    return verb


def run_run(options: argparse.Namespace) -> int:
    """Bring the tables up to date."""
    if not options.archive and not options.snapshot and not options.metadata_log:
        raise ConfigurationError("a run needs something to read: --archive, --snapshot or --metadata-log")
    for each in options.metadata_log:
        _check_metadata_log(each)
    began = time.monotonic()
    clusters = [_cluster(each) for each in options.snapshot if not _is_place(each)]
    places = [each for each in options.snapshot if _is_place(each)]
    inputs = _inputs(options)
    with lake_at(options.lake, options, (*options.archive, *places)) as lake:
        from kconf.spark.runner import Sources, run

        done = run(lake, Sources(options.archive, places, clusters, options.metadata_log), inputs, say)
    say("")
    _tell_migrated(done.migrated)
    _tell_skipped(done.read.skipped)
    for note in done.read.notes:
        print(note, file=sys.stderr)
    if done.number is None:
        print("nothing new")
        return 0
    told = (
        (done.read.journal, "change"),
        (done.read.attempts, "attempt"),
        (done.read.facts, "fact", " of snapshots"),
        (done.read.quarantined, "line", " quarantined"),
    )
    counts = ", ".join(f"{count} {what}{'' if count == 1 else 's'}{''.join(more)}" for count, what, *more in told)
    print(f"run {done.number}: {counts}, in {time.monotonic() - began:.1f} s")
    _advise()
    return 0


def _tell_migrated(migrated: Mapping[str, Sequence[str]]) -> None:
    """Say which tables of an older version have new columns now; rows from before may have no value there."""
    tables: dict[str, list[str]] = {}
    for path, columns in migrated.items():
        for each in columns:
            tables.setdefault(each, []).append(path)
    for column, paths in tables.items():
        print(f"migrated the lake: new column {column} in {', '.join(paths)}", file=sys.stderr)


def _tell_skipped(skipped: Mapping[str, str]) -> None:
    """Say which files were not read, and why."""
    for path, reason in sorted(skipped.items())[:_MOST_SKIPPED]:
        print(f"skipped {path}: {reason}", file=sys.stderr)
    if len(skipped) > _MOST_SKIPPED:
        more = len(skipped) - _MOST_SKIPPED
        print(f"skipped {more:,} more files; the table bronze/files has them all", file=sys.stderr)


def _advise() -> None:
    """Print how the next run can be faster."""
    from kconf.spark import class_archive, session

    if sys.stderr.isatty():
        file = session.archive(session.check_java())
        if file is None or not class_archive.is_ours(file):
            print("`kconf pipeline prepare`, once, makes every run start sooner.", file=sys.stderr)


def run_rebuild(options: argparse.Namespace) -> int:
    inputs = _inputs(options)
    with lake_at(options.lake, options) as lake:
        from kconf.spark.runner import rebuild

        done = rebuild(lake, inputs, say)
    say("")
    print(f"run {done.number}: history and gold tables made anew")
    return 0


def run_compact(options: argparse.Namespace) -> int:
    with lake_at(options.lake, options) as lake:
        from kconf.spark.runner import compact

        removed, added = compact(lake, say)
    say("")
    print(f"{removed} files became {added}" if removed else "there was nothing to make fewer of")
    return 0


def run_vacuum(options: argparse.Namespace) -> int:
    if options.hours < 168:
        raise ConfigurationError(
            "readers and a run that is under way may need files of the last week: --hours 168 or more"
        )
    with lake_at(options.lake, options) as lake:
        from kconf.spark.runner import vacuum

        vacuum(lake, options.hours, say)
    say("")
    print(f"what no version of the last {options.hours} hours needs is gone")
    return 0


def run_prepare(options: argparse.Namespace) -> int:
    """Have the slow things done before anyone waits for them."""
    say("starting Spark …")
    from kconf.spark.warmup import prepare

    file = prepare(options.log, say)
    say("")
    print(f"classes are archived in {file}, {file.stat().st_size // (1024 * 1024)} MB")
    return 0


def run_status(options: argparse.Namespace) -> int:
    """What the last run left, without Spark."""
    from kconf.lake.status import status

    for line in status(options.lake):
        print(line)
    return 0


def _inputs(options: argparse.Namespace) -> Inputs:
    """The files, checked: a mistake in one of them costs no start of Spark."""
    from kconf.spark.inputs import Inputs

    inputs = Inputs(options.declared, options.policy, options.owners, options.usage)
    inputs.check()
    return inputs


def _check_metadata_log(directory: str) -> None:
    """A directory that is none costs no start of Spark."""
    from kconf.client.kraft.metadata_directory import MetadataDirectory

    MetadataDirectory(directory).require_cluster()


def _is_place(text: str) -> bool:
    return "/" in text or Path(text).is_dir()


def _cluster(text: str) -> dict[str, str]:
    """The options of the live source; a context is looked up now, so that a wrong name costs nothing."""
    if re.fullmatch(r"[\w.\-\[\]:]+:\d+(,[\w.\-\[\]:]+:\d+)*", text):
        return {"bootstrap.servers": text}
    from kconf.client.contexts.load import load_contexts

    load_contexts().named(text)
    return {"context": text}
