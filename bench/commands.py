"""kconf's commands on a real broker, from the start of a process to its exit, compared with Kafka's.

`describe` of one topic in a new process, with -b and with a context; `set` on all topics in one command, compared with
a loop of kafka-configs.sh: Kafka's command alters one topic, so it is called 20 times and extrapolated. A plan for all
topics without differences, and a snapshot, have no equivalent in Kafka.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.arena import Arena, main
from bench.cli import CALLS, run, timed
from bench.crowd import crowd
from bench.load import BenchError
from bench.table import Goal, Row
from lab import tools

_QUICK = Goal("most", 0.2, "≤ 0.2 s")


def rows(arena: Arena) -> Iterator[Row]:
    if set(arena.names) != {"kafka", "kconf"}:
        return
    address, names = arena.keep(crowd, arena.settings.topics)
    yield _describe(address, names[0], arena.settings.rounds)
    yield _describe_in_a_context(address, names[0], arena.settings.rounds)
    yield _set(address, names, arena.settings.rounds)
    yield from _whole_cluster(address, len(names), arena.settings.rounds)


def _describe(address: str, name: str, rounds: int) -> Row:
    """The first call compiles kconf's modules, like an installation."""
    words = ["describe", f"topic:{name}", "-b", address]
    timed(run, "kconf", *words)
    ours = [timed(run, "kconf", *words)[0] for _ in range(max(rounds, 5))]
    theirs = [timed(tools.kafka_configs, address, "--describe", "--topic", name)[0] for _ in range(rounds)]
    return Row("kconf describe topic:x, cold", "s", {"kafka": theirs, "kconf": ours}, [_QUICK], less_is_better=True)


def _describe_in_a_context(address: str, name: str, rounds: int) -> Row:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "config.yaml"
        path.write_text(f"current: here\ncontexts:\n  here:\n    bootstrap: {address}\n")
        path.chmod(0o600)
        words = ["describe", f"topic:{name}"]
        more = {"KCONF_CONFIG": str(path)}
        timed(run, "kconf", *words, more=more)
        ours = [timed(run, "kconf", *words, more=more)[0] for _ in range(max(rounds, 5))]
    return Row("kconf describe topic:x in a context, cold", "s", {"kconf": ours}, [_QUICK], less_is_better=True)


def _set(address: str, names: Sequence[str], rounds: int) -> Row:
    loop = []
    for number in range(CALLS):
        words = ["--alter", "--topic", names[number % len(names)], "--add-config", f"segment.ms={70000 + number}"]
        loop.append(timed(tools.kafka_configs, address, *words)[0])
    seconds = [_set_all(address, len(names), 80000 + number) for number in range(rounds)]
    series = {"kafka": [sum(loop) / CALLS * len(names)], "kconf": seconds}
    work = f"set a key of {len(names):,} topics: a loop of kafka-configs, kconf set"
    return Row(work, "s", series, [Goal("part", 1.0, "faster")], less_is_better=True, notes={"calls": loop})


def _set_all(address: str, count: int, value: int) -> float:
    words = ["set", "topic:bench-*", f"segment.ms={value}", "--yes", "-b", address, "-o", "csv"]
    spent, out = timed(run, "kconf", *words)
    if out.count(",done,") != count:
        raise BenchError(f"kconf set changed {out.count(',done,')} of {count} topics.")
    return spent


def _whole_cluster(address: str, count: int, rounds: int) -> Iterator[Row]:
    """A plan for all topics without differences, and a snapshot."""
    with tempfile.TemporaryDirectory() as place:
        timed(run, "kconf", "export", "topic", "--to", f"{place}/files", "-b", address)
        plans, snapshots = [], []
        for _ in range(rounds):
            spent, out = timed(run, "kconf", "plan", "-f", f"{place}/files", "-b", address, "-o", "json")
            if '"items": [],' not in out:
                raise BenchError("kconf plan found differences right after an export.")
            plans.append(spent)
            snapshots.append(timed(run, "kconf", "snapshot", "--out", f"{place}/snapshots", "-b", address)[0])
    work = f"kconf plan of {count:,} topics, nothing to change"
    yield Row(work, "s", {"kconf": plans}, [Goal("most", 2.0, "≤ 2 s")], less_is_better=True)
    yield Row(
        f"kconf snapshot of {count:,} topics",
        "s",
        {"kconf": snapshots},
        [Goal("most", 3.0, "≤ 3 s")],
        less_is_better=True,
    )


if __name__ == "__main__":
    main(rows)
