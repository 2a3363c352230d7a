"""Random values and requests for scenarios, in any version that both servers support."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any, TypeVar

from kconf.configdef.key import ConfigKey
from kconf.protocol.messages.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from kconf.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kconf.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kconf.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kconf.protocol.messages.incremental_alter_configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
)
from tests.conformance.differential.ask import Ask
from tests.conformance.differential.values import candidates

T = TypeVar("T")

SET, DELETE, APPEND, SUBTRACT = range(4)
TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32

Op = tuple[int, str, str | None]
"""(operation, key, value)"""

BAD_NAMES = ("", ".", "..", "a b", "ä", "x" * 250, "a/b", "a:b", "a,b", "\x00")


class Draw:
    """The random source of one scenario, from its seed. Each scenario has its own resource names."""

    def __init__(self, seed: str, versions: Mapping[str, Sequence[int]], *, has_elr: bool = False) -> None:
        self.random = Random(seed)
        self.versions = versions
        self._has_elr = has_elr
        self._prefix = seed.replace("/", "-")
        self._names = 0

    def name(self, word: str = "t") -> str:
        self._names += 1
        return f"{self._prefix}-{word}{self._names}"

    def chance(self, likelihood: float) -> bool:
        return self.random.random() < likelihood

    def one(self, values: Sequence[T]) -> T:
        return self.random.choice(values)

    def some(self, values: Iterable[T], count: int) -> list[T]:
        pool = list(values)
        return self.random.sample(pool, min(count, len(pool)))

    def value(self, key: ConfigKey) -> str:
        return self.one(candidates(key))

    def ask(self, name: str, message: Any, version: int | None = None, **more: Any) -> Ask:
        return Ask(name, self.one(self.versions[name]) if version is None else version, message, **more)

    # -- requests ----------------------------------------------------------------------------------------------------

    def describe(
        self,
        *resources: tuple[int, str],
        names: Sequence[str] | None = None,
        version: int | None = None,
        synonyms: bool | None = None,
        documentation: bool | None = None,
        **more: Any,
    ) -> Ask:
        wanted = [DescribeConfigsResource(kind, name, names) for kind, name in resources]
        synonyms = self.chance(0.7) if synonyms is None else synonyms
        documentation = self.chance(0.3) if documentation is None else documentation
        return self.ask("DescribeConfigs", DescribeConfigsRequest(wanted, synonyms, documentation), version, **more)

    def incremental(self, *requests: tuple[int, str, Iterable[Op]], validate_only: bool = False, **more: Any) -> Ask:
        resources = [
            IncrementalAlterConfigsResource(
                kind, name, [IncrementalAlterableConfig(key, op, value) for op, key, value in ops]
            )
            for kind, name, ops in requests
        ]
        return self.ask("IncrementalAlterConfigs", IncrementalAlterConfigsRequest(resources, validate_only), **more)

    def replace(
        self, *requests: tuple[int, str, Iterable[tuple[str, str | None]]], validate_only: bool = False, **more: Any
    ) -> Ask:
        resources = [
            AlterConfigsResource(kind, name, [AlterableConfig(key, value) for key, value in configs])
            for kind, name, configs in requests
        ]
        return self.ask("AlterConfigs", AlterConfigsRequest(resources, validate_only), **more)

    def clear_brokers(self) -> Ask:
        """Remove all configs of broker 1 and the cluster default, except those that eligible leader replicas need."""
        kept = [("min.insync.replicas", "2")] if self._has_elr else []
        return self.replace((BROKER, "1", []), (BROKER, "", kept))

    def create(
        self, *topics: CreatableTopic, timeout_ms: int = 30_000, validate_only: bool = False, **more: Any
    ) -> Ask:
        return self.ask("CreateTopics", CreateTopicsRequest(topics, timeout_ms, validate_only), **more)

    def delete(self, *names: str, timeout_ms: int = 30_000, version: int | None = None) -> Ask:
        version = self.one(self.versions["DeleteTopics"]) if version is None else version
        topics = [DeleteTopicState(name) for name in names] if version >= 6 else []
        return self.ask("DeleteTopics", DeleteTopicsRequest(topics, [] if version >= 6 else names, timeout_ms), version)


def topic(
    name: str,
    partitions: int = -1,
    factor: int = -1,
    *,
    assignment: Mapping[int, Sequence[int]] | Sequence[tuple[int, Sequence[int]]] = (),
    configs: Iterable[tuple[str, str | None]] = (),
) -> CreatableTopic:
    pairs = assignment.items() if isinstance(assignment, Mapping) else assignment
    return CreatableTopic(
        name,
        partitions,
        factor,
        [CreatableReplicaAssignment(partition, brokers) for partition, brokers in pairs],
        [CreatableTopicConfig(key, value) for key, value in configs],
    )
