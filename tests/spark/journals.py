"""Random journals, as a server would have written them: topics that come, grow and go, keys of all kinds."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.spark.oracle import Line

_TOPIC_KEYS = ("retention.ms", "cleanup.policy", "segment.bytes")
_BROKER_KEYS = ("log.retention.ms", "log.cleaner.threads")
_PRINCIPALS = ("User:alice", "User:bob", "User:carol")
START = 1_700_000_000_000


@dataclass
class Journal:
    """A cluster that changes at random. `tidy`: a deletion tells of each key, as kconf's own does."""

    cluster: str
    random: Random
    tidy: bool = True
    skewed: bool = False
    epoch: int = 1
    revision: int = 0
    time: int = START
    lines: list[Line] = field(default_factory=list)
    _values: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)

    def grow(self, revisions: int) -> list[Line]:
        """The lines of that many more revisions."""
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
        changes = self.random.choice(
            (self._topic, self._config, self._config, self._config, self._broker, self._quota)
        )()
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
            topic = {"id": f"{self.random.getrandbits(64):x}", "replicas": [[1]]}
            made = json.dumps(topic, separators=(",", ":"))
            keys = self.random.sample(_TOPIC_KEYS, self.random.randrange(3))
            return [
                self._change("topic", name, "", made, "create", kind="topic"),
                *(self._change("topic", name, key, self._value(), "set") for key in keys),
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
        keys = self.random.sample(_TOPIC_KEYS, self.random.randrange(1, 3))
        return [self._set_or_not("topic", name, key) for key in keys]

    def _broker(self) -> list[dict[str, Any]]:
        return [self._set_or_not("broker", self.random.choice(("", "1")), self.random.choice(_BROKER_KEYS))]

    def _quota(self) -> list[dict[str, Any]]:
        entity = self.random.choice(({"user": "alice"}, {"user": None}, {"client-id": "app", "user": "alice"}))
        change = self._set_or_not("quota", json.dumps(entity, separators=(",", ":")), "producer_byte_rate")
        return [{**change, "entity": entity}]

    def _set_or_not(self, kind: str, name: str, key: str) -> dict[str, Any]:
        is_set = key in self._values.get((kind, name), {})
        gone = is_set and self.random.random() < 0.3
        return self._change(kind, name, key, None if gone else self._value(), "delete" if gone else "set")

    def _value(self) -> str:
        return str(self.random.randrange(4) * 1000)

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


def journals(count: int, revisions: int, seed: int = 7) -> list[Journal]:
    """Clusters with a journal each: tidy and untidy ones, with clocks that go on and clocks that go back."""
    random = Random(seed)
    made = []
    for number in range(count):
        journal = Journal(f"c{number:03}", Random(random.random()), number % 2 == 0, number % 3 == 0)
        journal.grow(revisions)
        made.append(journal)
    return made
