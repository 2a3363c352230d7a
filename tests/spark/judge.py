"""The expected past violations: the policy itself checks every state, as on the server."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from kconf.configdef.catalog import kafka_43
from kconf.engine.configs.resolver import ConfigResolver
from kconf.engine.policy.conditions import Rule, Subject
from kconf.engine.policy.hooks import Effective
from kconf.engine.policy.rules import Finding, Rules
from kconf.model.resource import Resource, ResourceType
from tests.spark.oracle import Line

Row = dict[str, Any]
_TYPES = {kind.word: kind for kind in ResourceType}


@dataclass
class Cluster:
    """Replays the journal of a cluster and records the violations."""

    name: str
    rules: Rules
    static: Mapping[str, str] = field(default_factory=dict)
    overrides: dict[Resource, dict[str, str]] = field(default_factory=dict)
    topics: dict[Resource, Row] = field(default_factory=dict)
    breaches: list[Row] = field(default_factory=list)
    refusals: list[Row] = field(default_factory=list)
    _broken: dict[tuple[Resource, str], Row] = field(default_factory=dict)
    _levels: tuple[dict[str, str], dict[str, str]] | None = None
    _last: ConfigResolver = field(init=False)

    def revise(self, lines: list[Line]) -> None:
        """Apply the lines of one revision, and evaluate the new state."""
        touched: dict[Resource, set[str]] = {}
        created = set()
        for line in lines:
            resource = Resource(_TYPES[line["resource_type"]], line["resource_name"])
            if line["kind"] == "topic":
                created |= {resource} if line["before"] is None else set()
                self._shape(resource, line["after"])
                touched.setdefault(resource, set()).add("partitions")
                continue
            touched.setdefault(resource, set()).add(line["key"])
            mine = self.overrides.setdefault(resource, {})
            mine.pop(line["key"], None)
            if line["after"] is not None:
                mine[line["key"]] = line["after"]
        self._evaluate(lines[0], touched, created)

    def _shape(self, resource: Resource, told: str | None) -> None:
        if told is None:
            self.topics.pop(resource, None)
            self.overrides.pop(resource, None)
        else:
            self.topics[resource] = json.loads(told)

    def _evaluate(self, line: Line, touched: Mapping[Resource, set[str]], created: set[Resource]) -> None:
        there = {*self.topics, *(each for each, keys in self.overrides.items() if keys)}
        found: dict[tuple[Resource, str], Row] = {}
        ladder = self._ladder()
        for resource in there:
            subject = self._subject(resource, ladder)
            for finding in self.rules.evaluate(subject):
                found[resource, finding.rule.id] = self._row(subject, finding)
            names = None if resource in created else touched.get(resource, ())
            for finding in self.rules.evaluate(subject, names) if names != () else ():
                row = self._row(subject, finding)
                self.refusals.append({**row, "time": _time(line), **_who(line)})
        self._move(line, found, there, touched)

    def _move(
        self,
        line: Line,
        found: Mapping[tuple[Resource, str], Row],
        there: set[Resource],
        touched: Mapping[Resource, set[str]],
    ) -> None:
        for place, row in list(self._broken.items()):
            now = found.get(place)
            if now is not None and all(row[name] == now[name] for name in now):
                continue
            same = place[0] in there and self._topic_id(place[0]) == row["topic_id"]
            row["ended"] = ("changed" if now is not None else "mended") if same else "gone"
            row.update({f"until_{name}": value for name, value in _who(line).items()}, until=_time(line), open=False)
            del self._broken[place]
        for place, now in found.items():
            if place not in self._broken:
                cause = "itself" if place[0] in touched else "inherited"
                row = {**now, **_who(line), "since": _time(line), "cause": cause, "open": True, "ended": None}
                row |= dict.fromkeys(("until", *(f"until_{name}" for name in _who(line))))
                self._broken[place] = row
                self.breaches.append(row)

    def _ladder(self) -> ConfigResolver:
        everywhere, here = (dict(self.overrides.get(each, {})) for each in (Resource.brokers(), Resource.broker(1)))
        if (everywhere, here) != self._levels:
            self._levels, self._last = (everywhere, here), ConfigResolver(kafka_43(), self.static, everywhere, here)
        return self._last

    def _subject(self, resource: Resource, ladder: ConfigResolver) -> Subject:
        """The resource as the server passes it to the rules."""
        mine = self.overrides.get(resource, {})
        topic = self.topics.get(resource)
        shape = (len(topic["replicas"]), len(topic["replicas"][0])) if topic is not None else (None, None)
        return Subject(resource, Effective(resource, mine, ladder), mine, *shape)

    def _row(self, subject: Subject, finding: Finding) -> Row:
        assert isinstance(finding.rule, Rule)
        condition = finding.rule.evaluate(subject)
        assert condition is not None
        return {
            "cluster": self.name,
            "resource_type": subject.resource.type.word,
            "resource_name": subject.resource.name,
            "topic_id": self._topic_id(subject.resource),
            "rule": finding.rule.id,
            "severity": finding.rule.severity.value,
            "key": finding.rule.key.name,
            "value": subject.value(finding.rule.key),
            "condition": f"{condition.operator.value} {condition.text}".strip(),
        }

    def _topic_id(self, resource: Resource) -> str | None:
        topic = self.topics.get(resource)
        return None if topic is None else topic["id"]


def led(name: str, lines: Iterable[Line], rules: Rules, static: Mapping[str, str] | None = None) -> Cluster:
    """A cluster after its whole journal."""
    cluster = Cluster(name, rules, static or {})
    for some in _revisions(lines):
        cluster.revise(some)
    return cluster


def _revisions(lines: Iterable[Line]) -> Iterator[list[Line]]:
    known = [line for line in lines if line["resource_type"] in _TYPES]
    ordered = sorted(known, key=lambda line: (line["epoch"], line["revision"], line["line"]))
    for _, some in itertools.groupby(ordered, key=lambda line: (line["epoch"], line["revision"])):
        yield list(some)


def _who(line: Line) -> Row:
    return {name: line[name] for name in ("epoch", "revision", "principal", "reason", "origin")}


def _time(line: Line) -> datetime:
    return datetime.fromtimestamp(line["time"] / 1000, UTC).replace(tzinfo=None)
