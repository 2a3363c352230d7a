"""Sends the same request to both servers and compares the responses.

A real broker learns of a change after the controller acknowledged it, so a read is repeated there until both agree or
`_BOUND` has passed. Every change is followed by such a read of the changed resources. It compares the state, and makes
sure that the broker is up to date before the next change.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from kconf.protocol.apis import BY_NAME
from kconf.protocol.messages.alter_configs import AlterConfigsRequest
from kconf.protocol.messages.create_partitions import CreatePartitionsRequest
from kconf.protocol.messages.create_topics import CreateTopicsRequest
from kconf.protocol.messages.delete_topics import DeleteTopicsRequest
from kconf.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kconf.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kconf.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.conformance.differential.accepted import ACCEPTED, Accepted
from tests.conformance.differential.ask import Ask, shown
from tests.conformance.differential.compare import Difference, differences
from tests.conformance.differential.side import Side

_BOUND = 30.0  # seconds for a real broker to show a change
_PAUSE = 0.004
_DESCRIBABLE = {2, 4, 8, 16, 32}
MOST_SHOWN = 25
MOST_PLACES = 6
_OWN_NAME = re.compile(r"[a-z-]+-\d+-")


@dataclass(slots=True)
class Score:
    """The number of requests, the accepted differences found, and the differences that are not accepted."""

    asked: Counter[tuple[str, int]] = field(default_factory=Counter)
    used: Counter[str] = field(default_factory=Counter)
    found: list[tuple[str, Difference]] = field(default_factory=list)

    @property
    def total(self) -> int:
        return self.asked.total()


@dataclass(slots=True)
class Duel:
    """Kafka and kconf, and the results."""

    kafka: Side
    kconf: Side
    score: Score = field(default_factory=Score)
    accepted: tuple[Accepted, ...] = ACCEPTED
    elr_version: int = 0

    def play(self, scenario: str, asks: Iterable[Ask]) -> None:
        for ask in asks:
            self._ask(scenario, ask)
            for check in _checks(ask):
                self._ask(scenario, check)

    def close(self) -> None:
        self.kafka.close()
        self.kconf.close()

    def _ask(self, scenario: str, ask: Ask) -> None:
        self.score.asked[ask.name, ask.version] += 1
        ours = self.kconf.ask(ask)
        theirs = self.kafka.ask(ask)
        until = time.monotonic() + _BOUND
        while True:
            left, used = self._judged(differences(ask, (self.kafka, theirs), (self.kconf, ours)))
            if not left or not ask.is_read or time.monotonic() > until:
                break
            time.sleep(_PAUSE)
            theirs = self.kafka.ask(ask)
            if ask.moving:
                ours = self.kconf.ask(ask)
        self.score.used += used
        self.score.found += [(scenario, each) for each in left]

    def _judged(self, found: list[Difference]) -> tuple[list[Difference], Counter[str]]:
        left, used = [], Counter[str]()
        for each in found:
            reason = next((line.name for line in self.accepted if line.applies(each)), None)
            if reason is None:
                left.append(each)
            else:
                used[reason] += 1
        return left, used


def _checks(ask: Ask) -> Iterator[Ask]:
    """The reads that follow a change, successful or not."""
    message = ask.message
    if getattr(message, "validate_only", False) or ask.missing or not ask.api.serves(ask.version):
        return
    match message:
        case AlterConfigsRequest() | IncrementalAlterConfigsRequest():
            resources = dict.fromkeys(
                (each.resource_type, each.resource_name)
                for each in message.resources
                if each.resource_type in _DESCRIBABLE
            )
            if resources:
                wanted = [DescribeConfigsResource(kind, name) for kind, name in resources]
                yield Ask("DescribeConfigs", BY_NAME["DescribeConfigs"].max, DescribeConfigsRequest(wanted, True, True))
        case CreateTopicsRequest() | CreatePartitionsRequest():
            yield _metadata(each.name for each in message.topics)
        case DeleteTopicsRequest():
            yield _metadata((*message.topic_names, *(each.name for each in message.topics if each.name)))
        case _:
            return


def _metadata(names: Iterable[str]) -> Ask:
    wanted = [MetadataRequestTopic(name=name) for name in dict.fromkeys(names)]
    return Ask("Metadata", 12, MetadataRequest(wanted, allow_auto_topic_creation=False))


def report(found: list[tuple[str, Difference]]) -> str:
    """The report: scenario, request, and differences. Similar differences are only counted."""
    asks: dict[int, list[Difference]] = {}
    scenarios: dict[int, str] = {}
    for scenario, each in found:
        asks.setdefault(id(each.ask), []).append(each)
        scenarios[id(each.ask)] = scenario
    groups: dict[object, list[int]] = {}
    for ask, parts in asks.items():
        groups.setdefault((parts[0].ask.name, frozenset(map(_kind, parts))), []).append(ask)
    lines = [f"{len(asks)} requests with differences that are not on the list, {len(groups)} of them unlike the others"]
    for alike in list(groups.values())[:MOST_SHOWN]:
        lines += ["", *_told(scenarios[alike[0]], asks[alike[0]])]
        if len(alike) > 1:
            lines.append(f"  and {len(alike) - 1} alike: {', '.join(scenarios[each] for each in alike[1:6])}")
    return "\n".join(lines)


def _told(scenario: str, parts: list[Difference]) -> Iterator[str]:
    ask = parts[0].ask
    about = frozenset(step for each in parts for step in each.path)
    wrong = f", {ask.missing} bytes cut off" if ask.missing else ""
    yield f"== {ask.name} v{ask.version} in scenario {scenario}{wrong}"
    yield f"request: {shown(ask.message, about)}"
    for each in parts[:MOST_PLACES]:
        yield f"  {each.where}   kafka: {_short(each.kafka)}   kconf: {_short(each.kconf)}"
    if len(parts) > MOST_PLACES:
        yield f"  and {len(parts) - MOST_PLACES} more places"


def _kind(found: Difference) -> object:
    """What makes two differences similar: the path without test names, and the values if they are numbers."""
    steps = tuple(step for step in found.path if not isinstance(step, int) and not _OWN_NAME.match(step))
    return steps, *(each if isinstance(each, int) else type(each).__name__ for each in (found.kafka, found.kconf))


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 600 else text[:600] + "…"
