"""Random journals of a server: topics are created, extended and deleted, keys of all kinds are set."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.spark.oracle import Line

_KEYS = {
    "topic": ("retention.ms", "cleanup.policy", "segment.bytes"),
    "broker": ("log.retention.ms", "log.cleaner.threads"),
}
_PRINCIPALS = ("User:alice", "User:bob", "User:carol")
START = 1_700_000_000_000


@dataclass
class Journal:
    """A cluster that changes at random. `tidy`: a topic deletion has a line for each key, as in kconf's own journal.

    `values` are the possible values by resource type and key; the default is a few keys with small numbers.
    """

    cluster: str
    random: Random
    tidy: bool = True
    skewed: bool = False
    epoch: int = 1
    revision: int = 0
    time: int = START
    values: Mapping[str, Mapping[str, Sequence[str]]] | None = None
    lines: list[Line] = field(default_factory=list)
    _values: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)

    def grow(self, revisions: int) -> list[Line]:
        """The lines of this many more revisions."""
        first = len(self.lines)
        for _ in range(revisions):
            self._revise()
        return self.lines[first:]

    def _revise(self) -> None:
        self.revision += 1
        if self.random.random() < 0.02:
            self.epoch, self.revision = self.epoch + 1, 1
        step = self.random.choice((0, 1, 1000, 60_000))
        self.time += -step if self.skewed and self.random.random() < 0.2 else step
        kinds = [self._topic, self._config, self._config, self._config, self._broker, self._quota]
        self._tell(self.random.choice(kinds if self.values is None else [*kinds, self._other])())

    def create(self, name: str, **configs: str) -> list[Line]:
        """The lines of a revision that creates a topic."""
        self.revision += 1
        first = len(self.lines)
        topic = json.dumps({"id": name, "replicas": [[1]]}, separators=(",", ":"))
        told = [self._change("topic", name, key, value, "set") for key, value in configs.items()]
        self._tell([self._change("topic", name, "", topic, "create", kind="topic"), *told])
        return self.lines[first:]

    def set(self, kind: str, name: str, key: str, value: str) -> list[Line]:
        """The lines of a revision that sets a key."""
        self.revision += 1
        first = len(self.lines)
        self._tell([self._change(kind, name, key, value, "set")])
        return self.lines[first:]

    def _tell(self, changes: list[dict[str, Any]]) -> None:
        head = {
            "format": 1,
            "cluster": self.cluster,
            "epoch": self.epoch,
            "revision": self.revision,
            "sequence": self.revision,
            "lines": len(changes),
            "time": self.time,
            "origin": "kconf",
            "principal": self.random.choice(_PRINCIPALS),
            "client_id": "admin",
            "host": "127.0.0.1",
            "api": "IncrementalAlterConfigs",
            "request_id": self.revision,
            "reason": self.random.choice((None, "ticket 7")),
        }
        self.lines += [{**head, "line": place, **change} for place, change in enumerate(changes)]

    def _topic(self) -> list[dict[str, Any]]:
        name = f"t{self.random.randrange(3)}"
        known = self._values.get(("topic", name), {})
        old = known.get("")
        if old is None:
            replicas = [[1]] if self.values is None else [[1, 2, 3][: self.random.randrange(1, 4)]]
            topic = {"id": f"{self.random.getrandbits(64):x}", "replicas": replicas}
            made = json.dumps(topic, separators=(",", ":"))
            keys = self.random.sample(self._keys("topic"), self.random.randrange(3))
            return [
                self._change("topic", name, "", made, "create", kind="topic"),
                *(self._change("topic", name, key, self._value("topic", key), "set") for key in keys),
            ]
        if self.random.random() < 0.3:
            topic = json.loads(old)
            topic["replicas"].append([1])
            grown = json.dumps(topic, separators=(",", ":"))
            return [self._change("topic", name, "", grown, "grow", kind="topic")]
        keys = sorted(key for key in known if key)
        told = [self._change("topic", name, key, None, "delete") for key in keys if self.tidy]
        deletion = self._change("topic", name, "", None, "delete", kind="topic")
        self._values.pop(("topic", name), None)
        return [*told, deletion]

    def _config(self) -> list[dict[str, Any]]:
        made = [name for (kind, name), values in self._values.items() if kind == "topic" and "" in values]
        if not made:
            return self._topic()
        name = self.random.choice(made)
        keys = self.random.sample(self._keys("topic"), self.random.randrange(1, 3))
        return [self._set_or_not("topic", name, key) for key in keys]

    def _broker(self) -> list[dict[str, Any]]:
        return [self._set_or_not("broker", self.random.choice(("", "1")), self.random.choice(self._keys("broker")))]

    def _other(self) -> list[dict[str, Any]]:
        kind = self.random.choice(("group", "client-metrics"))
        return [self._set_or_not(kind, self.random.choice(("a", "b")), self.random.choice(self._keys(kind)))]

    def _quota(self) -> list[dict[str, Any]]:
        entity = self.random.choice(({"user": "alice"}, {"user": None}, {"client-id": "app", "user": "alice"}))
        change = self._set_or_not("quota", json.dumps(entity, separators=(",", ":")), "producer_byte_rate")
        return [{**change, "entity": entity}]

    def _set_or_not(self, kind: str, name: str, key: str) -> dict[str, Any]:
        is_set = key in self._values.get((kind, name), {})
        gone = is_set and self.random.random() < 0.3
        return self._change(kind, name, key, None if gone else self._value(kind, key), "delete" if gone else "set")

    def _keys(self, kind: str) -> Sequence[str]:
        return _KEYS[kind] if self.values is None else list(self.values[kind])

    def _value(self, kind: str, key: str) -> str:
        if self.values is None or kind not in self.values:
            return str(self.random.randrange(4) * 1000)
        return self.random.choice(self.values[kind][key])

    def _change(
        self, resource_type: str, name: str, key: str, after: str | None, op: str, *, kind: str = "config"
    ) -> dict[str, Any]:
        values = self._values.setdefault((resource_type, name), {})
        before = values.pop(key, None)
        if after is not None:
            values[key] = after
        return {
            "kind": kind,
            "resource_type": resource_type,
            "resource_name": name,
            "op": op,
            "key": key,
            "before": before,
            "after": after,
            "sensitive": False,
        }


def journals(
    count: int, revisions: int, seed: int = 7, values: Mapping[str, Mapping[str, Sequence[str]]] | None = None
) -> list[Journal]:
    """Clusters with a journal each: tidy or not, with clocks that are set back or not."""
    random = Random(seed)
    made = []
    for number in range(count):
        journal = Journal(f"c{number:03}", Random(random.random()), number % 2 == 0, number % 3 == 0, values=values)
        journal.grow(revisions)
        made.append(journal)
    return made
