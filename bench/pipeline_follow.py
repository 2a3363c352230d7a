"""Measures how far a lake that `kconf pipeline follow` keeps current is behind, at a steady rate of changes.

Every second a segment with the changes of that second is added to an archive, as a server with archive.interval.ms=1000
writes it. The lag of a change is the time from the change to the end of the first run that includes it, which is when
`kconf lake` shows it. The first seconds, until Spark has started and the first run is done, are left out.
`python -m bench.pipeline_follow --rate 100 --seconds 180`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from bench import machine
from kconf.lake.schemas import HISTORY, JOURNAL, RUNS

CLUSTER = "bench-cluster"
KEYS = ("retention.ms", "segment.bytes", "min.insync.replicas", "max.message.bytes", "segment.ms")


class Archive:
    """Changes of topics, one per revision, with the time at which they are written."""

    def __init__(self, place: Path, topics: int) -> None:
        self._folder, self._topics, self._revision = place / CLUSTER, topics, 0
        self._folder.mkdir(parents=True)

    def write(self, count: int, now: float) -> None:
        first = self._revision + 1
        lines = [json.dumps(self._line(now)) for _ in range(count)]
        part = self._folder / ".segment.part"
        part.write_text("".join(f"{line}\n" for line in lines))
        part.rename(self._folder / f"{1:020d}-{first:020d}-{self._revision:020d}.jsonl")

    def _line(self, now: float) -> dict[str, Any]:
        self._revision += 1
        number = self._revision
        is_new = number <= self._topics
        topic = {"id": f"id-{number}", "replicas": [[1]]}
        key = KEYS[number % len(KEYS)]
        change = {"kind": "topic", "key": "", "op": "create", "after": json.dumps(topic)}
        if not is_new:
            change = {"kind": "config", "key": key, "op": "set", "after": str(number)}
        return {
            "format": 1,
            "cluster": CLUSTER,
            "epoch": 1,
            "revision": number,
            "sequence": number,
            "lines": 1,
            "line": 0,
            "time": int(now * 1000),
            "origin": "kconf",
            "principal": "User:u",
            "client_id": "bench",
            "host": "127.0.0.1",
            "api": "IncrementalAlterConfigs",
            "request_id": number,
            "reason": None,
            "resource_type": "topic",
            "resource_name": f"topic-{number * 7919 % self._topics}",
            "before": None,
            **change,
            "sensitive": False,
        }


def rows(lake: Path, path: str, columns: list[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = DeltaTable(lake / path).to_pyarrow_table(columns=columns).to_pylist()
    return found


def lags(lake: Path, since: float) -> list[float]:
    """The lag of each change after a time, in seconds."""
    runs = sorted(rows(lake, RUNS.path, ["round", "finished"]), key=lambda row: (row["round"], row["finished"]))
    rounds = [row["round"] for row in runs]
    found = []
    for row in rows(lake, JOURNAL.path, ["time", "round"]):
        place = bisect_left(rounds, row["round"])
        if row["time"].timestamp() >= since and place < len(runs):
            found.append((runs[place]["finished"] - row["time"]).total_seconds())
    return sorted(found)


def wait_for_run(lake: Path, running: subprocess.Popen[bytes]) -> None:
    while not (lake / RUNS.path / "_delta_log").is_dir():
        if running.poll() is not None:
            raise SystemExit("kconf pipeline follow has exited")
        time.sleep(0.5)


def seconds(count: int) -> Iterator[float]:
    """Yields the start of each second when it is reached."""
    began = time.time()
    for number in range(count):
        time.sleep(max(0.0, began + number - time.time()))
        yield time.time()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=int, default=100, help="changes per second")
    parser.add_argument("--seconds", type=int, default=180)
    parser.add_argument("--topics", type=int, default=1000)
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="kconf-bench-"))
    archive, lake = Archive(home / "archive", options.topics), home / "lake"
    archive.write(options.topics, time.time())
    words = ["--lake", str(lake), "--archive", str(home / "archive"), "--log", str(home / "spark.log")]
    print(machine.describe(), flush=True)
    with subprocess.Popen([sys.executable, "-m", "kconf", "pipeline", "follow", *words]) as running:
        try:
            wait_for_run(lake, running)
            began, busy, own = time.time(), machine.busy_seconds(), machine.cpu_seconds(running.pid)
            for now in seconds(options.seconds):
                archive.write(options.rate, now)
            spent, own = time.time() - began, machine.cpu_seconds(running.pid) - own
            others = (machine.busy_seconds() - busy - own) / spent
        finally:
            running.send_signal(signal.SIGTERM)
    found = lags(lake, began)
    done = sorted(row["finished"].timestamp() for row in rows(lake, RUNS.path, ["finished"]))
    count = sum(began < each <= began + spent for each in done)
    intervals = len(rows(lake, HISTORY.path, ["open"]))
    if not found:
        raise SystemExit("no run included any of the changes")
    figures = " ".join(
        f"p{percent}={found[min(len(found) - 1, len(found) * percent // 100)]:.1f}" for percent in (50, 99)
    )
    print(f"{len(found):,} of {options.rate * options.seconds:,} changes, {count} runs, {intervals:,} intervals")
    print(f"lag in seconds: {figures} max={found[-1]:.1f}")
    load = " ".join(f"{each:.0f}" for each in os.getloadavg())
    print(f"processor time of a run: {own / max(1, count):.1f} s; others used {others:.1f} cores; load average {load}")
    shutil.rmtree(home)


if __name__ == "__main__":
    main()
