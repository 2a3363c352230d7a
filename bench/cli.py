"""Our kafka-configs beside Kafka's, on the same real broker, from the start of the process to its exit.

Kafka's is its class in a fresh JVM with the quick options of lab/java.py: a little faster than kafka-configs.sh, which
starts a shell first. Ours finds its bytecode, as an installed package does. Rounds take turns; the figure is the
median. `python -m bench.cli`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench import machine
from bench.client import prepare
from bench.table import Goal, Row, heading
from lab import tools
from lab.broker import KafkaBroker

PROGRAM = Path(sys.executable).with_name("kafka-configs")

Tool = Callable[..., subprocess.CompletedProcess[str]]


def ours(bootstrap: str, *args: str, timeout: float = 60.0) -> subprocess.CompletedProcess[str]:
    command = [str(PROGRAM), "--bootstrap-server", bootstrap, *args]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    bytecode = str(Path(tempfile.gettempdir()) / f"kconf-bench-bytecode-{os.getuid()}")
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
        env={**environment, "PYTHONPYCACHEPREFIX": bytecode},
    )


TOOLS: dict[str, Tool] = {"kafka": tools.kafka_configs, "kconf": ours}


def measure(tool: Tool, address: str, args: Sequence[str]) -> tuple[float, str]:
    """Seconds, and what was printed."""
    began = time.perf_counter()
    done = tool(address, *args, timeout=300.0)
    spent = time.perf_counter() - began
    if done.returncode:
        raise SystemExit(f"{args} left with {done.returncode}: {done.stderr}")
    return spent, done.stdout


def row(work: str, address: str, args: Sequence[str], rounds: int, *goals: Goal) -> Row:
    seconds: dict[str, list[float]] = {name: [] for name in TOOLS}
    others = 0.0
    for number in range(rounds):
        printed: dict[str, list[str]] = {}
        for name in TOOLS if number % 2 == 0 else reversed(TOOLS):
            spent, out = measure(TOOLS[name], address, args)
            seconds[name].append(spent)
            printed[name] = sorted(out.splitlines())
        if printed["kafka"] != printed["kconf"]:
            raise SystemExit(f"{work}: the two tools do not say the same")
        others = max(others, os.getloadavg()[0] - 1)
    return Row(work, "s", seconds, goals, less_is_better=True, others=max(others, 0.0))


def topics(address: str, count: int) -> list[str]:
    """Where the machine is busy, a broker needs minutes for 10,000 of them."""
    with contextlib.suppress(RuntimeError):
        return prepare(address, count)
    for _ in range(3000):
        done = ours(address, "--describe", "--topic", f"bench-{count - 1:05d}")
        if f"retention.ms={1000 + count - 1} " in done.stdout:
            return [f"bench-{number:05d}" for number in range(count)]
        time.sleep(0.1)
    raise SystemExit("the broker does not show its topics")


def main() -> None:
    parser = argparse.ArgumentParser(description="Time our kafka-configs beside Kafka's, on the same broker.")
    parser.add_argument("--topics", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    print(f"{machine.describe()}; load average {os.getloadavg()[0]:.2f}")
    with KafkaBroker() as broker:
        address = broker.bootstrap
        names = topics(address, asked.topics)
        print(f"Kafka {broker.version}, {len(names)} topics, no two with the same configuration\n\n{heading()}")
        for _ in range(2):
            measure(ours, address, ["--describe", "--entity-type", "topics"])
        one = ("--topic", names[0])
        goals = (Goal("part", 8, "≥ 8× faster"), Goal("most", 0.18, "≤ 0.18 s"))
        print(row("describe one topic", address, ["--describe", *one], asked.rounds, *goals), flush=True)
        change = ["--alter", *one, "--add-config", "segment.ms=60000"]
        print(row("alter one topic", address, change, asked.rounds, *goals), flush=True)
        every = ["--describe", "--entity-type", "topics"]
        goal = Goal("part", 4, "≥ 4× faster")
        made = row(f"describe {len(names):,} topics", address, every, max(1, asked.rounds // 2), goal)
        print(made, flush=True)
    _floor(asked.rounds)


def _floor(rounds: int) -> None:
    """What an empty Python process costs here and now: nothing of ours can be faster."""
    seconds = []
    for _ in range(max(rounds, 3)):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        seconds.append(time.perf_counter() - began)
    print(f"\nAn empty Python process takes {statistics.median(seconds) * 1e3:.0f} ms here.")


if __name__ == "__main__":
    main()
