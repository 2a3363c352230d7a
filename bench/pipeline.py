"""The pipeline compared with DuckDB on the same files, and the cost of a new batch, a run and the gold tables.

Spark generates a journal with many events for 200,000 keys, in the pipeline's format. Then both build its history:
Spark with the pipeline's own function into a Delta table, cold (first work of its session) and warm, and DuckDB with
one query on the same Parquet files into Parquet, before and after. All columns of all rows must agree. Then follow new
events, the gold tables, a run without new input, and the comparison of a snapshot of a million keys with their journal.
Each figure has the cores used by other processes, and the peak memory of its process. `python -m bench.pipeline
--events 1000000`. With `--home DIR`, the lake stays there, and `--parts` can be run one by one: each begins with a new
session, so the first figure of `batches` and of `tables` is that of a JVM which has just started.
"""

from __future__ import annotations

import argparse
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from bench import duck, lakes, machine
from kconf.lake.schemas import HISTORY, INTEGRITY, JOURNAL, SNAPSHOT, VIOLATIONS, Table
from kconf.spark import gold, session, silver
from kconf.spark.delta_tables import Lake
from kconf.spark.inputs import Inputs, Sources
from kconf.spark.runner import run

_KEYS = 200_000
_LOOKED_AT = 1_100_000  # keys of which nine in ten are set
_NEW = 1_000
_PARTS = ("events", "history", "batches", "tables", "rules", "integrity")


class Place:
    """A lake in a temporary directory, and its session."""

    def __init__(self, settings: Mapping[str, str], home: Path | None = None) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="kconf-bench-")) if home is None else home
        self.home.mkdir(parents=True, exist_ok=True)
        self.settings = dict(settings)
        self._lake: Lake | None = None

    @property
    def lake(self) -> Lake:
        if self._lake is None:
            spark = session.start("local[2]", log=self.home / "spark.log", settings=self.settings)
            self._lake = Lake(str(self.home / "lake"), spark)
        return self._lake

    @property
    def next(self) -> int:
        """The number of the next event."""
        marks = self.lake.note(JOURNAL).get("marks", {})
        return int(marks[lakes.CLUSTER][1]) + 1 if marks else 1

    @property
    def pid(self) -> int:
        return int(self.lake.spark.sparkContext._gateway.proc.pid)  # type: ignore[union-attr]

    def end(self) -> None:
        """End the session, so that the next work is cold."""
        if self._lake is not None:
            session.stop(self._lake.spark)
        self._lake = None

    def files(self, table: Table) -> list[str]:
        return DeltaTable(self.home / "lake" / table.path).file_uris()

    def append(self, count: int, keys: int) -> None:
        first = self.next
        note = {"marks": {lakes.CLUSTER: [1, first + count - 1, 0]}}
        number = silver.next_round(self.lake)
        self.lake.append(JOURNAL, lakes.events(self.lake.spark, first, count, keys, number), note=note)

    def spark_does(self, what: str, work: Callable[[], Any], beside: float | None = None) -> None:
        """Measure a piece of work. `beside` are DuckDB's seconds for the same."""
        pid = self.pid
        _forget_peak(pid)
        began, others = time.perf_counter(), _others(pid)
        work()
        seconds = time.perf_counter() - began
        ratio = f" ({seconds / beside:.1f} × DuckDB)" if beside else ""
        taken = (_others(pid) - others) / seconds
        print(f"{what:>45}: {seconds:7.2f} s{ratio}; {_peak(pid):.1f} GB; others {taken:.1f} cores", flush=True)

    def duck_does(self, what: str, work: Callable[[], float]) -> float:
        pid = self.pid
        _forget_peak("self")
        began, others = time.perf_counter(), _others(pid)
        seconds = work()
        taken = (_others(pid) - others) / (time.perf_counter() - began)
        print(f"{what:>45}: {seconds:7.2f} s; {_peak('self'):.1f} GB; others {taken:.1f} cores", flush=True)
        return seconds


@contextmanager
def place(settings: Mapping[str, str], home: Path | None = None) -> Iterator[Place]:
    """A lake in a temporary directory, or in one that is kept."""
    made = Place(settings, home)
    try:
        yield made
    finally:
        made.end()
        if home is None:
            shutil.rmtree(made.home, ignore_errors=True)


def events(there: Place, count: int) -> None:
    """Generate the journal."""
    there.append(count, _KEYS)
    there.end()


def history(there: Place, count: int) -> None:
    """Build the history of all events with both."""
    target, journal = there.home / "duck.parquet", f"{there.home}/lake/{JOURNAL.path}/*.parquet"
    there.lake.read(JOURNAL)
    first = there.duck_does(f"{count:,} events, DuckDB", lambda: duck.history(journal, target))
    there.spark_does("the same, cold", lambda: silver.rebuild(there.lake), first)
    second = there.duck_does("DuckDB again", lambda: duck.history(journal, target))
    there.spark_does("warm", lambda: silver.rebuild(there.lake), second)
    if not duck.same(there.files(HISTORY), target):
        raise RuntimeError("the histories differ")
    sizes = {"journal": there.files(JOURNAL), "history": there.files(HISTORY), "DuckDB's history": [str(target)]}
    each = (f"{name} {sum(Path(file).stat().st_size for file in files):,}" for name, files in sizes.items())
    print(f"{'':>45}  all rows equal; bytes: {', '.join(each)}", flush=True)


