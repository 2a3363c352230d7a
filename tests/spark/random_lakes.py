"""Random input of a whole lake: the files of several clusters of each kind, in random batches.

There are servers with a journal (and snapshots beside it), clusters whose clients record changes, clusters with only
snapshots, and followed ones. Topics are deleted and recreated, lines come late, twice and damaged, and snapshots come
under two names and are corrected later.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from kconf.model.journal import AuditEntry, RequestContext
from kconf.model.lines.journal import attempt_line
from kconf.model.resource import Resource
from tests.spark import followed_clusters, two_tools
from tests.spark.followed_clusters import Follower, cut
from tests.spark.journals import START, Journal, journals
from tests.spark.test_backtest import VALUES

Line = dict[str, Any]
Batch = dict[Path, list[str]]
"""The files that come at once, with their lines."""
MINUTE = 60_000
LATE, TWICE, DAMAGED = 0.15, 0.1, 0.05
_THREADS = ("2", "8", None)


@dataclass(frozen=True)
class Size:
    """How many clusters of each kind, how much happens in each, and in how many batches it comes."""

    servers: int
    others: int
    steps: int
    batches: int


def batches(home: Path, size: Size, seed: str) -> list[Batch]:
    """The batches, in order. The first has at least the first file of each cluster."""
    random = Random(seed)
    found: list[Batch] = [{} for _ in range(size.batches)]
    for number, journal in enumerate(journals(size.servers, size.steps, random.randrange(1000), VALUES)):
        folder = home / "archive" / journal.cluster
        if number % 2:  # a batch that changes no broker does not affect the whole cluster
            of_brokers = [each for each in journal.lines if each["resource_type"] == "broker"]
            found[0][folder / "brokers.jsonl"] = [json.dumps(each) for each in of_brokers]
            _spread(found, folder, _calls(each for each in journal.lines if each not in of_brokers), random)
        else:
            _spread(found, folder, _calls(journal.lines), random)
            _spread_snapshots(found, home / "snapshots", list(_shown_by(journal, random)), random)
        _spread(found, folder, _attempts(journal, random), random)
    for number in range(size.others):
        cluster = two_tools.Cluster(f"{'recorded' if number % 2 == 0 else 'shown'}{number}", random)
        cluster.grow(size.steps)
        if number % 2 == 0:
            _spread(found, home / "archive" / cluster.name, _calls(cluster.lines), random)
        looks = [_with_files(cluster.look_lines(each), random) for each in cluster.looks]
        _spread_snapshots(found, home / "snapshots", looks, random)
    for number in range(max(1, size.others // 2)):
        log = followed_clusters.Cluster(f"log{number}", random)
        log.grow(size.steps)
        _spread_log(found, home / "archive", log, random)
    return found


def _calls(lines: Iterable[Line]) -> list[list[str]]:
    """The lines of each revision."""
    calls: dict[tuple[int, int], list[str]] = {}
    for line in lines:
        calls.setdefault((line["epoch"], line["revision"]), []).append(json.dumps(line))
    return list(calls.values())


def _attempts(journal: Journal, random: Random) -> list[list[str]]:
    found = []
    for number in range(1, 5):
        caller = RequestContext(f"User:{random.choice('de')}", "tool", "127.0.0.1", "IncrementalAlterConfigs", 1)
        time = START + random.randrange(3) * 86_400_000
        entry = AuditEntry(time, caller, 1, Resource.topic("t1"), ["retention.ms"], 40, random.random() < 0.5, number)
        found.append([json.dumps(attempt_line(journal.cluster, 1, entry))])
    return found


def _spread(found: list[Batch], folder: Path, calls: Sequence[list[str]], random: Random) -> None:
    """Lines of a journal: in order, but for those that come late, twice or cut off."""
    for number, lines in enumerate(calls):
        due = _due(number, len(calls), len(found), random)
        found[due].setdefault(folder / f"{due:03}.jsonl", []).extend(lines)
        if random.random() < TWICE:
            other = random.randrange(due, len(found))
            found[other].setdefault(folder / f"{other:03}-again.jsonl", []).extend(lines)
        if random.random() < DAMAGED:
            found[due].setdefault(folder / f"{due:03}.jsonl", []).append(lines[0][:-9])


def _due(number: int, of: int, count: int, random: Random) -> int:
    """The first one comes first, so that a cluster is not new in the middle."""
    due = number * count // of
    return random.randrange(due, count) if number and random.random() < LATE else due


def _spread_snapshots(found: list[Batch], folder: Path, looks: Sequence[Sequence[Line]], random: Random) -> None:
    for number, lines in enumerate(looks):
        due = _due(number, len(looks), len(found), random)
        head = lines[0]
        path, texts = folder / head["cluster"] / f"{head['taken']}.jsonl", [json.dumps(each) for each in lines]
        found[due][path] = texts
        if random.random() < TWICE:
            found[random.randrange(due, len(found))][path.with_suffix(".copy.jsonl")] = texts
        elif due + 1 < len(found) and random.random() < LATE:
            found[due][path], found[-1][path] = random.choice((texts[:-1], _with_less(texts))), texts


def _with_less(texts: Sequence[str]) -> list[str]:
    """A snapshot without its last fact: it will be corrected."""
    facts = texts[1:-2]
    return [texts[0], *facts, json.dumps({"kind": "end", "lines": 1 + len(facts)})]


def _with_files(lines: Sequence[Line], random: Random) -> list[Line]:
    """A snapshot that also shows the files of two brokers, which change at random."""
    facts = [*lines[1:-1], *_files(random)]
    return [lines[0], *facts, {"kind": "end", "lines": 1 + len(facts)}]


def _files(random: Random) -> Iterator[Line]:
    for broker in ("1", "2"):
        for key, value in (("log.retention.ms", random.choice(("1000", "100"))), ("num.io.threads", "8")):
            yield _config("broker", broker, key, value, "STATIC_BROKER_CONFIG")
        threads = random.choice(_THREADS)
        if threads is not None:
            yield _config("broker", broker, "log.cleaner.threads", threads, "STATIC_BROKER_CONFIG")


def _config(kind: str, name: str, key: str, value: str, source: str) -> Line:
    named = {"kind": "config", "resource_type": kind, "resource_name": name, "key": key, "value": value}
    return {**named, "source": source, "sensitive": False, "read_only": False}


def _shown_by(journal: Journal, random: Random) -> Iterator[list[Line]]:
    """Two snapshots of a cluster with a server's journal; what they show may differ from it."""
    for _ in range(2):
        last = random.choice(journal.lines)
        order = last["epoch"], last["revision"]
        state: dict[tuple[str, str, str], str | None] = {}
        for line in journal.lines:
            if (line["epoch"], line["revision"]) <= order:
                state[line["resource_type"], line["resource_name"], line["key"]] = line["after"]
        facts = [each for place, value in state.items() if value is not None for each in _fact(place, value, random)]
        facts += _files(random)
        head = {"kind": "snapshot", "format": 1, "cluster": journal.cluster, "missing": []}
        head |= {"started": last["time"] + 5, "taken": last["time"] + 9}
        yield [head, *facts, {"kind": "end", "lines": 1 + len(facts)}]


