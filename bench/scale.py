"""The pipeline on a standalone Spark of two workers: many events of 1,000 clusters, of which one has half.

Spark generates the journal with 2 million keys in the pipeline's format (bench/lakes.py). Then the history and all gold
tables are built from it, a batch of new events is added, and all tables are updated. Each figure has the processor time
of the workers and the driver, the peak of the memory of all of them together, and the bytes below the directory, which
include what Spark spills. `python -m bench.scale --events 10000000`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import lakes, machine
from kconf.lake.schemas import GOLD, HISTORY, JOURNAL, Table
from kconf.spark import gold, session, silver
from kconf.spark.delta_tables import Lake
from kconf.spark.inputs import Inputs
from tests.support.spark_cluster import standalone


@dataclass
class Watch:
    """Samples this process, its children (the driver, the daemons and their executors) and the directory."""

    home: Path
    memory: int = 0
    disk: int = 0
    _stopped: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        while not self._stopped.wait(2.0):
            self.memory = max(self.memory, machine.rss_bytes(os.getpid()))
            self.disk = max(self.disk, size_of(self.home))

    @contextmanager
    def on(self) -> Iterator[Watch]:
        thread = threading.Thread(target=self.run, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._stopped.set()
            thread.join()


def size_of(place: Path) -> int:
    """The bytes on disk below a directory; files may disappear meanwhile."""
    total = 0
    for folder, _, names in os.walk(place):
        for name in names:
            try:
                total += os.lstat(os.path.join(folder, name)).st_blocks * 512
            except OSError:
                continue
    return total


def measured(home: Path, what: str, work: Callable[[], Any]) -> None:
    own, busy, began = machine.cpu_seconds(os.getpid()), machine.busy_seconds(), time.perf_counter()
    with Watch(home).on() as watch:
        work()
    seconds, used = time.perf_counter() - began, machine.cpu_seconds(os.getpid()) - own
    others = (machine.busy_seconds() - busy - used) / seconds
    figures = f"{seconds:8.1f} s; processor {used:8.1f} s; others {others:.1f} cores"
    print(f"{what:>32}: {figures}; {watch.memory / 1e9:.1f} GB; disk {watch.disk / 1e9:.1f} GB", flush=True)


def append(lake: Lake, first: int, count: int) -> None:
    number = silver.next_round(lake)
    lake.append(JOURNAL, lakes.events_of_many(lake.spark, first, count, number), note={"round": number})


def show(lake: Lake, table: Table) -> None:
    files = lake.spark.read.format("delta").load(lake.path(table)).inputFiles()
    place = Path(lake.path(table))
    print(f"{table.path:>32}: {lake.read(table).count():,} rows, {len(files)} files, {size_of(place):,} bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--new", type=int, default=100_000)
    parser.add_argument("--rules", action="store_true", help="also check six rules at the end")
    parser.add_argument("--worker-memory", default="2560m")
    parser.add_argument("--driver-memory", default="2g")
    parser.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], help="a setting of Spark")
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="kconf-scale-"))
    settings = {
        "spark.executor.memory": options.worker_memory,
        "spark.driver.memory": options.driver_memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.network.timeout": "1800s",  # at the lowest priority, executors may wait for minutes
        "spark.executor.heartbeatInterval": "60s",
        **dict(each.split("=", 1) for each in options.set),
    }
    print(machine.describe(), f"two workers of {options.worker_memory}, driver of {options.driver_memory}", flush=True)
    (home / "rules.yaml").write_text(lakes.RULES)
    plain, ruled = Inputs(), Inputs(policy=home / "rules.yaml")
    try:
        with standalone(home, 2, options.worker_memory) as master:
            spark = session.start(master, log=home / "spark.log", settings=settings)
            lake = Lake(str(home / "lake"), spark)
            measured(home, f"{options.events:,} events generated", lambda: append(lake, 1, options.events))
            measured(home, "history", lambda: silver.rebuild(lake))
            measured(home, "gold tables", lambda: gold.write(lake, plain, lambda _: None))
            append(lake, options.events + 1, options.new)
            measured(home, f"history, {options.new:,} new", lambda: silver.update(lake))
            measured(home, "gold tables", lambda: gold.write(lake, plain, lambda _: None))
            if options.rules:
                measured(home, "gold tables with six rules", lambda: gold.write(lake, ruled, lambda _: None))
            for table in (JOURNAL, HISTORY, *GOLD):
                if lake.exists(table):
                    show(lake, table)
            session.stop(spark)
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
