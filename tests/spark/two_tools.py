"""Random clusters that kconf's clients and other tools change, and a simple model of what can be known about them.

`Cluster` has the true state: it changes, records what clients did like their journals, and provides snapshots.
`Account` reads the records in order and computes the values that are set and the unrecorded changes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

SETTLED = 60_000  # milliseconds after which every broker shows a change
START = 1_700_000_000_000
NAMES = ("orders", "payments")
KEYS = ("retention.ms", "segment.ms", "cleanup.policy")
BROKERS = ("broker", "")
BROKER_KEY = "log.retention.ms"

Place = tuple[str, str, str]
"""Resource type, resource name, key; the empty key is the topic itself."""
Line = dict[str, Any]


class Shape(NamedTuple):
    """A topic; None if unknown."""

    id: str | None
    partitions: int | None
    replication: int | None = 1

    def agrees(self, other: Shape) -> bool:
        return all(one is None or two is None or one == two for one, two in zip(self, other, strict=True))


Value = str | Shape
State = dict[Place, Value]


class Look(NamedTuple):
    began: int
    taken: int
    shown: State
    missing: tuple[str, ...]


class Finding(NamedTuple):
    kind: str
    place: Place
    time: int


@dataclass
class Cluster:
    """The true state and its records. `lines` and `looks` are the input of the pipeline."""

    name: str
    random: Random
    time: int = START
    live: State = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)
    _recent: list[tuple[int, Place, Value | None]] = field(default_factory=list)

    def grow(self, steps: int) -> None:
        for _ in range(steps):
            self.time += self.random.choice((500, 3_000, 20_000, 90_000, 400_000))
            draw = self.random.random()
            if draw < 0.12:
                self.look()
            else:
                self._change(recorded=draw < 0.65)
        self.time += SETTLED + 5_000
        self.look(complete=True)

    def look(self, *, complete: bool = False) -> None:
        """Take a snapshot; very recent changes may be missing from it."""
        began = self.time
        self.time += self.random.choice((10, 2_000))
        shown = dict(self.live)
        for when, place, before in reversed(self._recent):
            if when + SETTLED > began and not complete and self.random.random() < 0.3:
                _put(shown, place, before)
        for place in [each for each in shown if each[0] == "topic" and ("topic", each[1], "") not in shown]:
            del shown[place]
        missing = ("broker",) if not complete and self.random.random() < 0.15 else ()
        if missing:
            shown = {place: value for place, value in shown.items() if place[0] != "broker"}
        self.looks.append(Look(began, self.time, shown, missing))
        self.time += 100

    def _change(self, *, recorded: bool) -> None:
        there = [name for name in NAMES if ("topic", name, "") in self.live]
        name = self.random.choice(NAMES)
        act = self.random.random()
        if act < 0.15:
            self._tell([(("broker", "", BROKER_KEY), self.random.choice(("1000", "2000", None)))], recorded)
        elif name not in there:
            self._create(name, recorded)
        elif act < 0.25:
            self._delete(name, recorded)
        elif act < 0.32 and not recorded:
            self._delete(name, recorded)
            self._create(name, recorded)
        elif act < 0.42:
            shape = self.live["topic", name, ""]
            assert isinstance(shape, Shape)
            self._tell([(("topic", name, ""), shape._replace(partitions=(shape.partitions or 0) + 1))], recorded)
        elif act < 0.48 and not recorded:
            shape = self.live["topic", name, ""]
            assert isinstance(shape, Shape)
            self._tell([(("topic", name, ""), shape._replace(replication=4 - (shape.replication or 0)))], recorded)
        else:
            key = self.random.choice(KEYS)
            self._tell([(("topic", name, key), self.random.choice(("1", "2", "compact, delete", None)))], recorded)

    def _create(self, name: str, recorded: bool) -> None:
        shape = Shape(f"{self.random.getrandbits(128):022x}"[:22], self.random.choice((1, 3)))
        keys = self.random.sample(KEYS, self.random.randrange(3))
        values = [(("topic", name, key), self.random.choice(("1", "2"))) for key in keys]
        self._tell([(("topic", name, ""), shape), *values], recorded)

    def _delete(self, name: str, recorded: bool) -> None:
        keys = [place for place in self.live if place[:2] == ("topic", name) and place[2]]
        self._tell([*((place, None) for place in keys), (("topic", name, ""), None)], recorded)

    def _tell(self, changes: Iterable[tuple[Place, Value | None]], recorded: bool) -> None:
        """Make a change; a client records it with the previous value, and sometimes with topic ID or partitions."""
        told = [(place, self.live.get(place), after) for place, after in changes]
        told = [each for each in told if each[1] != each[2]]
        for number, (place, before, after) in enumerate(told):
            _put(self.live, place, after.replace(", ", ",") if isinstance(after, str) else after)
            self._recent.append((self.time, place, before))
            if recorded:
                self.lines.append(self._line(number, len(told), place, before, after))

    def _line(self, number: int, count: int, place: Place, before: Value | None, after: Value | None) -> Line:
        micros = self.time * 1_000
        is_topic = place[2] == ""
        if isinstance(after, Shape) and self.random.random() < 0.5:
            after = (
                after._replace(id=None)
                if before is not None
                else self.random.choice((after._replace(id=None), Shape(None, -1, -1), after))
            )
        return {
            "format": 1, "cluster": self.name, "epoch": 0, "revision": micros, "sequence": micros, "line": number,
            "lines": count, "time": micros // 1000, "origin": "client", "principal": "User:ann", "client_id": "kconf",
            "host": "here", "api": "IncrementalAlterConfigs", "request_id": 0, "reason": None,
            "kind": "topic" if is_topic else "config", "resource_type": place[0], "resource_name": place[1],
            "op": "set" if after is not None else "delete", "key": place[2],
            "before": _text(before), "after": _text(after), "sensitive": False,
        }  # fmt: skip

    def look_lines(self, look: Look) -> list[Line]:
        """A snapshot in the format of `kconf snapshot`."""
        refused = [{"what": each, "error": "NO", "message": "no"} for each in look.missing]
        lines: list[Line] = [
            {
                "kind": "snapshot",
                "format": 1,
                "cluster": self.name,
                "started": look.began,
                "taken": look.taken,
                "missing": refused,
            }
        ]
        for (kind, name, key), value in look.shown.items():
            if isinstance(value, Shape):
                lines.append({"kind": "topic", "name": name, **value._asdict(), "internal": False})
            else:
                level = "DYNAMIC_TOPIC_CONFIG" if kind == "topic" else "DYNAMIC_DEFAULT_BROKER_CONFIG"
                named = {"resource_type": kind, "resource_name": name, "key": key, "value": value, "source": level}
                lines.append({"kind": "config", **named, "sensitive": False, "read_only": False})
        return [*lines, {"kind": "end", "lines": len(lines)}]


@dataclass
class Account:
    """What can be known from all records in order: the values that are set, and the unrecorded changes."""

    known: State = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    _spoken: set[Place] = field(default_factory=set)  # with a known state, set or not
    _begun: set[str] = field(default_factory=set)  # topics whose creation is known
    _seen: set[str] = field(default_factory=set)  # types of resources that a look could show
    _first: int | None = None

    def read(self, cluster: Cluster) -> Account:
        lines: list[tuple[int, int, Line | Look]] = [(line["time"], line["line"], line) for line in cluster.lines]
        looks: list[tuple[int, int, Line | Look]] = [(look.taken, -1, look) for look in cluster.looks]
        self._first = min((time for time, _, _ in lines), default=None)
        for time, _, record in sorted([*lines, *looks], key=lambda each: each[:2]):
            if isinstance(record, Look):
                self._look(record, [each for each in cluster.lines if time >= each["time"] > record.began - SETTLED])
            else:
                self._line(record, time)
        return self

    def _line(self, line: Line, time: int) -> None:
        place = line["resource_type"], line["resource_name"], line["key"]
        before, after = _read(place, line["before"]), _read(place, line["after"])
        self._compare("slipped", place, before, time)
        if line["key"] == "":
            old = self.known.get(place)
            other = (
                isinstance(old, Shape)
                and isinstance(before, Shape)
                and not Shape(old.id, None, None).agrees(Shape(before.id, None, None))
            )
            if before is None or after is None or other:
                self._begin(line["resource_name"])
                old = None
            for each in (before, old):
                if isinstance(after, Shape) and isinstance(each, Shape) and after.id is None:
                    after = after._replace(id=each.id)
        _put(self.known, place, after)
        self._spoken.add(place)

    def _look(self, look: Look, recent: list[Line]) -> None:
        unseen = set(look.missing)
        shown = {place for place in {*look.shown, *self.known} if place[0] not in unseen}
        stale = {
            place
            for place in shown
            for line in recent
            if (line["resource_type"], line["resource_name"], line["key"]) == place
            and _same(_read(place, line["before"]), look.shown.get(place))
        }
        accepted = sorted(shown - stale)
        for place in accepted:
            self._compare("differs", place, look.shown.get(place), look.taken)
        for place in accepted:
            old, new = self.known.get(place), look.shown.get(place)
            if place[2] == "" and (new is None or (isinstance(old, Shape) and old.id not in (None, new[0]))):
                self._begin(place[1])
        for place in accepted:
            _put(self.known, place, look.shown.get(place))
            self._spoken.add(place)
        self._seen |= {"topic", "broker"} - unseen

    def _begin(self, name: str) -> None:
        for place in [each for each in self.known if each[:2] == ("topic", name) and each[2]]:
            del self.known[place]
        self._begun.add(name)

    def _compare(self, kind: str, place: Place, found: Value | None, time: int) -> None:
        begun = place[0] == "topic" and place[1] in self._begun
        is_known = place in self._spoken or begun or place[0] in self._seen
        if is_known and self._first is not None and time >= self._first and not _same(self.known.get(place), found):
            self.findings.append(Finding(kind, place, time))


def _put(state: State, place: Place, value: Value | None) -> None:
    if value is None:
        state.pop(place, None)
    else:
        state[place] = value


def _same(one: Value | None, other: Value | None) -> bool:
    if isinstance(one, Shape) and isinstance(other, Shape):
        return one.agrees(other)
    if isinstance(one, str) and isinstance(other, str):
        return one.replace(", ", ",") == other.replace(", ", ",")
    return one is other is None


def _text(value: Value | None) -> str | None:
    if not isinstance(value, Shape):
        return value
    return json.dumps({name: fact for name, fact in value._asdict().items() if fact is not None})


def _read(place: Place, text: str | None) -> Value | None:
    if text is None or place[2]:
        return text
    facts: Mapping[str, Any] = json.loads(text)
    counts = {name: count if (count := facts.get(name) or 0) > 0 else None for name in ("partitions", "replication")}
    return Shape(facts.get("id"), counts["partitions"], counts["replication"])


def clusters(count: int, steps: int, seed: int) -> list[Cluster]:
    made = [Cluster(f"c{number:03}", Random(f"{seed}/{number}")) for number in range(count)]
    for each in made:
        each.grow(steps)
    return made