def _fact(place: tuple[str, str, str], value: str, random: Random) -> Iterator[Line]:
    kind, name, key = place
    if random.random() < DAMAGED or kind in ("quota", "client-metrics"):
        return
    if not key:
        topic = json.loads(value)
        shape = {"id": topic["id"], "partitions": len(topic["replicas"]), "replication": len(topic["replicas"][0])}
        yield {"kind": "topic", "name": name, **shape, "internal": False}
    elif kind != "broker":
        yield _config(kind, name, key, value, f"DYNAMIC_{kind.upper()}_CONFIG")
    else:
        yield _config(kind, name, key, value, "DYNAMIC_BROKER_CONFIG" if name else "DYNAMIC_DEFAULT_BROKER_CONFIG")


def _spread_log(found: list[Batch], home: Path, log: followed_clusters.Cluster, random: Random) -> None:
    begin, end = log.commits[len(log.commits) // 3].offset, log.commits[len(log.commits) // 2].offset
    files = list(Follower(log, cut(random, 0, log.end, (begin, end))).files())
    for number, (name, lines) in enumerate(files):
        due = _due(number, len(files), len(found), random)
        found[due][home / log.name / name] = [json.dumps(each) for each in lines]
    for number, lines in enumerate(log.client_lines()):
        due = _due(number + 1, len(log.commits) + 1, len(found), random)
        found[due][home / log.name / f"client-{number:03}.jsonl"] = [json.dumps(each) for each in lines]


def write(batch: Mapping[Path, Sequence[str]]) -> None:
    for path, lines in batch.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines))
