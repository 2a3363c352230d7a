"""Runs benchmarks: both servers are started once and measured in turns, and other processes' load is recorded.

A benchmark is a function from an Arena to rows. `main` runs some of them, prints the table row by row, and saves every
round in bench/results.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypeVar

from bench import load, machine, requests
from bench.crowd import FEW, TOPICS
from bench.load import BenchError, Run, Shape
from bench.peers import KAFKA_VERSION, ROOT, Kafka, Kconf, Peer
from bench.table import Row, heading
from lab.java import LabError

RESULTS = Path(__file__).parent / "results"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Settings:
    """How long to measure. Kafka needs a warm-up: describes become three times faster after JIT compilation."""

    rounds: int = 3
    seconds: float = 3.0
    warm_up: float = 1.0
    first_warm_up: float = 6.0
    only: str | None = None
    topics: int = TOPICS  # of the broker for clients and commands
    kafka_properties: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def quick(cls, only: str | None) -> Settings:
        return cls(rounds=1, seconds=1.0, warm_up=0.5, first_warm_up=2.0, only=only, topics=FEW)

    def __str__(self) -> str:
        return f"medians of {self.rounds} rounds of {self.seconds:g} s, each after {self.warm_up:g} s of warm-up"


MAKERS: dict[str, Callable[[Settings], Peer]] = {
    "kafka": lambda settings: Kafka(settings.kafka_properties),
    "kconf": lambda settings: Kconf(),
}


@dataclass(frozen=True, slots=True)
class Rounds(Generic[T]):
    """The results of every round by server, and the highest load of other processes meanwhile."""

    by_peer: dict[str, list[T]]
    others: float

    def series(self, figure: Callable[[T], float]) -> dict[str, list[float]]:
        return {peer: [figure(each) for each in made] for peer, made in self.by_peer.items()}


class Arena:
    """Both servers, started on first use."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._stack = contextlib.ExitStack()
        self._peers: list[Peer] = []
        self._kept: dict[Callable[..., Any], Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def names(self) -> Sequence[str]:
        return [name for name in MAKERS if self.settings.only in (None, name)]

    @property
    def peers(self) -> Sequence[Peer]:
        if not self._peers:
            self._peers = [self._stack.enter_context(MAKERS[name](self.settings)) for name in self.names]
            for peer in self._peers:
                self._warm_up(peer)
        return self._peers

    def keep(self, make: Callable[..., AbstractContextManager[T]], *args: Any) -> T:
        """Create a value once and keep it until the end."""
        if make not in self._kept:
            self._kept[make] = self._stack.enter_context(make(*args))
        found: T = self._kept[make]
        return found

    def prepare(self, topics: Sequence[str]) -> None:
        """Create topics with three overrides on every server."""
        for peer in self.peers:
            requests.create_topics(peer.address, topics, requests.OVERRIDES)

    def rounds(self, measure: Callable[[Peer], T], peers: Sequence[Peer] | None = None) -> Rounds[T]:
        """Measure every server in every round, in alternating order."""
        among = list(peers if peers is not None else self.peers)
        made: dict[str, list[T]] = {peer.name: [] for peer in among}
        others = 0.0
        for number in range(self.settings.rounds):
            for peer in among if number % 2 == 0 else reversed(among):
                with Watch(among) as watch:
                    made[peer.name].append(measure(peer))
                others = max(others, watch.others)
        return Rounds(made, others)

    def run(
        self,
        peer: Peer,
        frames: Sequence[bytes],
        shape: Shape,
        *,
        times: float = 1.0,
        same: str = "body",
        numbered: bool = False,
    ) -> Run:
        """One round on one server, `times` as long as others."""
        seconds, warm_up = times * self.settings.seconds, self.settings.warm_up
        running = load.start(
            peer.address, frames, shape, seconds=seconds, warm_up=warm_up, same=same, numbered=numbered
        )
        try:
            return running.result()
        except BenchError as error:
            raise BenchError(f"{peer.name}: {error}") from None

    def _warm_up(self, peer: Peer) -> None:
        requests.create_topics(peer.address, ["bench-warm-up"], requests.OVERRIDES)
        for details in (False, True):
            frames = [requests.describe(["bench-warm-up"], details=details)]
            load.start(peer.address, frames, Shape(8, 8), seconds=self.settings.first_warm_up / 2, warm_up=0.0).result()


class HasPid(Protocol):
    @property
    def pid(self) -> int: ...


class Watch:
    """The number of cores used by other processes (not the benchmark and the servers) inside a `with` block."""

    def __init__(self, peers: Sequence[HasPid]) -> None:
        self._peers = peers
        self.others = 0.0

    def __enter__(self) -> Self:
        self._began, self._busy, self._ours = time.monotonic(), machine.busy_seconds(), self._own()
        return self

    def __exit__(self, *_: object) -> None:
        seconds = time.monotonic() - self._began
        self.others = (machine.busy_seconds() - self._busy - (self._own() - self._ours)) / seconds

    def _own(self) -> float:
        times = os.times()
        mine = times.user + times.system + times.children_user + times.children_system
        return mine + sum(machine.cpu_seconds(peer.pid) for peer in self._peers)


Benchmark = Callable[[Arena], Iterator[Row]]


def main(*benchmarks: Benchmark) -> None:
    """Run benchmarks as a command."""
    parser = argparse.ArgumentParser(description="Measure kconf and a real Kafka broker.")
    parser.add_argument("--quick", action="store_true", help="one short round, as a check; do not publish its figures")
    parser.add_argument("--only", choices=sorted(MAKERS), help="measure only one of the two")
    parser.add_argument("--rounds", type=int, help="number of rounds; the median is reported")
    parser.add_argument("--seconds", type=float, help="measured seconds per round")
    parser.add_argument(
        "--kafka-property", action="append", default=[], metavar="KEY=VALUE", help="a Kafka broker config; repeatable"
    )
    asked = parser.parse_args()
    settings = Settings.quick(asked.only) if asked.quick else Settings(only=asked.only)
    properties = dict(each.split("=", 1) for each in asked.kafka_property)
    wanted = {"rounds": asked.rounds, "seconds": asked.seconds, "kafka_properties": properties}
    settings = replace(settings, **{name: value for name, value in wanted.items() if value is not None})
    try:
        sys.exit(0 if _measure(settings, benchmarks) else 1)
    except (BenchError, LabError) as error:
        sys.exit(str(error))


def _measure(settings: Settings, benchmarks: Iterable[Benchmark]) -> bool:
    """Print the table; returns whether there is one."""
    began = datetime.now(UTC)
    about = [
        f"Kafka {KAFKA_VERSION} and kconf at {_commit()}; {machine.describe()}",
        f"{settings}; load average {_load_average()}",
        *(f"Kafka has {key}={value}." for key, value in settings.kafka_properties.items()),
        "A higher ratio is better for kconf.",
    ]
    print("\n".join(about), "\n\n" + heading(), flush=True)
    rows: list[Row] = []
    with Arena(settings) as arena:
        for benchmark in benchmarks:
            for row in benchmark(arena):
                rows.append(row)
                print(row, flush=True)
    short = [row for row in rows if row.verdict.startswith("short")]
    print(f"\n{len(rows)} rows, {len(short)} below their goal; {(datetime.now(UTC) - began).seconds} s in total.")
    _keep(began, about, rows)
    return bool(rows)


def _keep(began: datetime, about: Sequence[str], rows: Sequence[Row]) -> None:
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{began:%Y-%m-%dT%H%M%S}.json"
    kept = {"began": began.isoformat(), "about": list(about), "rows": [row.record() for row in rows]}
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")
    print(f"All rounds are saved in {path.relative_to(ROOT)}.")


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "an unknown commit"


def _load_average() -> str:
    return " ".join(f"{each:.2f}" for each in os.getloadavg())