def batches(there: Place, more: list[int]) -> None:
    """Add new events to a history."""
    for turn, size in enumerate(more):
        there.append(size, _KEYS)
        there.spark_does(f"{size:,} new{' (the first)' if not turn else ''}", lambda: silver.update(there.lake))


def tables(there: Place, more: list[int]) -> None:
    """The gold tables, all tables after new events, and runs without new input."""
    for again in ("", " again"):
        shutil.rmtree(there.home / "lake" / "gold", ignore_errors=True)
        there.spark_does(f"gold tables{again}", lambda: gold.write(there.lake, Inputs(), lambda _: None))
    for size in more:
        there.append(size, _KEYS)
        there.spark_does(f"all tables after {size:,} new", lambda: _update(there, Inputs()))
    (there.home / "archive").mkdir()
    sources = Sources([str(there.home / "archive")])
    run(there.lake, sources, Inputs(), lambda _: None)
    for again in ("", " again"):
        there.spark_does(f"no new input{again}", lambda: run(there.lake, sources, Inputs(), lambda _: None))


def _update(there: Place, inputs: Inputs) -> None:
    silver.update(there.lake)
    gold.write(there.lake, inputs, lambda _: None)


def rules(there: Place) -> None:
    """The gold tables with rules: first the whole past is evaluated, then only resources with new events."""
    policy = there.home / "rules.yaml"
    policy.write_text(lakes.RULES)
    inputs = Inputs(policy=policy)
    for turn in range(4):
        if turn:
            there.append(_NEW, _KEYS)
            silver.update(there.lake)
        what = f"gold tables after {_NEW:,} new events" if turn else "gold tables with six rules"
        there.spark_does(what, lambda: gold.write(there.lake, inputs, lambda _: None))
        found = there.lake.read(VIOLATIONS).count()
        if bool(there.lake.note(VIOLATIONS)["kept"]) is not bool(turn):
            raise RuntimeError(f"previous violations were {'not ' if turn else ''}reused")
        print(f"{'':>45}  {found:,} violations", flush=True)


def integrity(there: Place) -> None:
    """Compare a snapshot of a million keys with their journal."""
    count = _LOOKED_AT + _LOOKED_AT // len(lakes.KEYS)
    there.append(count, _LOOKED_AT)
    silver.rebuild(there.lake)
    there.lake.append(SNAPSHOT, lakes.looked(there.lake.spark, _LOOKED_AT, count))
    facts = there.lake.read(SNAPSHOT).count()
    there.end()
    target, snapshot = there.home / "differences.parquet", f"{there.home}/lake/{SNAPSHOT.path}/*.parquet"
    found = 0

    def theirs() -> float:
        nonlocal found
        seconds, found = duck.differences(there.files(HISTORY), snapshot, target)
        return seconds

    def ours() -> None:
        made = gold.Gold(there.lake, Inputs())
        try:
            there.lake.overwrite(INTEGRITY, made.integrity())
        finally:
            made.forget()

    first = there.duck_does(f"integrity of {facts:,} facts, DuckDB", theirs)
    there.spark_does("the same, cold", ours, first)
    there.spark_does("warm", ours, there.duck_does("DuckDB again", theirs))
    counted = there.lake.read(INTEGRITY).where("kind = 'differs'").count()
    if counted != found:
        raise RuntimeError(f"Spark found {counted} differences, DuckDB {found}")
    print(f"{'':>45}  {found:,} differences found by both", flush=True)


def _others(pid: int) -> float:
    """Processor time of all processes except this one and the JVM."""
    return machine.busy_seconds() - time.process_time() - machine.cpu_seconds(pid)


def _forget_peak(pid: int | str) -> None:
    """Reset the peak memory of a process."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def _peak(pid: int | str) -> float:
    """The peak memory of a process in GB."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 / 1024 if found else 0.0


def measure(there: Place, count: int, parts: Sequence[str], more: list[int]) -> None:
    if "events" in parts:
        events(there, count)
    if "history" in parts:
        history(there, count)
    if "batches" in parts:
        batches(there, more)
    if "tables" in parts:
        tables(there, more)
    if "rules" in parts:
        rules(there)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare the pipeline with DuckDB.")
    parser.add_argument("--events", type=int, nargs="*", default=[1_000_000, 3_000_000, 10_000_000])
    parser.add_argument("--batches", type=int, nargs="*", default=[*[1_000] * 6, 95_000, 95_000])
    parser.add_argument("--parts", nargs="*", choices=_PARTS, default=_PARTS)
    parser.add_argument("--home", type=Path, help="keep the lake in this directory, for one size of events")
    parser.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], help="a setting of Spark")
    asked = parser.parse_args()
    settings = dict(each.split("=", 1) for each in asked.set)
    print(machine.describe())
    for count in asked.events:
        with place(settings, asked.home) as there:
            measure(there, count, asked.parts, asked.batches)
    if "integrity" in asked.parts:
        with place(settings) as there:
            integrity(there)


if __name__ == "__main__":
    main()
