"""Frames of every API and version, with mutated values and bytes.

The same seed gives the same frames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from kconf.errors import LocalProtocolError
from kconf.protocol.apis import APIS, Api
from kconf.protocol.codec.fields import BOOL, F64, UUID16, Array, Blob, Field, FieldType, Text
from kconf.protocol.headers import LENGTH, request
from kconf.protocol.messages.alter_config import AddedConfigEntry, AlterConfigRequest, AlteredEntity
from kconf.protocol.messages.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from kconf.protocol.messages.api_versions import ApiVersionsRequest
from kconf.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from kconf.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from kconf.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kconf.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from kconf.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kconf.protocol.messages.describe_acls import DescribeAclsRequest
from kconf.protocol.messages.describe_cluster import DescribeClusterRequest
from kconf.protocol.messages.describe_config import DescribeConfigRequest, DescribedEntity
from kconf.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kconf.protocol.messages.describe_configs_at import DescribeConfigsAtRequest, ResourceAt
from kconf.protocol.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest, TopicRequest
from kconf.protocol.messages.incremental_alter_configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
)
from kconf.protocol.messages.list_attempts import ListAttemptsRequest
from kconf.protocol.messages.list_config_changes import ChangeFilter, ListConfigChangesRequest
from kconf.protocol.messages.list_config_resources import ListConfigResourcesRequest
from kconf.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kconf.server.api.router import HANDLERS
from tests.property.wire_values import fullest

TOPIC = "fuzzed"
"""A topic that is there, so that damaged requests reach the deepest code."""

_LIVELY: dict[str, list[Any]] = {
    "ApiVersions": [ApiVersionsRequest("fuzz", "1.0")],
    "Metadata": [
        MetadataRequest([MetadataRequestTopic(name=TOPIC)], False),
        MetadataRequest([MetadataRequestTopic(name="other")], True),
        MetadataRequest([]),
    ],
    "CreateTopics": [
        CreateTopicsRequest([CreatableTopic("made", 2, 1, [], [CreatableTopicConfig("retention.ms", "1000")])]),
        CreateTopicsRequest([CreatableTopic("placed", -1, -1, [CreatableReplicaAssignment(0, [1])], [])]),
    ],
    "DeleteTopics": [
        DeleteTopicsRequest([DeleteTopicState("made"), DeleteTopicState(topic_id=bytes(15) + b"x")], ["made"])
    ],
    "CreatePartitions": [CreatePartitionsRequest([CreatePartitionsTopic(TOPIC, 3)])],
    "DescribeConfigs": [
        DescribeConfigsRequest([DescribeConfigsResource(2, TOPIC), DescribeConfigsResource(4, "1")], True, True),
        DescribeConfigsRequest([DescribeConfigsResource(8, "1"), DescribeConfigsResource(32, "group")], True, True),
        DescribeConfigsRequest([DescribeConfigsResource(2, TOPIC, ["retention.ms", "no.such"])]),
    ],
    "AlterConfigs": [
        AlterConfigsRequest(
            [
                AlterConfigsResource(2, TOPIC, [AlterableConfig("retention.ms", "5000"), AlterableConfig("x", None)]),
                AlterConfigsResource(4, "", [AlterableConfig("log.retention.ms", "5000")]),
            ]
        )
    ],
    "IncrementalAlterConfigs": [
        IncrementalAlterConfigsRequest(
            [
                IncrementalAlterConfigsResource(
                    kind, name, [IncrementalAlterableConfig(key, operation, value) for key, operation, value in configs]
                )
                for kind, name, configs in (
                    (2, TOPIC, [("cleanup.policy", 2, "compact"), ("retention.ms", 0, "9"), ("segment.ms", 1, None)]),
                    (4, "1", [("log.cleaner.threads", 0, "2"), ("listener.name.x.ssl.keystore.password", 0, "secret")]),
                    (8, "1", [("kconf", 0, "INFO")]),
                    (16, "metrics", [("interval.ms", 0, "1000"), ("match", 0, "client_id=.*")]),
                    (32, "group", [("consumer.session.timeout.ms", 0, "45000")]),
                )
            ]
        )
    ],
    "ListConfigChanges": [ListConfigChangesRequest(0, 0, 10, [ChangeFilter(2, TOPIC)]), ListConfigChangesRequest(3)],
    "DescribeConfigsAt": [DescribeConfigsAtRequest(1, -1, [ResourceAt(2, TOPIC), ResourceAt(4, "1")])],
    "ListAttempts": [ListAttemptsRequest(0, 10)],
    "AlterConfig": [
        AlterConfigRequest([AlteredEntity("topic", TOPIC, [AddedConfigEntry("retention.ms", "7")], ["segment.ms"])])
    ],
    "DescribeConfig": [DescribeConfigRequest([DescribedEntity("topic", TOPIC), DescribedEntity("broker", "1")])],
    "DescribeAcls": [DescribeAclsRequest(2, "name", 3, None, None, 1, 1)],
    "CreateAcls": [CreateAclsRequest([AclCreation(2, "name", 3, "User:x", "*", 3, 3)])],
    "DeleteAcls": [DeleteAclsRequest([DeleteAclsFilter(2, "name")])],
    "DescribeCluster": [DescribeClusterRequest(True)],
    "ListConfigResources": [ListConfigResourcesRequest([2, 4, 8, 16, 32])],
    "DescribeTopicPartitions": [DescribeTopicPartitionsRequest([TopicRequest(TOPIC)], 10, Cursor(TOPIC, 0))],
}


_LONG = {"ListConfigChanges", "ListAttempts", "DescribeConfigsAt"}
"""They read the store; their fullest requests ask for long waits and long answers."""


class Spoiler:
    """An endless generator of frames, for every API and version that is served."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        apis = [APIS[key] for key in sorted(HANDLERS)]
        self._apis = [api for api in apis for _ in range(1 if api.name in _LONG else 4)]
        self._valid = [self._frame(*self._choice(api)) for api in self._apis for _ in range(5)]

    def frames(self) -> Iterator[bytes]:
        """Half with mutated values, half with mutated bytes; a few with a wrong length."""
        random = self._random
        while True:
            if random.random() < 0.5:
                body = self._varied()[4:]
            else:
                body = random.choice(self._valid)[4:]
                for _ in range(random.choice((1, 1, 2))):
                    body = random.choice(_WAYS)(random, body, self._valid)
            size = len(body)
            if random.random() < 0.02:
                size = random.choice((0, 7, -1, -(2**31), 2**31 - 1, 104857601, size - 1, size + 1, size * 2))
            yield LENGTH.pack(size) + body

    def _varied(self) -> bytes:
        api, version, message = self._choice(self._random.choice(self._apis))
        try:
            return self._frame(api, version, varied(self._random, message, version))
        except LocalProtocolError:  # not possible in this version
            return self._frame(api, version, message)

    def _choice(self, api: Api) -> tuple[Api, int, Any]:
        version = self._random.randint(api.min, api.max)
        lively = _LIVELY.get(api.name)
        if lively and (self._random.random() < 0.8 or api.name in _LONG):
            return api, version, self._random.choice(lively)
        return api, version, fullest(api.request, version)

    def _frame(self, api: Api, version: int, message: Any) -> bytes:
        return request(api, version, 7, self._random.choice((None, "fuzz")), message)


