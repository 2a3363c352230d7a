"""One request and its result. Requests are kconf's own structs; tests/property compares them with kio."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from enum import Enum
from hashlib import md5
from typing import Any

from kconf.protocol.apis import BY_NAME, Api
from kconf.protocol.codec.fields import Struct

DATA_PLANE = (
    "ListOffsets",
    "DeleteRecords",
    "DescribeProducers",
    "ElectLeaders",
    "AlterPartitionReassignments",
    "ListPartitionReassignments",
    "DescribeDelegationToken",
    "DescribeLogDirs",
    "FindCoordinator",
    "DescribeGroups",
    "ConsumerGroupDescribe",
    "DeleteGroups",
    "OffsetFetch",
    "OffsetDelete",
    "DescribeTransactions",
    "ListTransactions",
)
"""About offsets, groups and replicas, of which there are none; nothing changes, so all of them are reads."""

SERVED = (
    "ApiVersions",
    "Metadata",
    "DescribeCluster",
    "CreateTopics",
    "DeleteTopics",
    "CreatePartitions",
    "DescribeConfigs",
    "AlterConfigs",
    "IncrementalAlterConfigs",
    "ListConfigResources",
    "DescribeTopicPartitions",
    "ListGroups",
    "DescribeAcls",
    "CreateAcls",
    "DeleteAcls",
    "UpdateFeatures",
    *DATA_PLANE,
)
"""What this lab asks for; quotas and credentials have their own tests."""

READS = frozenset(
    [
        "ApiVersions",
        "DescribeClientQuotas",
        "DescribeCluster",
        "DescribeConfigs",
        "DescribeTopicPartitions",
        "ListConfigResources",
        "ListGroups",
        "Metadata",
        *DATA_PLANE,
    ]
)

_MANY = 4


@dataclass(frozen=True, slots=True)
class Ask:
    """A request to both servers. `moving`: the result may still change on both, as after auto-creation."""

    name: str
    version: int
    message: Any  # a Struct; mypy sees the declared class
    surplus: bytes = b""
    missing: int = 0  # number of bytes removed from the end of the body
    client_id: str | None = "lab"
    patience: float = 30.0
    moving: bool = False

    @property
    def api(self) -> Api:
        return BY_NAME[self.name]

    def at(self, version: int) -> Ask:
        return replace(self, version=version)

    def without(self, missing: int) -> Ask:
        return replace(self, missing=missing)

    @property
    def is_read(self) -> bool:
        return self.name in READS


class Ending(Enum):
    """What happens instead of a response."""

    CLOSED = "closed the connection"
    SILENT = "did not answer"


Outcome = Struct | Ending


def id_of(topic: str) -> bytes:
    """A placeholder in a request for a topic ID, which differs between the servers."""
    return b"id/" + md5(topic.encode()).digest()[:13]


def with_ids(value: Any, ids: Mapping[bytes, bytes]) -> Any:
    """The same request with every placeholder replaced by the ID on one server."""
    if isinstance(value, bytes):
        return ids.get(value, value)
    if isinstance(value, (list, tuple)):
        return [with_ids(each, ids) for each in value]
    if isinstance(value, Struct):
        return type(value)(*(with_ids(getattr(value, field.name), ids) for field in value.FIELDS))
    return value


def shown(value: Any, about: Set[object] = frozenset(), indent: str = "") -> str:
    """A request as text for reports, without defaults. Nothing is hidden, because the tests use no real secrets.

    Of a long array, only elements whose name or position is in `about` are shown.
    """
    if isinstance(value, Struct):
        fields = [(field, getattr(value, field.name)) for field in value.FIELDS]
        told = [(field, given) for field, given in fields if field.required or given != field.default]
        return " ".join(f"{field.name}={shown(given, about, indent + '  ')}" for field, given in told)
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], Struct):
        elements = list(enumerate(value))
        if len(value) > _MANY:
            elements = [
                (index, each) for index, each in elements if index in about or not about.isdisjoint(_names(each))
            ]
        left_out = f"\n{indent}  … {len(value) - len(elements)} more" if len(elements) < len(value) else ""
        return "".join(f"\n{indent}  - {shown(each, about, indent + '  ')}" for _, each in elements) + left_out
    return repr(value)


def _names(element: Struct) -> list[object]:
    return [getattr(element, name) for name in ("name", "resource_name") if hasattr(element, name)]
