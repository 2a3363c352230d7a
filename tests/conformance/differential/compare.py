"""Compares two responses field by field.

A response is first converted to a tree of plain values. Values that cannot be equal (IDs, ports, texts of messages and
documentation) are replaced by placeholders. Lists in arbitrary order become dicts; other lists keep their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kconf.protocol.codec.fields import Struct
from tests.conformance.differential.ask import Ask, Ending, Outcome
from tests.conformance.differential.side import Side

Tree = Any
"""A plain value, or dicts and lists of them."""

_FREE_ORDER: dict[str, Callable[[Tree], object]] = {
    "AlteredQuotaResult": lambda each: _entity(each["entity"]),
    "ApiVersion": lambda each: each["api_key"],
    "CreatableTopicConfigs": lambda each: each["name"],
    "CreatableTopicResult": lambda each: each["name"],
    "CreatePartitionsTopicResult": lambda each: each["name"],
    "DescribedQuota": lambda each: _entity(each["entity"]),
    "DeletableTopicResult": lambda each: each["name"] or each["topic_id"],
    "DescribeConfigsEntry": lambda each: each["name"],
    "FinalizedFeatureKey": lambda each: each["name"],
    "ListedConfigResource": lambda each: f"{each['resource_type']}:{each['resource_name']}",
    "MetadataBroker": lambda each: each["node_id"],
    "MetadataPartition": lambda each: each["partition_index"],
    "QuotaValue": lambda each: each["key"],
    "MetadataTopic": lambda each: each["name"] or each["topic_id"],
    "DeletableGroupResult": lambda each: each["group_id"],
    "DeleteRecordsPartitionResult": lambda each: each["partition_index"],
    "DeleteRecordsTopicResult": lambda each: each["name"],
    "DescribedGroup": lambda each: each["group_id"],
    "ListOffsetsPartitionResponse": lambda each: each["partition_index"],
    "ListOffsetsTopicResponse": lambda each: each["name"],
    "OffsetFetchResponsePartition": lambda each: each["partition_index"],
    "OffsetFetchResponsePartitions": lambda each: each["partition_index"],
    "OffsetFetchResponseTopic": lambda each: each["name"],
    "OffsetFetchResponseTopics": lambda each: each["name"] or each["topic_id"],
    "TransactionState": lambda each: each["transactional_id"],
    "SupportedFeatureKey": lambda each: each["name"],
}


def _entity(parts: Tree) -> str:
    named = parts.values() if isinstance(parts, dict) else parts
    return str(sorted((part["entity_type"], part["entity_name"] or "") for part in named))


# Converted to dicts, because differences are easier to read by name, but their order is compared too.
_SORTED = frozenset(["CreatableTopicConfigs"])

_WORDS = frozenset(["documentation", "error_message"])
_SAME_WORDS = " while ELR is enabled."  # messages about eligible leader replicas equal Kafka's, word for word
_OWN = frozenset(["cluster_id", "port"])


class _Missing:
    """A missing value: equal only to itself, and without elements."""

    def __repr__(self) -> str:
        return "nothing"

    def __iter__(self) -> Iterator[Tree]:
        return iter(())


MISSING = _Missing()


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between two responses."""

    ask: Ask
    path: tuple[str | int, ...]
    kafka: Tree
    kconf: Tree
    kafka_answer: Tree
    kconf_answer: Tree

    @property
    def where(self) -> str:
        return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path) or "(whole answer)"

    def place(self, *names: str) -> bool:
        """Whether the path ends with these names, ignoring positions."""
        steps = [step for step in self.path if not isinstance(step, int)]
        return steps[-len(names) :] == list(names)


def tree(side: Side, value: Any, field: str = "") -> Tree:
    """A response as a tree of plain values."""
    if isinstance(value, Ending):
        return value.value
    if isinstance(value, Struct):
        return {each.name: tree(side, getattr(value, each.name), each.name) for each in value.FIELDS}
    if isinstance(value, (list, tuple)):
        return _array(side, value)
    if field == "topic_id":
        return "none" if not any(value) else f"id of {side.topics[value]}" if value in side.topics else "some id"
    if field in _WORDS:
        return value if not value or _SAME_WORDS in value else "text"
    if field in _OWN:
        return "own" if value else value
    if isinstance(value, str):
        return value.replace(side.bootstrap, "SERVER")  # in `listeners` and `advertised.listeners`
    return value


def _array(side: Side, values: Any) -> Tree:
    trees = [tree(side, each) for each in values]
    key = _FREE_ORDER.get(type(values[0]).__name__) if values else None
    if key is None:
        return trees
    found: dict[str, Tree] = {}
    if len({str(key(each)) for each in trees}) < len(trees):
        trees.sort(key=repr)
    for each in trees:
        name = str(key(each))
        while name in found:
            name += " again"
        found[name] = each
    if type(values[0]).__name__ in _SORTED:
        found["(order)"] = [*found]
    return found


def differences(ask: Ask, kafka: tuple[Side, Outcome], kconf: tuple[Side, Outcome]) -> list[Difference]:
    theirs, ours = tree(*kafka), tree(*kconf)
    return [Difference(ask, path, one, other, theirs, ours) for path, one, other in _walk(theirs, ours, ())]


def _walk(kafka: Tree, kconf: Tree, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Tree, Tree]]:
    if kafka == kconf:
        return
    if isinstance(kafka, (dict, list)) and isinstance(kconf, (dict, list)):
        one, other = _steps(kafka), _steps(kconf)
        for step in dict.fromkeys((*one, *other)):
            yield from _walk(one.get(step, MISSING), other.get(step, MISSING), (*path, step))
    else:
        yield path, kafka, kconf


def _steps(value: Tree) -> Mapping[str | int, Tree]:
    return value if isinstance(value, dict) else dict(enumerate(value))


def at(answer: Tree, *path: str | int) -> Tree:
    """The value at a path of a response, or MISSING."""
    for step in path:
        if not isinstance(answer, (dict, list)):
            return MISSING
        answer = _steps(answer).get(step, MISSING)
    return answer
