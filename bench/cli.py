"""kconf's commands compared with Kafka's, on the same real broker, from the start of the process to its exit.

Kafka's tool is its class in a new JVM with the fast options of lab/java.py: a little faster than kafka-configs.sh,
which starts a shell first. kconf uses its compiled bytecode, like an installed package. Rounds alternate; the figure is
the median. No Python command can be faster than an empty Python process, so that is in the table too.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.arena import Arena, main
from bench.crowd import crowd
from bench.load import BenchError
from bench.peers import compiled_environment
from bench.table import Goal, Row
from lab import tools

BIN = Path(sys.executable).parent
CALLS = 20  # calls of Kafka's command, instead of one for each of thousands

Tool = Callable[..., subprocess.CompletedProcess[str]]


def run(
    program: str, *words: str, timeout: float = 60.0, more: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run one of kconf's programs in its own process, with `more` in its environment."""
    return subprocess.run(
        [str(BIN / program), *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
        env={**compiled_environment(), **(more or {})},
    )


def ours(bootstrap: str, *args: str, timeout: float = 60.0) -> subprocess.CompletedProcess[str]:
    return run("kafka-configs", "--bootstrap-server", bootstrap, *args, timeout=timeout)


TOOLS: dict[str, Tool] = {"kafka": tools.kafka_configs, "kconf": ours}


def timed(tool: Tool, *args: str, **more: Any) -> tuple[float, str]:
    """The seconds and the output."""
    began = time.perf_counter()
    done = tool(*args, timeout=600.0, **more)
    spent = time.perf_counter() - began
    if done.returncode:
        raise BenchError(f"{' '.join(args)} exited with {done.returncode}: {done.stderr}")
    return spent, done.stdout


def rows(arena: Arena) -> Iterator[Row]:
    if set(arena.names) != {"kafka", "kconf"}:
        return
    address, names = arena.keep(crowd, arena.settings.topics)
    every = ["--describe", "--entity-type", "topics"]
    for _ in range(2):
        timed(ours, address, *every)
    one, rounds = ("--topic", names[0]), arena.settings.rounds
    goals = (Goal("part", 8, "≥ 8× faster"), Goal("most", 0.18, "≤ 0.18 s"))
    yield _row("kafka-configs: describe one topic", address, ["--describe", *one], rounds, *goals)
    change = ["--alter", *one, "--add-config", "segment.ms=60000"]
    yield _row("kafka-configs: alter one topic", address, change, rounds, *goals)
    goal = Goal("part", 4, "≥ 4× faster")
    yield _row(f"kafka-configs: describe {len(names):,} topics", address, every, max(1, rounds // 2), goal)
    yield _floor(rounds)


def _row(work: str, address: str, args: Sequence[str], rounds: int, *goals: Goal) -> Row:
    seconds: dict[str, list[float]] = {name: [] for name in TOOLS}
    for number in range(rounds):
        printed: dict[str, list[str]] = {}
        for name in TOOLS if number % 2 == 0 else reversed(TOOLS):
            spent, out = timed(TOOLS[name], address, *args)
            seconds[name].append(spent)
            printed[name] = sorted(out.splitlines())
        if printed["kafka"] != printed["kconf"]:
            raise BenchError(f"{work}: the outputs of the two tools differ.")
    return Row(work, "s", seconds, goals, less_is_better=True)


def _floor(rounds: int) -> Row:
    seconds = []
    for _ in range(max(rounds, 3)):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        seconds.append(time.perf_counter() - began)
    return Row("an empty Python process", "s", {"kconf": seconds}, less_is_better=True)


if __name__ == "__main__":
    main(rows)
