"""The cost of policies: the same alterations without a policy, with examples/policy.yaml, and with a class.

`python -m bench.policies`. 1,000 topics in one request, and one topic in each of 200 requests. Servers are measured in
turns. The table shows their processor time, which other load affects least, and the elapsed time; medians of rounds.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path

from bench import machine
from bench.load import BenchError
from tests.support.admin import SET, TOPIC, Admin
from tests.support.process import KconfProcess

ROOT = Path(__file__).parents[1]
RULES = ROOT / "examples" / "policy.yaml"
TOPICS = [f"bench.policy.{number:04}" for number in range(1_000)]
SETTINGS: Mapping[str, Mapping[str, str]] = {
    "off": {},
    "rules": {"policy.file": str(RULES)},
    "class": {"alter.config.policy.class.name": f"{ROOT / 'examples' / 'policies.py'}:OfficeHours"},
}
_fresh = count(100_000_000)  # allowed by the rules; a new value each time


class Side:
    """A server, its pid and a connection."""

    def __init__(self, server: KconfProcess, admin: Admin) -> None:
        self.server, self.admin = server, admin

    def measured(self, work: Callable[[Admin], None]) -> tuple[float, float]:
        """(processor seconds of the server, seconds)"""
        used, began = machine.cpu_seconds(self.server.pid), time.monotonic()
        work(self.admin)
        return machine.cpu_seconds(self.server.pid) - used, time.monotonic() - began


def alter_together(admin: Admin) -> None:
    value = str(next(_fresh))
    for dry in (False, True):  # a dry run shows planning without the commit
        _check(admin.alter_all([((TOPIC, name), [("retention.ms", SET, value)]) for name in TOPICS], dry=dry))


def alter_alone(admin: Admin) -> None:
    value = str(next(_fresh))
    for name in TOPICS[:200]:
        _check([admin.alter((TOPIC, name), ("retention.ms", SET, value))])


def _check(said: Sequence[object]) -> None:
    if any(getattr(each, "error_code", -1) for each in said):
        raise BenchError(f"An alteration was refused: {said[:3]}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what policies cost.")
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    with ExitStack() as stack:
        sides: dict[str, Side] = {}
        for name, properties in SETTINGS.items():
            server = stack.enter_context(KconfProcess(properties=properties))
            admin = stack.enter_context(Admin(server.bootstrap, timeout=120))
            _check(admin.create(*TOPICS, partitions=1, factor=1))
            sides[name] = Side(server, admin)
        for title, work, times in (
            ("1,000 topics per request, with and without validate_only", alter_together, 2_000),
            ("one topic per request", alter_alone, 200),
        ):
            made: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
            for _ in range(rounds):
                for name, side in sides.items():
                    made[name].append(side.measured(work))
            _show(title, made, times)


def _show(title: str, made: Mapping[str, Sequence[tuple[float, float]]], times: int) -> None:
    print(f"{title}, µs per topic")
    base = statistics.median(used for used, _ in made["off"])
    for name, figures in made.items():
        used = statistics.median(each for each, _ in figures)
        clock = statistics.median(each for _, each in figures)
        each = [figure / times * 1e6 for figure in (used, clock)]
        print(f"  {name:6} {each[0]:8.1f} processor time  {each[1]:8.1f} elapsed  {used / base:5.2f}×")


if __name__ == "__main__":
    main()
