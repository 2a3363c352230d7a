"""One request, and what may come of it. Requests are kconf's own structs: tests/property holds those against kio."""

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
    """A request to both sides. `moving`: both may still be on their way to the answer, as after an auto-creation."""

    name: str
    version: int
    message: Any  # a Struct; mypy sees the class that was declared
    surplus: bytes = b""
    missing: int = 0  # bytes that the body lacks at its end
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
    """What comes instead of an answer."""

    CLOSED = "closed the connection"
    SILENT = "did not answer"


Outcome = Struct | Ending


def id_of(topic: str) -> bytes:
    """Stands in a request for the id of a topic, which each side gave as it liked."""
    return b"id/" + md5(topic.encode()).digest()[:13]


def with_ids(value: Any, ids: Mapping[bytes, bytes]) -> Any:
    """The same request with every stand-in replaced by the id that a side gave."""
    if isinstance(value, bytes):
        return ids.get(value, value)
    if isinstance(value, (list, tuple)):
        return [with_ids(each, ids) for each in value]
    if isinstance(value, Struct):
        return type(value)(*(with_ids(getattr(value, field.name), ids) for field in value.FIELDS))
    return value


def shown(value: Any, about: Set[object] = frozenset(), indent: str = "") -> str:
    """A request for people: defaults are left out, nothing is hidden, for nothing here is a secret.

    Of a long array only those elements are shown that `about` names, or whose position it holds.
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
