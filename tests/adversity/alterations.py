"""Short helpers that build the requests of these tests, in Kafka's newest versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kconf.model.resource import ResourceType
from kconf.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from kconf.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kconf.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kconf.protocol.messages.incremental_alter_configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
)
from tests.adversity.lines import Line, frame

Place = tuple[ResourceType, str]
Values = Mapping[str, str | None]
"""New values by key; None: delete."""

ALTER, DESCRIBE, CREATE, DELETE = (
    ("IncrementalAlterConfigs", 1),
    ("DescribeConfigs", 4),
    ("CreateTopics", 7),
    ("DeleteTopics", 6),
)


def topic(name: str) -> Place:
    return ResourceType.TOPIC, name


BROKER: Place = (ResourceType.BROKER, "1")
BROKERS: Place = (ResourceType.BROKER, "")


def altering(requests: Mapping[Place, Values], *, correlation: int = 1) -> bytes:
    resources = [
        IncrementalAlterConfigsResource(
            kind,
            name,
            [IncrementalAlterableConfig(key, 0 if value is not None else 1, value) for key, value in values.items()],
        )
        for (kind, name), values in requests.items()
    ]
    return frame(*ALTER, IncrementalAlterConfigsRequest(resources), correlation=correlation)


def describing(*places: Place, keys: Sequence[str] | None = None, correlation: int = 1, version: int = 4) -> bytes:
    resources = [DescribeConfigsResource(kind, name, keys) for kind, name in places]
    return frame("DescribeConfigs", version, DescribeConfigsRequest(resources), correlation=correlation)


def creating(*names: str, configs: Mapping[str, str] | None = None, correlation: int = 1) -> bytes:
    pairs = [CreatableTopicConfig(key, value) for key, value in (configs or {}).items()]
    requests = [CreatableTopic(name, 1, 1, [], pairs) for name in names]
    return frame(*CREATE, CreateTopicsRequest(requests), correlation=correlation)


def deleting(*names: str, correlation: int = 1) -> bytes:
    return frame(*DELETE, DeleteTopicsRequest([DeleteTopicState(name) for name in names]), correlation=correlation)


def create(line: Line, *names: str) -> None:
    """Create topics; this must succeed."""
    from tests.adversity.lines import read

    line.send(creating(*names))
    codes = {each.name: each.error_code for each in read(*CREATE, line.receive()).topics}
    assert codes == dict.fromkeys(names, 0)


def values(answer: Any) -> dict[str, str | None]:
    """The entries of the only result in a describe response."""
    (result,) = answer.results
    assert result.error_code == 0, result
    return {entry.name: entry.value for entry in result.configs}