_TEXTS = [
    TOPIC,
    "retention.ms",
    "compact",
    "",
    "1",
    "-1",
    "01",
    "9" * 40,
    "x" * 300,
    "a,b",
    "..",
    "\n",
    "é\0\U0001f600",
]


def varied(random: Random, message: Any, version: int) -> Any:
    """A struct with some of its values changed, at any depth."""
    cls = type(message)
    return cls(**{each.name: _field(random, getattr(message, each.name), each, version) for each in cls.FIELDS})


def _field(random: Random, value: Any, field: Field, version: int) -> Any:
    if not field.present(version) or field.tag is not None:
        return value
    if value is None or (field.may_be_null(version) and random.random() < 0.05):
        return None
    return _value(random, value, field.type, version)


def _value(random: Random, value: Any, kind: FieldType, version: int) -> Any:
    if isinstance(kind, Array):
        elements = [_value(random, each, kind.of, version) for each in value]
        if random.random() < 0.1:
            elements = random.choices(elements, k=random.randrange(4)) if elements else elements
        return elements
    if isinstance(kind, type):
        return varied(random, value, version)
    if random.random() > 0.15:
        return value
    if isinstance(kind, Text):
        return random.choice(_TEXTS)
    if isinstance(kind, Blob):
        return random.randbytes(random.randrange(20))
    if kind in (BOOL, F64):
        return random.choice((0, 1))
    if kind == UUID16:
        return random.randbytes(16)
    largest = (1 << 8 * kind.size - 1) - 1
    return random.choice((0, 1, -1, 2, 3, largest, -largest - 1, random.randint(-largest, largest)))


