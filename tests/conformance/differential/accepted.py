"""What may differ, and why. Short, and each line as narrow as it can be said; the run fails over a line never used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.conformance.differential.compare import Difference


@dataclass(frozen=True, slots=True)
class Accepted:
    """A difference that we want. `rare`: why a run need not meet it."""

    name: str
    reason: str
    applies: Callable[[Difference], bool]
    rare: str = ""


def _dry_topic_id(found: Difference) -> bool:
    return (
        found.ask.name == "CreateTopics"
        and getattr(found.ask.message, "validate_only", False)
        and found.place("topic_id")
        and (found.kafka, found.kconf) == ("some id", "none")
    )


def _revision(found: Difference) -> bool:
    return found.ask.name == "DescribeConfigs" and found.path == ("revision",) and found.kafka == -1


def _described_twice(found: Difference) -> bool:
    """The shorter answer is the longer one without what was said again."""
    if found.ask.name != "DescribeConfigs" or found.path[:1] != ("results",):
        return False
    once = list(
        {(each["resource_type"], each["resource_name"]): each for each in found.kafka_answer["results"]}.values()
    )
    return len(once) < len(found.kafka_answer["results"]) and once == found.kconf_answer["results"]


ACCEPTED: tuple[Accepted, ...] = (
    Accepted(
        "no topic id for a dry run",
        "Kafka answers CreateTopics with validate_only with a random id that nothing will ever have. kconf answers "
        "with the zero id, which means none.",
        _dry_topic_id,
    ),
    Accepted(
        "a resource is described once",
        "Kafka describes a resource as often as the request names it, and Java's client and librdkafka then refuse the "
        "whole answer. kconf describes it once.",
        _described_twice,
    ),
    Accepted(
        "the revision of a description",
        "kconf says in a tagged field of its own (40003) which revision answered. Kafka has none, and clients skip "
        "tags that they do not know.",
        _revision,
    ),
)
