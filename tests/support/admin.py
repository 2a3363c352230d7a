"""Short functions for Kafka's admin requests, in any version, with the raw client.

Responses are raw wire values: a test sees codes, messages and order exactly as sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kconf.protocol.apis import BY_NAME
from kconf.protocol.messages.alter_configs import AlterableConfig, AlterConfigsResource
from kconf.protocol.messages.create_partitions import CreatePartitionsTopic
from kconf.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig
from kconf.protocol.messages.delete_topics import DeleteTopicState
from kconf.protocol.messages.describe_configs import DescribeConfigsResource
from kconf.protocol.messages.incremental_alter_configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsResource,
)
from tests.support.wire import Wire

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3

Place = tuple[int, str]
"""A resource's type and name."""


class Admin(Wire):
    """If `version` is None, the newest one is used."""

    def create(self, *names: str, version: int | None = None, dry: bool = False, **options: Any) -> list[Any]:
        """Create topics with the same `partitions`, `factor` and `configs` (a mapping or pairs)."""
        topics = [new_topic(name, **options) for name in names]
        return self.create_topics(topics, version=version, dry=dry)

    def create_topics(self, topics: Sequence[Any], *, version: int | None = None, dry: bool = False) -> list[Any]:
        answer = self.ask("CreateTopics", _newest("CreateTopics", version), topics=topics, validate_only=dry)
        return list(answer.topics)

    def delete(self, *names: str, version: int | None = None) -> list[Any]:
        number = _newest("DeleteTopics", version)
        by_name = [DeleteTopicState(name) for name in names]
        answer = self.ask("DeleteTopics", number, topics=by_name, topic_names=names)
        return list(answer.responses)

    def grow(self, name: str, count: int, *, version: int | None = None, dry: bool = False) -> Any:
        requested = CreatePartitionsTopic(name, count)
        answer = self.ask(
            "CreatePartitions", _newest("CreatePartitions", version), topics=[requested], validate_only=dry
        )
        return answer.results[0]

    def describe(
        self,
        *places: Place,
        keys: Sequence[str] | None = None,
        version: int | None = None,
        synonyms: bool = True,
        documentation: bool = False,
    ) -> list[Any]:
        """One result per resource, in the order of the response."""
        answer = self.ask(
            "DescribeConfigs",
            _newest("DescribeConfigs", version),
            resources=[DescribeConfigsResource(kind, name, keys) for kind, name in places],
            include_synonyms=synonyms,
            include_documentation=documentation,
        )
        return list(answer.results)

    def entries(self, place: Place, *, version: int | None = None) -> dict[str, Any]:
        """The entries of a resource by key."""
        (result,) = self.describe(place, version=version)
        assert result.error_code == 0
        return {entry.name: entry for entry in result.configs}

    def overrides(self, topic: str) -> dict[str, str]:
        """The overrides of a topic."""
        return {name: each.value for name, each in self.entries((TOPIC, topic)).items() if each.config_source == 1}

    def replace(
        self,
        requests: Iterable[tuple[Place, Mapping[str, str | None]]],
        *,
        version: int | None = None,
        dry: bool = False,
    ) -> list[Any]:
        """AlterConfigs: replace the overrides of a resource."""
        resources = [
            AlterConfigsResource(kind, name, [AlterableConfig(*each) for each in configs.items()])
            for (kind, name), configs in requests
        ]
        answer = self.ask("AlterConfigs", _newest("AlterConfigs", version), resources=resources, validate_only=dry)
        return list(answer.responses)

    def alter(self, place: Place, *ops: tuple[str, int, str | None], **options: Any) -> Any:
        """IncrementalAlterConfigs of one resource, with (key, operation, value) tuples."""
        (response,) = self.alter_all([(place, ops)], **options)
        return response

    def alter_all(
        self,
        requests: Iterable[tuple[Place, Sequence[tuple[str, int, str | None]]]],
        *,
        version: int | None = None,
        dry: bool = False,
    ) -> list[Any]:
        resources = [
            IncrementalAlterConfigsResource(kind, name, [IncrementalAlterableConfig(*op) for op in ops])
            for (kind, name), ops in requests
        ]
        number = _newest("IncrementalAlterConfigs", version)
        answer = self.ask("IncrementalAlterConfigs", number, resources=resources, validate_only=dry)
        return list(answer.responses)


def new_topic(
    name: str,
    partitions: int = -1,
    factor: int = -1,
    configs: Mapping[str, str | None] | Iterable[tuple[str, str | None]] = (),
) -> CreatableTopic:
    pairs = configs.items() if isinstance(configs, Mapping) else configs
    return CreatableTopic(name, partitions, factor, (), [CreatableTopicConfig(*each) for each in pairs])


def codes(responses: Iterable[Any]) -> list[int]:
    return [each.error_code for each in responses]


def _newest(api: str, version: int | None) -> int:
    return BY_NAME[api].max if version is None else version
