"""The same request to both, and what to make of the answers.

A real broker learns of a change after the controller acknowledged it, so a read is repeated there until it agrees or
`_BOUND` has passed. Every change is followed by such a read of what it was about: that is the state compared, and
it keeps the next change from meeting a broker that is still behind.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import cast

from kconf.wire.alter_configs import AlterConfigsRequest
from kconf.wire.create_partitions import CreatePartitionsRequest
from kconf.wire.create_topics import CreateTopicsRequest
from kconf.wire.delete_topics import DeleteTopicsRequest
from kconf.wire.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kconf.wire.fields import Struct
from kconf.wire.incremental_alter_configs import IncrementalAlterConfigsRequest
from kconf.wire.metadata import MetadataRequest, MetadataRequestTopic
from tests.conformance.differential.accepted import ACCEPTED, Accepted
from tests.conformance.differential.ask import Ask, shown
from tests.conformance.differential.compare import Difference, differences
from tests.conformance.differential.side import Side

_BOUND = 3.0
_PAUSE = 0.004
_DESCRIBABLE = {2, 4, 8, 16, 32}
MOST_SHOWN = 25
_OWN_NAME = re.compile(r"[a-z-]+-\d+-")


@dataclass(slots=True)
class Duel:
    """Kafka and kconf, and the score."""

    kafka: Side
    kconf: Side
    accepted: tuple[Accepted, ...] = ACCEPTED
    asked: Counter[tuple[str, int]] = field(default_factory=Counter)
    used: Counter[str] = field(default_factory=Counter)
    found: list[tuple[str, Difference]] = field(default_factory=list)

    @property
    def total(self) -> int:
        return self.asked.total()

    def play(self, scenario: str, asks: Iterable[Ask]) -> None:
        for ask in asks:
            self._ask(scenario, ask)
            for check in _checks(ask):
                self._ask(scenario, check)

    def close(self) -> None:
        self.kafka.close()
        self.kconf.close()

    def _ask(self, scenario: str, ask: Ask) -> None:
        self.asked[ask.name, ask.version] += 1
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
        self.used += used
        self.found += [(scenario, each) for each in left]

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
    """What to read after a change, whether it was granted or not."""
    message = ask.message
    if getattr(message, "validate_only", False):
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
                yield Ask("DescribeConfigs", 4, cast(Struct, DescribeConfigsRequest(wanted, True, True)))
        case CreateTopicsRequest() | CreatePartitionsRequest():
            yield _metadata(each.name for each in message.topics)
        case DeleteTopicsRequest():
            yield _metadata((*message.topic_names, *(each.name for each in message.topics if each.name)))
        case _:
            return


def _metadata(names: Iterable[str]) -> Ask:
    wanted = [MetadataRequestTopic(name=name) for name in dict.fromkeys(names)]
    return Ask("Metadata", 12, cast(Struct, MetadataRequest(wanted, allow_auto_topic_creation=False)))


def report(found: list[tuple[str, Difference]]) -> str:
    """For people: the scenario to play again, the request, where the answers part. Alike ones are only counted."""
    groups: dict[object, list[tuple[str, Difference]]] = {}
    for scenario, each in found:
        steps = tuple(_kind(step) for step in each.path if not isinstance(step, int))
        groups.setdefault((each.ask.name, steps, _kind_of(each.kafka), _kind_of(each.kconf)), []).append(
            (scenario, each)
        )
    lines = [f"{len(found)} differences that are not on the list, {len(groups)} of them unlike the others"]
    for alike in list(groups.values())[:MOST_SHOWN]:
        scenario, each = alike[0]
        lines += [
            "",
            f"== {each.ask.name} v{each.ask.version} in scenario {scenario}"
            + (f" (and {len(alike) - 1} alike)" if len(alike) > 1 else ""),
            f"request: {shown(each.ask.message, frozenset(each.path))}",
            f"at {each.where}",
            f"  kafka: {_short(each.kafka)}",
            f"  kconf: {_short(each.kconf)}",
        ]
        if len(str(each.kafka_answer)) + len(str(each.kconf_answer)) < 1500:
            lines += ["  answers:", f"    kafka: {each.kafka_answer}", f"    kconf: {each.kconf_answer}"]
    return "\n".join(lines)


def _kind(step: str) -> str:
    return "a topic of the lab" if _OWN_NAME.match(step) else step


def _kind_of(value: object) -> object:
    """Numbers (codes, sources) are kinds of their own; of texts and structs there is one kind each."""
    return value if isinstance(value, int) else type(value).__name__


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 600 else text[:600] + "…"