_EVIL = [
    b"\xff",
    b"\x00",
    b"\x7f",
    b"\x80",
    b"\xff\xff",
    b"\x7f\xff",
    b"\x80\x00",
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"\x80\x00\x00\x00",
    b"\xff\xff\xff\xff\x07",
    b"\xff" * 10,
    b"\x00\x04\x00\x00",
    "é\u0000\U0001f600".encode(),
    b"\xc3\x28\xed\xa0\x80",
]

Mutation = Callable[[Random, bytes, list[bytes]], bytes]
"""Of a body (a frame without its length), some of its bytes replaced."""


def _behind_the_head(random: Random, body: bytes) -> int:
    return random.randrange(min(14, len(body) - 1), len(body))


def _flip(random: Random, body: bytes, _: list[bytes]) -> bytes:
    spoilt = bytearray(body)
    for _each in range(random.choice((1, 1, 1, 2, 8))):
        place = random.randrange(len(spoilt) * 8)
        spoilt[place // 8] ^= 1 << place % 8
    return bytes(spoilt)


def _flip_late(random: Random, body: bytes, _: list[bytes]) -> bytes:
    """Flip bits after the header, so that the request is parsed."""
    spoilt = bytearray(body)
    for _each in range(random.choice((1, 2))):
        spoilt[_behind_the_head(random, body)] ^= 1 << random.randrange(8)
    return bytes(spoilt)


def _overwrite(random: Random, body: bytes, _: list[bytes]) -> bytes:
    at, put = random.randrange(len(body)), random.choice(_EVIL)
    return body[:at] + put + body[at + len(put) :]


def _insert(random: Random, body: bytes, _: list[bytes]) -> bytes:
    at = random.randrange(len(body))
    return body[:at] + (random.choice(_EVIL) if random.random() < 0.5 else random.randbytes(5)) + body[at:]


def _remove(random: Random, body: bytes, _: list[bytes]) -> bytes:
    at = _behind_the_head(random, body)
    return body[:at] + body[at + random.randrange(1, 9) :]


def _cut(random: Random, body: bytes, _: list[bytes]) -> bytes:
    return body[: _behind_the_head(random, body)]


def _splice(random: Random, body: bytes, others: list[bytes]) -> bytes:
    """The start of this frame and the end of another."""
    other = random.choice(others)[4:]
    return body[: _behind_the_head(random, body)] + other[random.randrange(len(other)) :]


def _random(random: Random, body: bytes, _: list[bytes]) -> bytes:
    return body[:8] + random.randbytes(random.randrange(40))


def _as_it_is(_random: Random, body: bytes, _: list[bytes]) -> bytes:
    return body


_WAYS: list[Mutation] = [_flip, _flip_late, _flip_late, _overwrite, _insert, _remove, _cut, _splice, _random, _as_it_is]
