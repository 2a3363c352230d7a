"""A pipeline run: read, update the history, rebuild the tables, and finally record which table versions belong
together.

Each table is written in one commit. A run that dies leaves the last run row unchanged, and the next run resumes. A lake
written by an older version is migrated first: bronze tables get the new columns, derived tables are rebuilt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from kconf.errors import KconfError
from kconf.lake.local_tables import disk_full
from kconf.lake.schemas import (
    ATTEMPTS,
    BRONZE,
    EFFECTIVE_CONFIG,
    EFFECTIVE_QUOTA,
    FILES,
    GOLD,
    HISTORY,
    JOURNAL,
    QUARANTINE,
    RUNS,
    SNAPSHOT,
    STATE,
    TABLES,
    Table,
)
from kconf.lake.storage.location import LakeBusy, LakeError
from kconf.spark import bronze, files, gold, silver
from kconf.spark.delta_tables import Lake
from kconf.spark.errors import SourceUnreachable, first_line
from kconf.spark.incremental.affected import FEW
from kconf.spark.inputs import Inputs, Sources
from kconf.spark.session import planned_for
from kconf.version import __version__

Say = Callable[[str], None]
OnUnreachable = Callable[[Mapping[str, str], LakeError], None]
"""Called for a cluster that cannot be read, with the options of its source; the run continues without it."""

_ADDED_TO = (JOURNAL, ATTEMPTS, QUARANTINE, FILES, SNAPSHOT, RUNS)
"""Tables whose rows are kept: they cannot be derived from other tables."""
_MADE = (HISTORY, *GOLD)
"""Derived tables."""
_NAMES = {
    "declared": "a file of --declared",
    "policy": "the file of --policy",
    "owners": "the file of --owners",
    "usage": "the file of --usage",
}
_LARGEST = (JOURNAL, HISTORY, EFFECTIVE_CONFIG)


@dataclass
class Summary:
    """The result of a run. `number` is None if there was nothing new; `migrated` has the new columns of each table."""

    number: int | None = None
    read: bronze.Read = field(default_factory=bronze.Read)
    migrated: Mapping[str, Sequence[str]] = field(default_factory=dict)


def run(lake: Lake, sources: Sources, inputs: Inputs, say: Say, on_unreachable: OnUnreachable | None = None) -> Summary:
    """Update all tables. Without `on_unreachable`, an unreachable cluster ends the run before it writes anything."""
    inputs.check()
    started = datetime.now(UTC)
    with lake.locked(), plain_errors(lake):
        migrated = migrate(lake)
        last = last_run(lake)
        summary = Summary(read=read(lake, sources, say, on_unreachable), migrated=migrated)
        is_new = any(summary.read.counts.values()) or migrated or not _is_up_to_date(lake, inputs, last)
        if is_new or silver.has_new_ranges(lake):
            is_few, is_small = sum(summary.read.counts.values()) <= FEW, all(map(lake.is_small, _LARGEST))
            with planned_for(lake.spark, is_few=is_few and is_small, is_small=is_small):
                say("writing history …")
                silver.update(lake)
                gold.write(lake, inputs, say)
        elif not summary.read.files:
            return summary
        say("recording the run …")
        summary.number = finish(lake, _used(lake, inputs, summary.read), summary.read, started, last)
    return summary


def rebuild(lake: Lake, inputs: Inputs, say: Say) -> Summary:
    """Rebuild history and gold tables from bronze."""
    inputs.check()
    started = datetime.now(UTC)
    with plain_errors(lake), _there(lake, BRONZE).locked():
        for table in _ADDED_TO:
            lake.rewrite(table)
        say("rebuilding history …")
        silver.rebuild(lake)
        gold.write(lake, inputs, say)
        result = bronze.Read()
        return Summary(finish(lake, _used(lake, inputs, result), result, started, last_run(lake)), result)


def migrate(lake: Lake) -> dict[str, list[str]]:
    """Migrate a lake of another version to the current schemas. Returns the new columns by table path.

    Derived tables are not changed here: those that differ are returned, and the run rebuilds them.
    """
    differences = {table.path: lake.difference(table) for table in _MADE}
    made = {path: [each.name for each in found.missing] for path, found in differences.items() if found}
    return {**lake.migrate(_ADDED_TO), **made}


def read(lake: Lake, sources: Sources, say: Say, on_unreachable: OnUnreachable | None = None) -> bronze.Read:
    """Read new input into bronze. Clusters come first: if one is down, nothing has changed yet."""
    number = silver.next_round(lake)
    result = bronze.Read()
    for options in sources.clusters:
        say(f"taking a snapshot of {options.get('context') or options.get('bootstrap.servers')} …")
        try:
            bronze.read_cluster(lake, options, number, result)
        except SourceUnreachable as error:
            if on_unreachable is None:
                raise
            on_unreachable(options, error)
    for uri in sources.archives:
        say(f"reading {uri} …")
        bronze.read_archive(lake, uri, number, result)
    for directory in sources.metadata_logs:
        say(f"reading {directory} …")
        bronze.read_metadata_log(lake, directory, number, result)
    for uri in sources.snapshots:
        say(f"reading {uri} …")
        bronze.read_snapshots(lake, uri, number, result)
    return result


def last_run(lake: Lake) -> dict[str, Any] | None:
    """The last finished run, from its commit note if it has one: Spark takes seconds for a table of one row."""
    note = lake.note(RUNS, of_rows=True)
    if "run" in note:
        return note
    rows = lake.read(RUNS).orderBy(F.desc("run")).limit(1).collect() if lake.exists(RUNS) else []
    return rows[0].asDict() if rows else None


def versions(lake: Lake) -> dict[str, int]:
    """The current version of each table."""
    found = {table.name: lake.version(table) for table in (*BRONZE, FILES, HISTORY, STATE, *GOLD)}
    return {name: version for name, version in found.items() if version is not None}


def _are_current(lake: Lake, last: Mapping[str, Any]) -> bool:
    """Whether the last run wrote the current tables. A later run may have added files in which nothing was new."""
    then, now = dict(last["versions"]), versions(lake)
    return all(then.get(name) == now.get(name) for name in {*then, *now} - {FILES.name})


def _is_up_to_date(lake: Lake, inputs: Inputs, last: dict[str, Any] | None) -> bool:
    """Whether there is nothing new since the last run: the same inputs, and nothing read by a run that died."""
    return last is not None and last["inputs"] == inputs.fingerprints and _are_current(lake, last)


def _used(lake: Lake, inputs: Inputs, result: bronze.Read) -> dict[str, str]:
    """The fingerprints of the input files that a run used. Notes which of them have changed in the meantime."""
    changed = inputs.changed()
    result.notes += [f"{_NAMES[each]} changed during the run; the next run reads it again" for each in changed]
    if "usage" not in changed:
        return inputs.fingerprints
    lake.append_rows(EFFECTIVE_QUOTA, [], note={"given": None})  # Spark may have read either state of the file
    return {**inputs.fingerprints, "usage": ""}


def finish(
    lake: Lake, inputs: Mapping[str, str], result: bronze.Read, started: datetime, last: dict[str, Any] | None
) -> int:
    """Write the row that records which table versions belong together."""
    number = last["run"] + 1 if last is not None else 1
    lake.overwrite_rows(STATE, list(silver.state_rows(lake.note(HISTORY))))
    row = {
        "run": number,
        "started": started.isoformat(),
        "finished": datetime.now(UTC).isoformat(),
        "kconf": __version__,
        "round": lake.note(HISTORY).get("round", 0),
        **result.counts,
        "inputs": inputs,
        "versions": versions(lake),
    }
    lake.append_rows(RUNS, [row], note={name: row[name] for name in ("run", "inputs", "versions")})
    for table in TABLES.values():
        lake.shorten_log(table)
    return number


def compact(lake: Lake, say: Say, copies: Path | None = None) -> tuple[int, int]:
    """Merge small files; returns the number of files removed and added.

    The ledger loses its superseded rows, and those of deleted files in `copies`.
    """
    removed = added = 0
    with _settled(lake):
        files.forget(lake, copies)
        for table in TABLES.values():
            say(f"compacting {table.name} …")
            less, more = lake.compact(table)
            removed, added = removed + less, added + more
    return removed, added


def rejected(lake: Lake) -> frozenset[str]:
    """The paths of all files with rejected lines. `bronze/quarantine` does not have the values in these lines."""
    with plain_errors(lake):
        return files.rejected(lake)


def vacuum(lake: Lake, hours: int, say: Say) -> None:
    """Delete files that no version of the last hours needs."""
    with _settled(lake):
        for table in TABLES.values():
            say(f"vacuuming {table.name} …")
            lake.vacuum(table, hours)


@contextmanager
def _settled(lake: Lake) -> Iterator[None]:
    """Checks that the last run has finished, for file maintenance, and records the resulting versions as a run.

    Lookups read the versions of the last finished run. If a later run died, those are not the newest: a vacuum would
    delete their files, and the unfinished output of the dead run would be recorded as complete.
    """
    started = datetime.now(UTC)
    with plain_errors(lake), _there(lake, [RUNS]).locked():
        last = last_run(lake)
        if last is None or not _are_current(lake, last):
            raise LakeError(f"The last run on {lake.uri} did not finish; run the pipeline again first.")
        lake.migrate([RUNS])
        yield
        finish(lake, last["inputs"], bronze.Read(), started, last)


def _there(lake: Lake, tables: Iterable[Table]) -> Lake:
    """The lake, if it has at least one of these tables: maintenance must not create a lake."""
    if not any(map(lake.exists, tables)):
        raise LakeError(f"No pipeline run on {lake.uri} has written these tables yet.")
    return lake


@contextmanager
def plain_errors(lake: Lake) -> Iterator[None]:
    """A Spark exception as one sentence."""
    try:
        yield
    except KconfError:
        raise
    except (ConnectionError, Py4JNetworkError):
        raise LakeError(
            "Spark's JVM ended unexpectedly. It may have been killed, for example because the memory of the machine ran"
            " out. The tables are complete up to their last commit; run the pipeline again to continue."
        ) from None
    except (PySparkException, Py4JError) as error:
        text = str(error)
        if "No space left on device" in text:
            raise LakeError(disk_full(lake.uri)) from None
        if "Concurrent" in text and "Exception" in text:
            raise LakeBusy(f"Another run changed {lake.uri} concurrently. Run the pipeline again.") from None
        if "Permission denied" in text:
            raise LakeError(f"Permission denied on the lake {lake.uri} or its input.") from None
        raise LakeError(f"Spark failed: {first_line(error)}") from None
