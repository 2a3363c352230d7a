"""Random followed KRaft clusters: the actual changes, and the files that followers and clients write.

`Cluster` has the true history. `Follower` writes the archive of `kconf follow`, with gaps where the log was deleted,
and clients write their journals. `expected` computes what can be known from these files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, NamedTuple

START = 1_700_000_000_000
SKEW = 1000
TOPICS = ("orders", "payments")
KEYS = ("retention.ms", "segment.ms")
BROKER = ("broker", "", "log.retention.ms")

Place = tuple[str, str, str]
Line = dict[str, Any]
State = dict[Place, str]


class Step(NamedTuple):
    place: Place
    before: str | None
    after: str | None

    @property
    def op(self) -> str:
        topic = {(True, False): "create", (False, True): "delete"}.get(
            (self.before is None, self.after is None), "grow"
        )
        return topic if not self.place[2] else "delete" if self.after is None else "set"

    @property
    def subject(self) -> tuple[object, ...]:
        return (self.place, self.op) if not self.place[2] else self


@dataclass(frozen=True)
class Commit:
    """A record of the log. `author` is the true author; a client may have `recorded` it, with or without offsets."""

    offset: int
    epoch: int
    time: int
    steps: tuple[Step, ...]
    author: str | None = None
    recorded: bool = False
    offsets: tuple[int, int] | None = None
    clock: int = 0  # how far the client's clock is ahead

    @property
    def asked(self) -> int:
        return self.time + self.clock - 4

    @property
    def answered(self) -> int:
        return self.time + self.clock + 6


@dataclass
class Cluster:
    name: str
    random: Random
    commits: list[Commit] = field(default_factory=list)
    live: State = field(default_factory=dict)
    _offset: int = 3
    _epoch: int = 1
    _time: int = START
    _topics: int = 0

    def grow(self, count: int) -> None:
        for _ in range(count):
            self._time += self.random.choice((1, 40, 700, 5_000, 90_000))
            if self.random.random() < 0.1:
                self._epoch += 1
                self._time -= self.random.choice((0, 30))  # the clock of the next leader
            self._commit(tuple(self._steps()))

    def _steps(self) -> Iterator[Step]:
        name = self.random.choice(TOPICS)
        topic = self.live.get(("topic", name, ""))
        draw = self.random.random()
        if topic is None:
            self._topics += 1
            yield Step(("topic", name, ""), None, json.dumps({"id": f"{self.name}-{self._topics}", "replicas": [[1]]}))
        elif draw < 0.1:
            keys = [place for place in sorted(self.live) if place[:2] == ("topic", name) and place[2]]
            yield from (Step(place, self.live[place], None) for place in keys)
            yield Step(("topic", name, ""), topic, None)
        else:
            place = BROKER if draw < 0.25 else ("topic", name, self.random.choice(KEYS))
            live = self.live.get(place)
            yield Step(place, live, self.random.choice([each for each in ("1", "2", None) if each != live]))

    def _commit(self, steps: tuple[Step, ...]) -> None:
        self._offset += self.random.randrange(1, 6)
        made = Commit(self._offset, self._epoch, self._time, steps)
        if self.random.random() < 0.5:
            made = replace(made, author=self.random.choice(("ann", "bob")), recorded=self.random.random() < 0.9)
            if made.recorded and self.random.random() < 0.5:
                clock = self.random.choice((0, 0, 3_600_000))
                made = replace(made, offsets=(self._offset, self._offset + 1), clock=clock)
        self.commits.append(made)
        for step in steps:
            if step.after is None:
                self.live.pop(step.place, None)
            else:
                self.live[step.place] = step.after

    @property
    def end(self) -> int:
        return self.commits[-1].offset + 1

    def state(self, end: int) -> State:
        """What is set before an offset."""
        found: State = {}
        for step in (step for each in self.commits if each.offset < end for step in each.steps):
            found.pop(step.place, None)
            if step.after is not None:
                found[step.place] = step.after
        return found

    def difference(self, begin: int, end: int) -> list[Step]:
        """The difference that a follower finds after a gap: per topic, in a possible order."""
        old, new = self.state(begin), self.state(end)
        steps: list[Step] = []
        for name in TOPICS:
            mine = sorted(place for place in {*old, *new} if place[:2] == ("topic", name))
            own = ("topic", name, "")
            keys = [place for place in mine if place != own]
            if old.get(own) == new.get(own):
                steps += [Step(each, old.get(each), new.get(each)) for each in keys]
                continue
            steps += [Step(each, old[each], None) for each in keys if each in old]
            steps += [Step(own, old[own], None)] if own in old else []
            steps += [Step(own, None, new[own])] if own in new else []
            steps += [Step(each, None, new[each]) for each in keys if each in new]
        steps.append(Step(BROKER, old.get(BROKER), new.get(BROKER)))
        return [each for each in steps if each.before != each.after]

    def client_lines(self) -> list[list[Line]]:
        """One file for each call."""
        return [[self._client_line(each, place) for place in range(len(each.steps))] for each in self.requests()]

    def requests(self) -> list[Commit]:
        return [each for each in self.commits if each.recorded]

    def _client_line(self, made: Commit, place: int) -> Line:
        micros = made.asked * 1000
        head = _head(self.name, 0, micros, made.asked, len(made.steps), place, "client")
        offsets = {} if made.offsets is None else {"log_begin": made.offsets[0], "log_end": made.offsets[1]}
        who = {"principal": f"User:{made.author}", "reason": f"ticket {made.offset}", "host": "here"}
        return {**head, **_change(made.steps[place]), **who, "answered": made.answered, **offsets}


@dataclass(frozen=True)
class Follower:
    """Files of an archive: ranges of offsets, some of them gaps. `names_authors`: it writes known authors."""

    cluster: Cluster
    ranges: Sequence[tuple[int, int, bool]]
    names_authors: bool = False

    def files(self) -> Iterator[tuple[str, list[Line]]]:
        for begin, end, is_gap in self.ranges:
            name = f"log-{'gap-' if is_gap else ''}{begin:020d}-{end:020d}.jsonl"
            yield name, list(self._gap(begin, end) if is_gap else self._lines(begin, end))

    def _lines(self, begin: int, end: int) -> Iterator[Line]:
        for made in self.cluster.commits:
            if begin <= made.offset < end:
                for place, step in enumerate(made.steps):
                    head = _head(self.cluster.name, made.epoch, made.offset, made.time, len(made.steps), place, "log")
                    who = {"principal": f"User:{made.author}"} if self.names_authors and made.author else {}
                    yield {**head, **_change(step), **who}

    def _gap(self, begin: int, end: int) -> Iterator[Line]:
        steps = self.cluster.difference(begin, end)
        last = [each for each in self.cluster.commits if each.offset < end][-1]
        for place, step in enumerate(steps):
            head = _head(self.cluster.name, last.epoch, end - 1, last.time, len(steps), place, "snapshot")
            yield {**head, **_change(step)}


def gateway_lines(cluster: Cluster, begin: int, end: int) -> list[Line]:
    """The archive of a gateway: its own changes with authors, and those of others. It has its own epoch."""
    found = []
    for made in cluster.commits:
        is_own = is_through_gateway(made)
        who = {"principal": f"User:{made.author}", "reason": f"ticket {made.offset}"} if is_own else {}
        for place, step in enumerate(made.steps if begin <= made.offset < end else ()):
            origin = "kconf" if is_own else "log"
            head = _head(cluster.name, 1, made.offset, made.time, len(made.steps), place, origin)
            found.append({**head, **_change(step), **who})
    return found


def is_through_gateway(made: Commit) -> bool:
    return made.author is not None and not made.recorded


def cut(random: Random, begin: int, end: int, gap: tuple[int, int] | None) -> list[tuple[int, int, bool]]:
    """Contiguous ranges from one offset to another."""
    if gap is not None:
        return [*cut(random, begin, gap[0], None), (*gap, True), *cut(random, gap[1], end, None)]
    found = []
    while begin < end:
        last = min(end, begin + random.randrange(8, 40))
        found.append((begin, last, False))
        begin = last
    return found


def _head(cluster: str, epoch: int, revision: int, time: int, lines: int, line: int, origin: str) -> Line:
    return {
        "format": 1, "cluster": cluster, "epoch": epoch, "revision": revision, "sequence": revision, "line": line,
        "lines": lines, "time": time, "origin": origin, "principal": "", "client_id": "", "host": "", "api": "",
        "request_id": 0, "reason": None,
    }  # fmt: skip


def _change(step: Step) -> Line:
    kind, name, key = step.place
    return {
        "kind": "config" if key else "topic", "resource_type": kind, "resource_name": name, "op": step.op, "key": key,
        "before": step.before, "after": step.after, "sensitive": False,
    }  # fmt: skip
