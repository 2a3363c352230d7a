"""The bytes in docs/extensions.md: one message of each extension, split into fields.

`python -m tests.docs.extensions` writes them into the page; tests/docs/test_extensions.py compares it with the codec.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from math import nan
from pathlib import Path
from typing import Any

from kconf.protocol.apis import BY_NAME
from kconf.protocol.codec.fields import Array, Field, FieldType, LongText, Primitive, Text, fields_of
from kconf.protocol.codec.serde import uvarint
from kconf.protocol.messages.alter_config import (
    AddedConfigEntry,
    AlterConfigRequest,
    AlterConfigResponse,
    AlteredEntity,
)
from kconf.protocol.messages.alter_config import AlteredEntityResult as Altered21
from kconf.protocol.messages.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from kconf.protocol.messages.alter_quotas import (
    AlteredQuotaResource,
    AlteredQuotas,
    AlteredQuotaType,
    AlterQuotasRequest,
    AlterQuotasResponse,
    ShiftedQuota,
    WantedQuota,
)
from kconf.protocol.messages.describe_config import (
    ConfigEntry,
    DescribeConfigRequest,
    DescribeConfigResponse,
    DescribedEntity,
    DescribedEntityResult,
)
from kconf.protocol.messages.describe_configs import (
    DescribeConfigsEntry,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kconf.protocol.messages.describe_configs_at import (
    DescribeConfigsAtRequest,
    DescribeConfigsAtResponse,
    OverrideAt,
    ResourceAt,
    ResultAt,
)
from kconf.protocol.messages.describe_quotas import (
    DescribedQuotaResource,
    DescribedQuotas,
    DescribeQuotasRequest,
    DescribeQuotasResponse,
    OverriddenQuota,
    QuotaResource,
    ResolvedQuota,
)
from kconf.protocol.messages.incremental_alter_configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
)
from kconf.protocol.messages.list_attempts import ListAttemptsRequest, ListAttemptsResponse, ListedAttempt
from kconf.protocol.messages.list_config_changes import (
    ChangeFilter,
    ListConfigChangesRequest,
    ListConfigChangesResponse,
    ListedChange,
    ListedRevision,
)
from kconf.protocol.messages.list_config_entities import (
    ListConfigEntitiesRequest,
    ListConfigEntitiesResponse,
    ListedConfigEntity,
    WantedConfigEntity,
)

PAGE = Path(__file__).parents[2] / "docs" / "extensions.md"
TOPIC, GROUP, SET = 2, 32, 0
USER, CLIENT = 5, 6
NOON = 1_790_000_000_000

MESSAGES: dict[str, tuple[int, Any]] = {
    "AlterConfigRequest": (
        0,
        AlterConfigRequest(
            [AlteredEntity("topic", "orders", [AddedConfigEntry("retention.ms", "5000")], ["segment.ms"])]
        ),
    ),
    "AlterConfigResponse": (0, AlterConfigResponse([Altered21("topic", "orders", 0)])),
    "DescribeConfigRequest": (0, DescribeConfigRequest([DescribedEntity("topic", "orders")])),
    "DescribeConfigResponse": (
        0,
        DescribeConfigResponse([DescribedEntityResult("topic", "orders", 0, [ConfigEntry("retention.ms", "5000")])]),
    ),
    "AlterConfigsRequest": (
        2,
        AlterConfigsRequest(
            [
                AlterConfigsResource(
                    TOPIC, "orders", [AlterableConfig("retention.ms", "5000"), AlterableConfig("segment.ms", "")]
                )
            ],
            False,
            True,
        ),
    ),
    "IncrementalAlterConfigsRequest": (
        1,
        IncrementalAlterConfigsRequest(
            [
                IncrementalAlterConfigsResource(
                    TOPIC, "orders", [IncrementalAlterableConfig("retention.ms", SET, "5000")], 41
                )
            ],
            False,
            "ticket 12",
        ),
    ),
    "DescribeConfigsResponse": (
        4,
        DescribeConfigsResponse(
            0,
            [
                DescribeConfigsResult(
                    0,
                    "",
                    TOPIC,
                    "orders",
                    [DescribeConfigsEntry("retention.ms", "5000", False, False, 1, config_type=5)],
                )
            ],
            42,
            True,
        ),
    ),
    "DescribeQuotasRequest": (
        0,
        DescribeQuotasRequest([DescribedQuotaResource([QuotaResource(USER, "alice"), QuotaResource(CLIENT, "")], [1])]),
    ),
    "DescribeQuotasResponse": (
        0,
        DescribeQuotasResponse(
            0,
            [
                DescribedQuotas(
                    [QuotaResource(USER, "alice"), QuotaResource(CLIENT, "")],
                    0,
                    None,
                    [ResolvedQuota(1, 1024.0, 2, [OverriddenQuota(512.0, 5)])],
                )
            ],
        ),
    ),
    "AlterQuotasRequest": (
        0,
        AlterQuotasRequest(
            False,
            [AlteredQuotaResource([QuotaResource(USER, "alice")], [WantedQuota(1, 1024.0), WantedQuota(0, nan)])],
            "ticket 12",
        ),
    ),
    "AlterQuotasResponse": (
        0,
        AlterQuotasResponse(
            0,
            [
                AlteredQuotas(
                    [QuotaResource(USER, "alice")],
                    [AlteredQuotaType(0, None, 1)],
                    [ShiftedQuota("alice", "tool", 1, 512.0, 5, 1024.0, 2)],
                )
            ],
        ),
    ),
    "ListConfigEntitiesRequest": (
        0,
        ListConfigEntitiesRequest([WantedConfigEntity(USER, "alice"), WantedConfigEntity(CLIENT, None)]),
    ),
    "ListConfigEntitiesResponse": (
        0,
        ListConfigEntitiesResponse(
            0, 0, None, [ListedConfigEntity([QuotaResource(USER, "alice"), QuotaResource(CLIENT, "tool")])]
        ),
    ),
    "ListConfigChangesRequest": (
        0,
        ListConfigChangesRequest(41, 20_000, 1000, [ChangeFilter(TOPIC, "orders"), ChangeFilter(GROUP, None)]),
    ),
    "ListConfigChangesResponse": (
        0,
        ListConfigChangesResponse(
            0,
            0,
            None,
            1,
            43,
            43,
            [
                ListedRevision(
                    42,
                    NOON,
                    "User:alice",
                    "tool",
                    "10.0.0.1",
                    "IncrementalAlterConfigs",
                    7,
                    "ticket 12",
                    "kconf",
                    [ListedChange("config", TOPIC, "orders", "set", "retention.ms", None, "5000", False)],
                ),
                ListedRevision(
                    43,
                    NOON + 10_000,
                    "",
                    "",
                    "",
                    "",
                    0,
                    None,
                    "outside",
                    [ListedChange("config", TOPIC, "orders", "set", "retention.ms", "5000", "6000", False)],
                    NOON,
                ),
            ],
            1,
        ),
    ),
    "DescribeConfigsAtRequest": (0, DescribeConfigsAtRequest(41, -1, [ResourceAt(TOPIC, "orders")])),
    "DescribeConfigsAtResponse": (
        0,
        DescribeConfigsAtResponse(
            0,
            0,
            None,
            41,
            1,
            [ResultAt(0, None, TOPIC, "orders", True, [OverrideAt("retention.ms", "1000", False)])],
        ),
    ),
    "ListAttemptsRequest": (0, ListAttemptsRequest(0, 1000)),
    "ListAttemptsResponse": (
        0,
        ListAttemptsResponse(
            0,
            0,
            None,
            [
                ListedAttempt(
                    1,
                    NOON,
                    "User:alice",
                    "tool",
                    "10.0.0.1",
                    "IncrementalAlterConfigs",
                    7,
                    None,
                    41,
                    TOPIC,
                    "orders",
                    ["retention.ms"],
                    40,
                    False,
                )
            ],
        ),
    ),
}

_WORDS = {"i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "f64": "float64", "bool": "boolean"}

Piece = tuple[bytes, str]


def pieces(value: Any, version: int, flexible: bool, path: str = "") -> Iterator[Piece]:
    """The bytes of a struct in wire order, each part with its description."""
    tagged: list[Field] = []
    for field in fields_of(type(value)):
        if not field.present(version):
            continue
        if field.tag is not None:
            tagged.append(field)
            continue
        nullable = field.may_be_null(version)
        yield from _value(field.type, getattr(value, field.name), version, flexible, path + field.name, nullable)
    if flexible:
        yield from _tags(value, tagged, version, path)


def _tags(value: Any, tagged: Sequence[Field], version: int, path: str) -> Iterator[Piece]:
    sent = [field for field in tagged if getattr(value, field.name) != field.default]
    where = f" of {path.rstrip('.')}" if path else ""
    yield uvarint(len(sent)), f"uvarint  tagged fields{where}: {len(sent)}"
    for field in sorted(sent, key=lambda each: each.tag or 0):
        assert field.tag is not None
        nullable = field.may_be_null(version)
        inside = list(_value(field.type, getattr(value, field.name), version, True, path + field.name, nullable))
        size = sum(len(data) for data, _ in inside)
        yield uvarint(field.tag), f"uvarint  tag {field.tag}"
        yield uvarint(size), f"uvarint  its size: {size}"
        yield from inside


def _value(kind: FieldType, value: Any, version: int, flexible: bool, path: str, nullable: bool) -> Iterator[Piece]:
    match kind:
        case Primitive():
            yield struct.pack(">" + kind.code, value), f"{_WORDS[kind.name]}  {path} = {_shown(value)}"
        case Text():
            yield _text(value, flexible), f"{_word(kind, flexible, nullable)}  {path} = {_shown(value)}"
        case Array():
            count = uvarint(len(value) + 1) if flexible else struct.pack(">i", len(value))
            yield count, f"{'compact ' if flexible else ''}array  {path}: {len(value)}"
            for place, each in enumerate(value):
                if isinstance(kind.of, type):
                    yield from pieces(each, version, flexible, f"{path}[{place}].")
                else:
                    yield from _value(kind.of, each, version, flexible, f"{path}[{place}]", False)
        case _:
            raise AssertionError(f"no extension has such a field: {path}")


def _word(kind: Text, flexible: bool, nullable: bool) -> str:
    words = ["nullable" if nullable else "", "compact" if flexible else ""]
    return " ".join([*filter(None, words), "long string" if isinstance(kind, LongText) else "string"])


def _text(value: str | None, flexible: bool) -> bytes:
    if value is None:
        return b"\x00" if flexible else b"\xff\xff"
    data = value.encode()
    return (uvarint(len(data) + 1) if flexible else struct.pack(">h", len(data))) + data


def _shown(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f'"{value}"' if isinstance(value, str) else str(value)


def is_flexible(name: str, version: int) -> bool:
    return BY_NAME[name.removesuffix("Request").removesuffix("Response")].is_flexible(version)


def block(name: str) -> str:
    """A message for the page: one line per part."""
    version, message = MESSAGES[name]
    lines = [f"{name} v{version}"]
    for data, what in pieces(message, version, is_flexible(name, version)):
        rows = [data[start : start + 16].hex(" ") for start in range(0, len(data), 16)]
        lines.append(f"{rows[0]:<47}  {what}")
        lines += rows[1:]
    return "\n".join(lines) + "\n"


def blocks() -> dict[str, str]:
    """The blocks of the page, by the name of the message."""
    found = re.findall(r"^```text\n(\w+) v\d+\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return dict(found)


def main() -> None:
    def fresh(match: re.Match[str]) -> str:
        return f"```text\n{block(match[1])}```"

    text = PAGE.read_text("utf-8")
    PAGE.write_text(re.sub(r"^```text\n(\w+)(?: v\d+)?\n.*?^```", fresh, text, flags=re.MULTILINE | re.DOTALL), "utf-8")


if __name__ == "__main__":
    main()
