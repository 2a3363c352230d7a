"""The requests of the benchmarks as frames, encoded with kconf's codec, and checks of the responses.

A fast but wrong response must not count: everything measured is also decoded and checked here.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench.load import BenchError
from kconf.configdef.topic import TOPIC as TOPIC_CONFIGS
from kconf.protocol.apis import BY_NAME
from kconf.protocol.headers import read_response, request
from kconf.protocol.messages.api_versions import ApiVersionsRequest
from kconf.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from kconf.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kconf.protocol.messages.incremental_alter_configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
)

CLIENT_ID = "bench"
TOPIC, SET = 2, 0
TOPIC_KEYS = sum(not key.internal for key in TOPIC_CONFIGS.values())  # the keys of a topic in Kafka 4.3
VERSIONS = {"ApiVersions": 3, "DescribeConfigs": 4, "IncrementalAlterConfigs": 1, "CreateTopics": 7}

# Three overrides for topics that need some.
OVERRIDES = {"retention.ms": "86400000", "segment.bytes": "536870912", "cleanup.policy": "compact"}


def frame(name: str, message: object) -> bytes:
    return request(BY_NAME[name], VERSIONS[name], 0, CLIENT_ID, message)


def read(name: str, answer: bytes) -> Any:
    """The decoded body of a response without its length."""
    return read_response(BY_NAME[name], VERSIONS[name], answer)[1]


def describe(topics: Iterable[str], *, details: bool = False) -> bytes:
    """Describe all keys of the topics; `details` also requests synonyms and documentation."""
    resources = [DescribeConfigsResource(TOPIC, name) for name in topics]
    return frame("DescribeConfigs", DescribeConfigsRequest(resources, details, details))


def numbered(question: bytes) -> bytes:
    """The same request with four extra bytes, which servers ignore and the load generator fills with numbers.

    So no two requests are equal, and none can be answered from a cache.
    """
    longer = question[4:] + bytes(4)
    return len(longer).to_bytes(4, "big") + longer


def alter(topics: Iterable[str], key: str, value: str) -> bytes:
    """Set one key of each topic."""
    configs = [IncrementalAlterableConfig(key, SET, value)]
    resources = [IncrementalAlterConfigsResource(TOPIC, name, configs) for name in topics]
    return frame("IncrementalAlterConfigs", IncrementalAlterConfigsRequest(resources))


def create(topics: Iterable[str], overrides: Mapping[str, str] | None = None) -> bytes:
    """One partition and one replica each."""
    configs = [CreatableTopicConfig(key, value) for key, value in (overrides or {}).items()]
    wanted = [CreatableTopic(name, 1, 1, (), configs) for name in topics]
    return frame("CreateTopics", CreateTopicsRequest(wanted, 60_000))


def ask(address: str, name: str, question: bytes, *, timeout: float = 60.0) -> Any:
    """Send one request on its own connection."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=timeout) as line, line.makefile("rb") as answers:
        line.sendall(question)
        size = int.from_bytes(answers.read(4), "big")
        answer = answers.read(size)
    if size == 0 or len(answer) < size:
        raise BenchError(f"{address} closed the connection without a response to {name}.")
    return read(name, answer)


def create_topics(address: str, names: Sequence[str], overrides: Mapping[str, str] | None = None) -> None:
    """Create topics, 500 in a request, and wait until they can be described."""
    for many in batches(names, 500):
        check_created(ask(address, "CreateTopics", create(many, overrides)), len(many))
    until = time.monotonic() + 60.0
    while len(values(address, [names[-1]], "retention.ms")) == 0:  # a broker learns of them after the controller
        if time.monotonic() > until:
            raise BenchError(f"{address} does not show the topic {names[-1]} a minute after its creation.")
        time.sleep(0.05)


def batches(names: Sequence[str], size: int) -> list[Sequence[str]]:
    return [names[at : at + size] for at in range(0, len(names), size)]


def check_created(body: Any, count: int) -> None:
    codes = {each.error_code for each in body.topics}
    if len(body.topics) != count or codes != {0}:
        raise BenchError(f"CreateTopics of {count} topics returned {len(body.topics)} results with codes {codes}.")


def check_altered(body: Any, count: int) -> None:
    codes = {each.error_code for each in body.responses}
    if len(body.responses) != count or codes != {0}:
        raise BenchError(f"An alter of {count} topics returned {len(body.responses)} results with codes {codes}.")


def check_described(body: Any, count: int = 1, *, details: bool = False) -> None:
    """Check that every topic has every key once, with synonyms and documentation only if requested."""
    if len(body.results) != count:
        raise BenchError(f"A describe of {count} topics returned {len(body.results)} results.")
    for result in body.results:
        names = {entry.name for entry in result.configs}
        if result.error_code != 0 or len(names) != TOPIC_KEYS or len(result.configs) != TOPIC_KEYS:
            raise BenchError(f"{result.resource_name}: error {result.error_code}, {len(result.configs)} entries.")
        documented = sum(1 for entry in result.configs if entry.documentation)
        explained = sum(1 for entry in result.configs if entry.synonyms)
        if details != (documented == TOPIC_KEYS) or details != (explained > 0) or (documented and not details):
            raise BenchError(f"{result.resource_name}: {documented} documented, {explained} with synonyms.")


def values(address: str, topics: Iterable[str], key: str) -> dict[str, str | None]:
    """The current value of a key, by topic."""
    body = ask(address, "DescribeConfigs", describe(topics))
    return {each.resource_name: entry.value for each in body.results for entry in each.configs if entry.name == key}


def answers_api_versions(address: str) -> bool:
    """Whether a server listens there and responds to ApiVersions; False while it is starting."""
    try:
        body = ask(address, "ApiVersions", frame("ApiVersions", ApiVersionsRequest("bench", "1")), timeout=5.0)
    except (OSError, BenchError):
        return False
    return bool(body.error_code == 0)
